package realtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"riposte/transport"
)

// call is one client on one line. It is a transport.Call.
type call struct {
	id       string
	line     Line
	tracks   Tracks // Where sound goes; nil for events.
	server   *Server
	limits   Limits
	defaults transport.Settings      // Of its route.
	end      context.CancelCauseFunc // Of the context in which the call is held.

	in      chan Incoming       // What came, not read yet.
	sounded []byte              // The last sound that came.
	out     chan []byte         // What is to be sent. Closed when nobody sends any more.
	room    *semaphore.Weighted // The bytes that it may have, what is being sent included.
	gone    chan struct{}
	idle    *time.Timer // Runs out when nothing comes for too long.

	sides sides
	beta  bool // The client is sent the events of the protocol's beta.

	mu      sync.Mutex
	session session // What the client sees of its settings.

	answering atomic.Bool // Whether the client is being told of an answer of the conversation's.
	answers   answers
}

var _ transport.Call = (*call)(nil)

func newCall(line Line, s *Server, o *Opening) *call {
	limits := s.Limits.withDefaults()
	c := &call{
		id: o.ID, line: line, server: s, limits: limits,
		in: make(chan Incoming), out: make(chan []byte, limits.Queue), room: semaphore.NewWeighted(limits.Buffer), gone: make(chan struct{}),
		session: o.session, defaults: o.defaults, beta: o.beta,
	}
	c.tracks, _ = line.(Tracks)
	c.session.ExpiresAt = time.Now().Add(limits.Lifetime).Unix()
	return c
}

// ID names the call: it is the session's ID on the wire.
func (c *call) ID() string { return c.id }

// Wire names the wire that the call came by.
func (c *call) Wire() string { return c.line.Name() }

// hold runs the call and returns why it ended, when nothing of it is left.
func (c *call) hold(ctx context.Context, hold func(context.Context, transport.Call, transport.Settings) error) error {
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	expiry := time.AfterFunc(c.limits.Lifetime, func() { c.end(transport.ErrExpired) })
	defer expiry.Stop()
	c.idle = time.AfterFunc(c.limits.Idle, func() { c.end(transport.ErrIdle) })
	defer c.idle.Stop()

	var reading, writing, playing sync.WaitGroup
	reading.Go(func() { c.end(c.read()) })
	writing.Go(c.write)
	if c.tracks != nil {
		playing.Go(func() { c.playback(ctx) })
	}

	c.send(ctx, "session.created", fields{"session": c.session.shown()})
	c.send(ctx, "conversation.created", fields{"conversation": fields{"id": c.conversation(), "object": "realtime.conversation"}})
	err := hold(ctx, c, c.settings(c.session))
	if cause := context.Cause(ctx); cause != nil {
		err = cause // whatever else went wrong followed from it
	}
	c.farewell(err)
	c.end(err)
	c.sides.close(err)
	playing.Wait()
	close(c.out)
	writing.Wait()
	c.line.Goodbye(err)
	close(c.gone)
	c.line.Close() // lets read return
	reading.Wait()
	return err
}

// settings returns what a session means for the pipeline on this line.
func (c *call) settings(s session) transport.Settings {
	out := s.settings(c.defaults)
	if c.tracks != nil {
		out.Rate, out.Encoding = PCMRate, "audio/pcm"
		out.Holds, out.Lead = true, c.tracks.Lead() // what is played is in the line's own hands
	}
	return out
}

// read takes what comes from the client until the line is gone, and says why it is.
func (c *call) read() error {
	for {
		in, err := c.line.Receive()
		if err != nil {
			return err
		}
		c.idle.Reset(c.limits.Idle)
		select {
		case c.in <- in:
		case <-c.gone:
			return nil
		}
	}
}

// write sends what is queued until there will be no more, or the client does not take it.
func (c *call) write() {
	var failed error
	for b := range c.out {
		if failed == nil {
			if failed = c.line.Send(b); failed != nil {
				c.end(failed)
			}
		}
		if failed != nil {
			c.lose(failed)
		}
		c.room.Release(c.size(b))
	}
}

// playback tells the client what becomes of the sound that goes by tracks.
func (c *call) playback(ctx context.Context) {
	for {
		select {
		case p := <-c.tracks.Playback():
			if c.send(ctx, "output_audio_buffer."+string(p.State), fields{"response_id": p.Response}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// queue puts an event where write takes it, and hands it to whoever is attached. A client that does not read makes it wait, no longer than the
// limit.
func (c *call) queue(ctx context.Context, b []byte) error {
	c.sides.tell(b, nil, c.limits.Buffer)
	return c.reply(ctx, b)
}

// reply is queue for what is the client's alone.
func (c *call) reply(ctx context.Context, b []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.beta {
		if b = old(b); b == nil {
			return nil
		}
	}
	size := c.size(b)
	fits := c.room.TryAcquire(size)
	if fits {
		select {
		case c.out <- b:
			c.server.Queue.Hold(int64(len(c.out)))
			return nil
		default:
			c.server.Queue.Hold(int64(cap(c.out)))
		}
	}
	waiting, stop := context.WithTimeoutCause(ctx, c.limits.Write, transport.ErrSlowReader)
	defer stop()
	if fits || c.room.Acquire(waiting, size) == nil {
		select {
		case c.out <- b:
			return nil
		case <-waiting.Done():
			c.room.Release(size)
		}
	}
	why := context.Cause(waiting)
	if errors.Is(why, transport.ErrSlowReader) && ctx.Err() == nil {
		c.lose(why)
		c.end(why)
	}
	return why
}

// size is how much of the room an event takes: one that is larger than all of it waits until it is alone.
func (c *call) size(b []byte) int64 { return min(int64(len(b)), c.limits.Buffer) }

// farewell tells the client why the call ends, where that is not its own doing.
func (c *call) farewell(err error) {
	var code, text string
	switch {
	case errors.Is(err, transport.ErrHungUp), errors.Is(err, transport.ErrSlowReader), errors.Is(err, transport.ErrLost), errors.Is(err, ErrTooBig):
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
