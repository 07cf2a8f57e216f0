package realtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// call is one client on one WebSocket. It is a transport.Call.
type call struct {
	id     string
	ws     *websocket.Conn
	server *Server
	limits Limits
	end    context.CancelCauseFunc // Of the context in which the call is held.

	in   chan message // What came, not read yet.
	out  chan []byte  // What is to be sent. Closed when nobody sends any more.
	gone chan struct{}
	idle *time.Timer // Runs out when nothing comes for too long.

	mu      sync.Mutex
	session session // What the client sees of its settings.

	answer  answer // That is being told of: one at a time,
	encoded []byte // and the last sound that was sent of it.
}

// message is one message and when it came.
type message struct {
	data []byte // nil for a binary one.
	at   time.Time
}

var _ transport.Call = (*call)(nil)

func newCall(ws *websocket.Conn, limits Limits, s *Server, model string) *call {
	id := "sess_" + rand.Text()
	if model == "" {
		model = s.Model
	}
	c := &call{
		id: id, ws: ws, server: s, limits: limits,
		in: make(chan message), out: make(chan []byte, limits.Queue), gone: make(chan struct{}),
		session: newSession(id, model, s.Voice, s.Defaults),
	}
	c.session.ExpiresAt = time.Now().Add(limits.Lifetime).Unix()
	return c
}

// ID names the call: it is the session's ID on the wire.
func (c *call) ID() string { return c.id }

// hold runs the call and returns why it ended, when nothing of it is left.
func (c *call) hold(ctx context.Context, hold func(context.Context, transport.Call, transport.Settings) error) error {
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	expiry := time.AfterFunc(c.limits.Lifetime, func() { c.end(transport.ErrExpired) })
	defer expiry.Stop()
	c.idle = time.AfterFunc(c.limits.Idle, func() { c.end(transport.ErrIdle) })
	defer c.idle.Stop()

	var wg sync.WaitGroup
	wg.Go(func() { c.end(c.read()) })
	written := make(chan struct{})
	wg.Go(func() { defer close(written); c.write() })

	c.send(ctx, "session.created", fields{"session": c.session})
	c.send(ctx, "conversation.created", fields{"conversation": fields{"id": c.conversation(), "object": "realtime.conversation"}})
	err := hold(ctx, c, c.session.settings(c.server.Defaults))
	if cause := context.Cause(ctx); cause != nil {
		err = cause // whatever else went wrong followed from it
	}
	c.farewell(err)
	close(c.out)
	<-written
	c.hangUp(err)
	close(c.gone)
	c.ws.Close() // lets read return
	wg.Wait()
	return err
}

// read takes the client's messages until the connection is gone, and says why it is.
func (c *call) read() error {
	c.ws.SetReadLimit(c.limits.Message)
	c.ws.SetReadDeadline(time.Now().Add(c.limits.Pong))
	c.ws.SetPongHandler(func(string) error { return c.ws.SetReadDeadline(time.Now().Add(c.limits.Pong)) })
	for {
		kind, data, err := c.ws.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			return fmt.Errorf("%w: more than %d bytes", errTooBig, c.limits.Message)
		case isTimeout(err):
			return transport.ErrSlowReader
		case err != nil:
			return transport.ErrHungUp
		}
		c.idle.Reset(c.limits.Idle)
		if kind != websocket.TextMessage {
			data = nil // Receive says what is wrong with it
		}
		at := time.Now()
		select {
		case c.in <- message{data, at}:
		case <-c.gone:
			return nil
		}
		if time.Since(at) > c.limits.Ping { // it was not the client who kept its pongs waiting
			c.ws.SetReadDeadline(time.Now().Add(c.limits.Pong))
		}
	}
}

