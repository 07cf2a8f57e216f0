package asterisk

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/transport"
	"riposte/transport/phone"
)

// subprotocol is what chan_websocket speaks.
const subprotocol = "media"

// Media takes the call that Asterisk connects to bring, of which the query may tell.
func (s *Server) Media(w http.ResponseWriter, r *http.Request) {
	if !s.permits(w, r) {
		return
	}
	if !slices.Contains(websocketProtocols(r), subprotocol) {
		http.Error(w, "This takes the calls of Asterisk's chan_websocket: set protocols = media in websocket_client.conf.", http.StatusBadRequest)
		return
	}
	waits, done := s.Phone.Wait(r.Context())
	socket, err := s.Phone.Upgrade(w, r, subprotocol)
	if err != nil {
		done()
		return
	}
	s.takeMedia(r.Context(), waits, socket, about(r.URL.Query()), done)
}

// busy answers a request for whose call there is no room.
func busy(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// websocketProtocols returns the subprotocols that a client speaks.
func websocketProtocols(r *http.Request) (all []string) {
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(header, ",") {
			all = append(all, strings.TrimSpace(p))
		}
	}
	return all
}

// takeMedia holds the call that a WebSocket brings, of which something may be known. It waits for word of which one that is, and no longer than waits
// lasts. done says that it is known, or that it will not be.
func (s *Server) takeMedia(ctx, waits context.Context, socket *phone.Socket, known announcement, done func()) {
	begun := context.AfterFunc(waits, func() { socket.Close(context.Cause(waits)) })
	l := &mediaLine{socket: socket, answers: s.Answer}
	o, err := s.openMedia(l, known)
	if !begun() {
		err = context.Cause(waits)
	}
	done()
	if err != nil {
		if !errors.Is(err, phone.ErrCrowded) { // which is told already
			s.Log.Warn("a connection of chan_websocket brought no call", "err", err)
		}
		socket.Close(err)
		return
	}
	s.converse(ctx, l, o)
}

// variablePrefix begins the names of a channel's variables that tell of a call: RIPOSTE_ROUTE, RIPOSTE_FROM, RIPOSTE_TO, RIPOSTE_CHANNEL, and
// others, which are parameters. They are told in JSON only; what the query says goes before.
const variablePrefix = "RIPOSTE_"

// openMedia waits for MEDIA_START.
func (s *Server) openMedia(l *mediaLine, known announcement) (o phone.Opening, err error) {
	text, message, err := l.socket.First()
	switch {
	case err != nil:
		return o, err
	case !text:
		return o, &phone.Misuse{Message: "Bytes came before MEDIA_START: is it chan_websocket that has connected?"}
	}
	l.language = languageOf(message)
	start, err := l.language.parse(message)
	if err != nil {
		return o, err
	}
	if start.Event != mediaStart {
		return o, phone.Misused("The first message is %.40q: it has to be MEDIA_START. Is it chan_websocket that has connected?", start.Event)
	}
	if l.format, err = start.sounds(); err != nil {
		return o, err
	}
	known.fill(start.Variables)
	l.transfer = func(ctx context.Context, to, note string) error { return s.transfer(ctx, known.Channel, to, note) }
	return phone.Opening{
		Wire: "asterisk", ID: start.ChannelID, From: known.From, To: known.To, Route: known.Route, Parameters: known.Parameters,
		In: l.format, Out: l.format, Buffer: s.buffer(),
	}, nil
}

// fill adds what the variables of a channel say, where it is not known.
func (a *announcement) fill(variables map[string]string) {
	for variable, value := range variables {
		name, ours := strings.CutPrefix(variable, variablePrefix)
		if !ours {
			continue
		}
		name = strings.ToLower(name)
		field, ok := map[string]*string{"from": &a.From, "to": &a.To, "route": &a.Route, "channel": &a.Channel}[name]
		switch {
		case ok && *field == "":
			*field = value
		case ok:
		default:
			if a.Parameters == nil {
				a.Parameters = map[string]string{}
			}
			if _, told := a.Parameters[name]; !told {
				a.Parameters[name] = value
			}
		}
	}
}

// mediaLine is a call over chan_websocket, which frames and times the sound that it is sent, and throws it away or stops playing when told to.
type mediaLine struct {
	socket   *phone.Socket
	language language
	format   phone.Format
	transfer func(ctx context.Context, to, note string) error
	between  between
	answers  bool // ANSWER is sent once the call is taken: when it is first received from.

	mu    sync.Mutex
	marks []string // Those that have not come back.
}

