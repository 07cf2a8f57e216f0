package phone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"riposte/audio"
)

const (
	// mediaProtocol is the subprotocol of chan_websocket.
	mediaProtocol = "media"
	// The limits of its queue, in frames.
	queueMost, queueStop, queueAgain = 1000, 900, 800
	// mostText and mostSound are the longest messages that it takes, in bytes: longer texts are passed over, and longer sound ends the call.
	mostText, mostSound = 128, 65500
	// frameBytes is a frame of mu-law.
	frameBytes = 160
)

// media is a call by chan_websocket.
type media struct {
	*socket
	plain      bool
	connection string
	channel    string
	bulk       bool   // Sound is put together over messages.
	rest       []byte // Of it, less than a frame.
	to         string
}

var (
	_ line      = (*media)(nil)
	_ throttler = (*media)(nil)
)

func (p *Phone) newMedia() *media {
	return &media{plain: p.Plain, connection: uuid.NewString(), channel: "asterisk-" + uuid.NewString()[:8] + ".1", to: p.To}
}

// dialChanWS connects as Asterisk does for Dial(WebSocket/…).
func (p *Phone) dialChanWS(ctx context.Context) (line, error) {
	m := p.newMedia()
	header := http.Header{}
	if p.Key != "" {
		header.Set("Authorization", "Bearer "+p.Key)
	}
	where, err := url.Parse(p.Address)
	if err != nil {
		return nil, err
	}
	q := where.Query()
	for name, value := range map[string]string{"from": p.From, "to": p.To} { // what a dialplan says with v()
		if value != "" {
			q.Set(name, value)
		}
	}
	where.RawQuery = q.Encode()
	d := websocket.Dialer{NetDialContext: p.dialer(), Subprotocols: []string{mediaProtocol}}
	ws, resp, err := d.DialContext(ctx, where.String(), header)
	if err != nil {
		return nil, refused(resp, err)
	}
	if ws.Subprotocol() != mediaProtocol {
		_ = ws.Close()
		return nil, fmt.Errorf("%w: it speaks the subprotocol %q, not %q", ErrRefused, ws.Subprotocol(), mediaProtocol)
	}
	m.socket = newSocket(ws)
	return m, nil
}

// errConnection says that a service did not ask for the call as Asterisk wants it.
var errConnection = errors.New("no call waits under that path")

// Answer takes a connection of the service to a call that waits at Asterisk under an ID: Dial(WebSocket/INCOMING/…).
func (p *Phone) Answer(w http.ResponseWriter, r *http.Request, id string) (*Call, error) {
	m := p.newMedia()
	m.connection = id
	if r.URL.Path != "/media/"+id || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return nil, fmt.Errorf("%w: %s %s", errConnection, r.Method, r.URL.Path)
	}
	u := websocket.Upgrader{Subprotocols: []string{mediaProtocol}}
	ws, err := u.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	if ws.Subprotocol() != mediaProtocol {
		_ = ws.Close()
		return nil, fmt.Errorf("%w: the service asks for no subprotocol %q", ErrRefused, mediaProtocol)
	}
	m.socket = newSocket(ws)
	return p.begin(m)
}

func (m *media) id() string { return m.channel }

func (m *media) rate() int { return telephoneHz }

// tell sends an event: the names and values of what it has come in turn.
func (m *media) tell(event string, fields ...any) error {
	if m.plain {
		s := event
		for i := 0; i < len(fields); i += 2 {
			s += fmt.Sprintf(" %v:%v", fields[i], fields[i+1])
		}
		return m.write(websocket.TextMessage, []byte(s))
	}
	o := object{"event": event, "channel_id": m.channel}
	for i := 0; i < len(fields); i += 2 {
		o[fields[i].(string)] = fields[i+1]
	}
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return m.write(websocket.TextMessage, b)
}

// answer is tell for events whose one value stands alone in plain text.
func (m *media) answer(event, id string) error {
	if !m.plain {
		return m.tell(event, "correlation_id", id)
	}
	return m.write(websocket.TextMessage, []byte(strings.TrimSpace(event+" "+id)))
}

func (m *media) begin() error {
	fields := []any{"connection_id", m.connection, "channel", "WebSocket/riposte"}
	if m.plain {
		fields = append(fields, "channel_id", m.channel)
	}
	fields = append(fields, "format", "ulaw", "optimal_frame_size", frameBytes, "ptime", int(frame.Milliseconds()))
	if !m.plain {
		fields = append(fields, "channel_variables", map[string]string{"DIALEDPEERNUMBER": m.to})
	}
	return m.tell("MEDIA_START", fields...)
}