// write sends what is queued until there will be no more, or the client does not take it, and asks it now and then
// whether it is still there.
func (c *call) write() {
	ping := time.NewTicker(c.limits.Ping)
	defer ping.Stop()
	var failed error
	for {
		var err error
		select {
		case b, ok := <-c.out:
			if !ok {
				return
			}
			if failed != nil {
				c.lose(failed)
				continue
			}
			c.ws.SetWriteDeadline(time.Now().Add(c.limits.Write))
			if err = c.ws.WriteMessage(websocket.TextMessage, b); err != nil {
				c.lose(unwritten(err))
			}
		case <-ping.C:
			if failed == nil {
				err = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.limits.Write))
			}
		}
		if err != nil {
			failed = unwritten(err)
			c.end(failed)
		}
	}
}

// unwritten returns why a client has not taken what was written.
func unwritten(err error) error {
	if isTimeout(err) {
		return transport.ErrSlowReader
	}
	return transport.ErrHungUp
}

// queue puts an event where write takes it. A client that does not read makes it wait, no longer than the limit.
func (c *call) queue(ctx context.Context, b []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case c.out <- b:
		c.server.Queue.Hold(int64(len(c.out)))
		return nil
	default:
	}
	c.server.Queue.Hold(int64(cap(c.out)))
	slow := time.NewTimer(c.limits.Write)
	defer slow.Stop()
	select {
	case c.out <- b:
		return nil
	case <-slow.C:
		c.lose(transport.ErrSlowReader)
		c.end(transport.ErrSlowReader)
		return transport.ErrSlowReader
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errTooBig says that a client sent a message beyond the limit.
var errTooBig = errors.New("the message is too big")

// farewell tells the client why the call ends, where that is not its own doing.
func (c *call) farewell(err error) {
	var code, text string
	switch {
	case errors.Is(err, transport.ErrHungUp), errors.Is(err, transport.ErrSlowReader), errors.Is(err, errTooBig):
		return
	case errors.Is(err, transport.ErrExpired):
		code, text = "session_expired", fmt.Sprintf("The session has lasted %v, the longest time. Connect again.", c.limits.Lifetime)
	case errors.Is(err, transport.ErrIdle):
		code, text = "session_idle", fmt.Sprintf("Nothing has come for %v. Connect again.", c.limits.Idle)
	case errors.Is(err, transport.ErrSilent):
		code, text = "session_silent", "The caller said nothing for too long, though asked to."
	case errors.Is(err, transport.ErrShutdown), errors.Is(err, context.Canceled):
		code, text = "server_shutdown", "The service is shutting down. Connect again."
	default:
		code, text = "server_error", "Something went wrong in the service. Connect again; if it happens again, tell whoever runs it."
	}
	// No context: the call's own has ended, and the queue's wait is bounded.
	c.fault(context.Background(), transport.Fault{Code: code, Message: text, Ours: true})
}

// hangUp says goodbye with the close code that belongs to err. This is the one place that knows them.
func (c *call) hangUp(err error) {
	code, text := websocket.CloseNormalClosure, ""
	switch {
	case err == nil, errors.Is(err, transport.ErrHungUp):
	case errors.Is(err, transport.ErrSlowReader):
		code, text = websocket.ClosePolicyViolation, "the client does not read"
	case errors.Is(err, errTooBig):
		code, text = websocket.CloseMessageTooBig, fmt.Sprintf("a message may have %d bytes", c.limits.Message)
	case errors.Is(err, transport.ErrExpired):
		code, text = websocket.CloseNormalClosure, "the session has expired"
	case errors.Is(err, transport.ErrIdle):
		code, text = websocket.CloseNormalClosure, "the session was idle"
	case errors.Is(err, transport.ErrSilent):
		code, text = websocket.CloseNormalClosure, "nothing was said"
	case errors.Is(err, transport.ErrShutdown), errors.Is(err, context.Canceled):
		code, text = websocket.CloseGoingAway, "the service is shutting down"
	default:
		code, text = websocket.CloseInternalServerErr, "internal error"
	}
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
