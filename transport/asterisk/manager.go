package asterisk

import (
	"bufio"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"time"
	"unicode"
)

// Manager leads callers elsewhere by Asterisk's manager interface (AMI), which moves any channel. Its REST interface (ARI) moves those alone that
// an application of its own holds, and none that is in AudioSocket() or Dial().
type Manager struct {
	Address string // Of AMI, such as 127.0.0.1:5038.
	User    string // It needs write = call in manager.conf.
	Secret  string
	Context string // In the dialplan, where callers are led. It defaults to riposte-transfer.
}

// managerTime is how long the whole of a transfer may take.
const managerTime = 5 * time.Second

// NoteVariable is the channel's variable that has the note of a transfer.
const NoteVariable = "RIPOSTE_NOTE"

// mostNote is how long a note may be, in bytes.
const mostNote = 512

// Redirect has a channel go on at an extension. The error says what Asterisk says, or what is wrong with the extension.
func (m *Manager) Redirect(ctx context.Context, channel, to, note string) error {
	if err := isExtension(to); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), managerTime) // the call ends with its success, and maybe before that is told
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return fmt.Errorf("the transfer was not made: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	session := managerSession{conn, textproto.NewReader(bufio.NewReader(io.LimitReader(conn, 1<<20)))}
	if err := session.redirect(m, channel, to, oneLine(note)); err != nil {
		return fmt.Errorf("the transfer was not made: %w", err)
	}
	return nil
}

// isExtension says why there can be no such extension. Whoever asks for it may be a model that was told what to ask for by a caller.
func isExtension(to string) error {
	if to == "" || len(to) > 79 || strings.ContainsFunc(to, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+*#-_.", r)
	}) {
		return fmt.Errorf("%.80q is no extension: it has to be up to 79 letters, digits and +*#-_. without any space", to)
	}
	return nil
}

// oneLine returns a note that fits into a line: a line break would be an end of the command.
func oneLine(note string) string {
	note = strings.Join(strings.FieldsFunc(note, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ")
	if len(note) > mostNote {
		note = strings.ToValidUTF8(note[:mostNote], "")
	}
	return note
}

// managerSession is one connection to AMI.
type managerSession struct {
	conn net.Conn
	in   *textproto.Reader
}

// redirect logs in, by a challenge, so that the secret does not travel, and moves the channel.
func (s managerSession) redirect(m *Manager, channel, to, note string) error {
	if _, err := s.in.ReadLine(); err != nil { // which version it is
		return err
	}
	challenge, err := s.do("Challenge", "AuthType", "MD5")
	if err != nil {
		return err
	}
	key := md5.Sum([]byte(challenge.Get("Challenge") + m.Secret))
	if _, err := s.do("Login", "AuthType", "MD5", "Username", m.User, "Key", hex.EncodeToString(key[:]), "Events", "off"); err != nil {
		return err
	}
	if note != "" {
		if _, err := s.do("Setvar", "Channel", channel, "Variable", NoteVariable, "Value", note); err != nil {
			return err
		}
	}
	_, err = s.do("Redirect", "Channel", channel, "Context", cmp.Or(m.Context, "riposte-transfer"), "Exten", to, "Priority", "1")
	return err
}

// do sends an action with its fields, and returns what is answered.
func (s managerSession) do(action string, fields ...string) (textproto.MIMEHeader, error) {
	b := []byte("Action: " + action + "\r\n")
	for i := 0; i < len(fields); i += 2 {
		if strings.ContainsAny(fields[i+1], "\r\n\x00") {
			return nil, fmt.Errorf("%s has a line break in it", fields[i])
		}
		b = append(b, fields[i]+": "+fields[i+1]+"\r\n"...)
	}
	if _, err := s.conn.Write(append(b, "\r\n"...)); err != nil {
		return nil, err
	}
	for {
		answer, err := s.in.ReadMIMEHeader()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", action, err)
		case answer.Get("Response") == "": // An event.
		case answer.Get("Response") != "Success":
			return nil, fmt.Errorf("%s: Asterisk says: %w", action, errors.New(cmp.Or(answer.Get("Message"), answer.Get("Response"))))
		default:
			return answer, nil
		}
	}
}