var (
	_ phone.Marker      = (*mediaLine)(nil)
	_ phone.Clearer     = (*mediaLine)(nil)
	_ phone.Pauser      = (*mediaLine)(nil)
	_ phone.Transferrer = (*mediaLine)(nil)
)

func (l *mediaLine) Receive() (phone.Event, error) {
	if l.answers {
		l.answers = false
		if err := l.send(answer, ""); err != nil {
			return nil, err
		}
	}
	text, message, err := l.socket.Next()
	if err != nil {
		return nil, err
	}
	arrived := time.Now()
	if text {
		if err := l.between.another(); err != nil {
			return nil, err
		}
		n, err := l.language.parse(message)
		if err != nil {
			return nil, err
		}
		return l.event(n)
	}
	l.between = 0
	switch {
	case len(message) == 0:
		return phone.Nothing{}, nil
	case l.format.Encoding == phone.Linear && len(message)%2 != 0:
		return nil, phone.Misused("A message of sound has %d bytes: it has to have two for each sample.", len(message))
	}
	return phone.Media{Coded: message, Arrived: arrived}, nil
}

// event says what a notice is to a call.
func (l *mediaLine) event(n notice) (phone.Event, error) {
	switch n.Event {
	case mediaStart:
		return nil, &phone.Misuse{Message: "A second MEDIA_START came: a connection brings one call."}
	case dtmfEnd:
		if d, ok := phone.Digit(n.Digit); ok {
			return phone.Key{Digit: d}, nil
		}
	case mediaXOFF, mediaXON:
		return phone.Flow{Stop: n.Event == mediaXOFF}, nil
	case markProcessed:
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.marks, n.CorrelationID); i >= 0 {
			l.marks = slices.Delete(l.marks, i, i+1)
			return phone.Marked{Name: n.CorrelationID}, nil
		}
	case errorEvent:
		// What a call is held with needs the driver to frame and time its sound, in both directions.
		return nil, phone.Misused("Asterisk says: %.200q. Leave the options p and d() out of the dial string.", n.Text)
	}
	return phone.Nothing{}, nil
}

// mostMessage is how long a message to Asterisk may be, in bytes. At one of more than 65,500 it hangs up, and before 22.10 it takes none that
// comes in several parts, as a client sends those that its buffer does not hold.
const mostMessage = 16 << 10

// Play sends sound in as few messages as it fits into.
func (l *mediaLine) Play(coded []byte) error {
	most := mostMessage / l.format.Bytes() * l.format.Bytes()
	for part := range slices.Chunk(coded, most) {
		if err := l.socket.WriteBinary(part); err != nil {
			return err
		}
	}
	return nil
}

// mostMarks is how many marks are remembered: before 22.8 Asterisk knows of none, and none comes back.
const mostMarks = 64

// Mark asks to be told when what was sent has been played.
func (l *mediaLine) Mark(name string) error {
	l.mu.Lock()
	l.marks = append(l.marks, name)
	if n := len(l.marks); n > mostMarks {
		l.marks = slices.Delete(l.marks, 0, n-mostMarks)
	}
	l.mu.Unlock()
	return l.send(markMedia, name)
}

// Clear throws away what has not been played. Asterisk throws away the marks among it as well, without a word, so they are set again, and come
// back at once. A queue that is paused stays so, whatever its manual says.
func (l *mediaLine) Clear() error {
	l.mu.Lock()
	again := slices.Clone(l.marks)
	l.mu.Unlock()
	if err := errors.Join(l.send(flushMedia, ""), l.send(continueMedia, "")); err != nil {
		return err
	}
	for _, name := range again {
		if err := l.send(markMedia, name); err != nil {
			return err
		}
	}
	return nil
}

// Pause has silence played in place of what there is.
func (l *mediaLine) Pause() error { return l.send(pauseMedia, "") }

// Resume goes on where it was paused.
func (l *mediaLine) Resume() error { return l.send(continueMedia, "") }

// Transfer leads the caller elsewhere, where the name of its channel was told and there is a Manager.
func (l *mediaLine) Transfer(ctx context.Context, to, note string) error {
	return l.transfer(ctx, to, note)
}

// Close hangs up the channel, and closes the connection.
func (l *mediaLine) Close(why error) {
	if !errors.Is(why, transport.ErrHungUp) && !errors.Is(why, transport.ErrLost) && !errors.Is(why, transport.ErrSlowReader) {
		_ = l.send(hangUpCommand, "")
	}
	l.socket.Close(why)
}

func (l *mediaLine) send(command, id string) error {
	message, err := l.language.command(command, id)
	if err != nil {
		return err
	}
	return l.socket.WriteText(message)
}