func (m *media) say(p audio.PCM) error {
	return m.write(websocket.BinaryMessage, p.AppendMuLaw(nil))
}

func (m *media) press(digit rune) error {
	if m.plain {
		return m.tell("DTMF_END", "digit", string(digit), "channel_id", m.channel)
	}
	return m.tell("DTMF_END", "digit", string(digit))
}

func (m *media) played(id string) error { return m.answer("MEDIA_MARK_PROCESSED", id) }

func (m *media) filled(id string) error { return m.answer("MEDIA_BUFFERING_COMPLETED", id) }

func (m *media) drained() error { return m.tell("QUEUE_DRAINED") }

func (m *media) limits() (most, stop, again int) { return queueMost, queueStop, queueAgain }

func (m *media) flow(stop bool) error {
	if stop {
		return m.tell("MEDIA_XOFF")
	}
	return m.tell("MEDIA_XON")
}

func (m *media) status(queued int, full, bulk, paused bool) error {
	var fields []any
	if m.plain {
		fields = []any{"channel_id", m.channel}
	}
	return m.tell("STATUS", append(fields, "queue_length", queued, "xon_level", queueAgain, "xoff_level", queueStop,
		"queue_full", full, "bulk_media", bulk, "media_paused", paused)...)
}

func (m *media) end() { m.part() }

// mediaCommand is a command of the service.
type mediaCommand struct {
	Command     string  `json:"command"`
	Correlation *string `json:"correlation_id"`
	Direction   *string `json:"direction"`
}

func (m *media) receive(fault func(string, ...any)) (order, error) {
	text, b, err := m.read()
	if err != nil {
		return nil, err
	}
	if text {
		return m.obey(b, fault), nil
	}
	return m.hear(b, fault), nil
}

// hear takes sound.
func (m *media) hear(b []byte, fault func(string, ...any)) order {
	if len(b) > mostSound {
		fault("a message of %d bytes of sound: more than %d end the call", len(b), mostSound)
	}
	b = append(m.rest, b...)
	over := len(b) % frameBytes
	m.rest = nil
	if over > 0 && m.bulk {
		m.rest = bytes.Clone(b[len(b)-over:])
	} else if over > 0 {
		fault("a message of %d bytes of sound: without START_MEDIA_BUFFERING the last %d of them are dropped", len(b), over)
	}
	if len(b) == over {
		return nothing{}
	}
	return play{audio.FromMuLaw(b[:len(b)-over])}
}

// obey reads a command.
func (m *media) obey(b []byte, fault func(string, ...any)) order {
	if len(b) > mostText {
		fault("a command of %d bytes: those of more than %d are passed over", len(b), mostText)
		return nothing{}
	}
	c, err := m.command(b)
	if err != nil {
		fault("%.80q: %v", b, err)
		return nothing{}
	}
	id := ""
	if c.Correlation != nil {
		id = *c.Correlation
	}
	if c.Correlation != nil && c.Command != "MARK_MEDIA" && c.Command != "STOP_MEDIA_BUFFERING" {
		fault("%s has no correlation_id", c.Command)
	}
	if (c.Direction != nil) != (c.Command == "SET_MEDIA_DIRECTION") {
		fault("%s with or without a direction", c.Command)
	}
	switch c.Command {
	case "ANSWER", "SET_MEDIA_DIRECTION":
		return nothing{}
	case "HANGUP":
		return hangUp{}
	case "START_MEDIA_BUFFERING":
		m.bulk = true
		return nothing{}
	case "STOP_MEDIA_BUFFERING":
		m.bulk = false
		return filled{id}
	case "FLUSH_MEDIA":
		m.bulk, m.rest = false, nil
		return empty{}
	case "PAUSE_MEDIA":
		return pause{}
	case "CONTINUE_MEDIA":
		return resume{}
	case "MARK_MEDIA":
		return mark{id}
	case "GET_STATUS":
		return query{m.bulk}
	case "REPORT_QUEUE_DRAINED":
		return drain{}
	}
	fault("the command %q, which Asterisk does not know", c.Command)
	return nothing{}
}

// command reads the text of one.
func (m *media) command(b []byte) (c mediaCommand, err error) {
	if !m.plain {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err = d.Decode(&c); err == nil && d.More() {
			err = errors.New("there is more than one command in the message")
		}
		return c, err
	}
	name, rest, more := strings.Cut(string(b), " ")
	c.Command = name
	if more && name == "SET_MEDIA_DIRECTION" {
		c.Direction = &rest
	} else if more {
		c.Correlation = &rest
	}
	return c, nil
}
