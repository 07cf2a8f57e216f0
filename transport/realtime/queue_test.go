package realtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/transport"
)

// pipe is a Line whose client takes an event each so often, until it stops reading.
type pipe struct {
	each   time.Duration
	until  time.Time // Zero reads for ever.
	limit  time.Duration
	closed chan struct{}
	wrote  int // Frames that were written to it.
}

func (p *pipe) Receive() (Incoming, error) { <-p.closed; return Incoming{}, transport.ErrHungUp }
func (p *pipe) Goodbye(error)              {}
func (p *pipe) Name() string               { return "pipe" }
func (p *pipe) Close()                     { close(p.closed) }

func (p *pipe) Send([]byte) error {
	if !p.until.IsZero() && time.Now().After(p.until) {
		time.Sleep(p.limit)
		return transport.ErrSlowReader
	}
	time.Sleep(p.each)
	return nil
}

// A client that reads slowly slows down those who write to it, and no others. One that stops reading ends its own call.
func TestSlowReader(t *testing.T) {
	const frame, write = 20 * time.Millisecond, 5 * time.Second
	for _, tt := range []struct {
		name       string
		each       time.Duration // The slow client takes an event in this time,
		reads      time.Duration // for so long; 0 is for ever.
		wrote      [2]int        // How many frames were written to it in 30 s, at least and at most.
		high, full int64
		ends       error
	}{
		{"reads half as fast as is spoken", 2 * frame, 0, [2]int{1000, 1010}, 256, 0, nil},
		{"stops reading", frame, 10 * time.Second, [2]int{740, 755}, 250, 248, transport.ErrSlowReader},
		{"is slow, and stops reading", 2 * frame, 15 * time.Second, [2]int{625, 640}, 256, 257, transport.ErrSlowReader},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				slow := &pipe{each: tt.each, limit: write, closed: make(chan struct{})}
				if tt.reads > 0 {
					slow.until = began.Add(tt.reads)
				}
				quick := &pipe{closed: make(chan struct{})}
				s := &Server{
					Defaults: defaults(), Model: "m", Voice: "joe", Limits: Limits{Write: write}, Log: slog.New(slog.DiscardHandler),
				}
				s.Queue = NewQueue(s.Limits)
				s.Hold = func(ctx context.Context, c transport.Call, _ transport.Settings) error {
					line := c.(*call).line.(*pipe)
					for due := began; time.Since(began) < 30*time.Second; due = due.Add(frame) {
						time.Sleep(time.Until(due))
						if err := c.Send(ctx, transport.Voice{PCM: make([]int16, 480), Response: transport.Response{Encoding: "audio/pcm"}}); err != nil {
							return err
						}
						line.wrote++
						if late := time.Since(due); line == quick && late > 0 {
							t.Errorf("a frame for the quick one was late by %v", late)
						}
					}
					return transport.ErrShutdown
				}
				ended := map[*pipe]chan error{}
				for _, p := range []*pipe{slow, quick} {
					o, err := s.Open(Guest{}, "")
					if err != nil {
						t.Fatal(err)
					}
					ended[p] = make(chan error, 1)
					go func() { ended[p] <- s.Converse(t.Context(), p, o) }()
					synctest.Wait()
				}
				err := <-ended[slow]
				if tt.ends != nil && !errors.Is(err, tt.ends) {
					t.Errorf("the slow call ended with %v", err)
				}
				state := s.Queue.State() // of a minute, so the whole call
				if err := <-ended[quick]; !errors.Is(err, transport.ErrShutdown) {
					t.Errorf("the quick call ended with %v", err)
				}
				if n := quick.wrote; n < 1500 || n > 1501 {
					t.Errorf("the quick one was written %d frames", n)
				}
				if n := slow.wrote; n < tt.wrote[0] || n > tt.wrote[1] {
					t.Errorf("the slow one was written %d frames, want %v", n, tt.wrote)
				}
				if state.High < tt.high-6 || state.High > 256 || state.Full < tt.full-8 || state.Full > tt.full+8 || state.Stale != 0 {
					t.Errorf("counted %+v, want a high of %d and %d lost", state, tt.high, tt.full)
				}
			})
		})
	}
}

// What waits for a client that has hung up is not lost for want of place.
func TestQueueOfOneWhoHangsUp(t *testing.T) {
	c := &call{server: &Server{Queue: &budget.Queue{}}}
	c.lose(transport.ErrHungUp)
	c.lose(transport.ErrSlowReader)
	if got := c.server.Queue.State(); got.Full != 1 || got.Stale != 1 {
		t.Errorf("counted %+v", got)
	}
}

// Events that wait are bounded in bytes as well: few long ones are as much as many short ones. One alone may be longer than the bound.
func TestQueueOfLongEvents(t *testing.T) {
	const buffer, write = 1 << 20, 5 * time.Second
	for _, tt := range []struct {
		name   string
		length int
		each   time.Duration // The client takes an event in this time,
		reads  bool          // or none at all.
		most   int           // Events of which it is told before it is waited for.
		ends   error
	}{
		{"reads nothing", buffer / 4, 0, false, 3, transport.ErrSlowReader},
		{"reads nothing of what is longer than the bound", 4 * buffer, 0, false, 0, transport.ErrSlowReader},
		{"reads slowly", buffer / 4, time.Second, true, 20, transport.ErrShutdown},
		{"reads slowly what is longer than the bound", 4 * buffer, time.Second, true, 20, transport.ErrShutdown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &pipe{each: tt.each, limit: time.Hour, closed: make(chan struct{})}
				if !tt.reads {
					client.until, client.limit = time.Now().Add(-time.Second), write+time.Second
				}
				sent := 0
				var most int64
				s := &Server{Defaults: defaults(), Model: "m", Voice: "joe", Limits: Limits{Write: write, Buffer: buffer}, Log: slog.New(slog.DiscardHandler)}
				s.Hold = func(ctx context.Context, c transport.Call, _ transport.Settings) error {
					synctest.Wait()
					for range 20 {
						if err := c.Send(ctx, transport.Fault{Code: "x", Message: strings.Repeat("x", tt.length)}); err != nil {
							return err
						}
						sent++
						most = max(most, int64(len(c.(*call).out)))
					}
					return transport.ErrShutdown
				}
				o, err := s.Open(Guest{}, "")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Converse(t.Context(), client, o); !errors.Is(err, tt.ends) {
					t.Errorf("the call ended with %v, want %v", err, tt.ends)
				}
				if sent > tt.most || tt.reads && sent != 20 {
					t.Errorf("%d events were taken, want %d", sent, tt.most)
				}
				if most > 5 { // and the two that a call begins with
					t.Errorf("%d events waited", most)
				}
			})
		})
	}
}
