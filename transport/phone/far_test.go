package phone

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/transport"
)

const ms = time.Millisecond

// far is the far side of a line, at the end of a network. It plays what comes once it has had it for a while, and knows what it played.
type far struct {
	there, back time.Duration // How long the ways are.
	buffers     time.Duration // How long sound waits before it is played, where none is before it.
	format      Format
	slow        *rand.Rand // It takes what comes up to 4 ms late; nil at once.
	jitter      *rand.Rand // What is on its way takes up to 60 ms longer; nil does not.

	events chan Event
	over   chan struct{}
	ways   [2]chan func() // What is on the way there, and back, in its order.

	drawing sync.Mutex

	mu     sync.Mutex
	sent   []time.Time // When frames came to be sent.
	silent int         // How many of them were silence.
	played []piece
	marks  []pending
	log    []string // What was sent, other than sound.
	why    error
	closed bool
}

type piece struct {
	coded []byte
	from  time.Time
}

type pending struct {
	name string
	wait *time.Timer
}

func newFar(f Format) *far {
	far := &far{format: f, events: make(chan Event, 1000), over: make(chan struct{})}
	for i := range far.ways {
		far.ways[i] = make(chan func(), 1000)
		go func() {
			for {
				select {
				case do := <-far.ways[i]:
					do()
				case <-far.over:
					return
				}
			}
		}()
	}
	return far
}

func (f *far) Receive() (Event, error) {
	select {
	case e := <-f.events:
		if err, ok := e.(ended); ok {
			return nil, err.why
		}
		return e, nil
	case <-f.over:
		return nil, transport.ErrLost
	}
}

// ended is the end of what comes.
type ended struct {
	Nothing
	why error
}

func (f *far) Close(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.why, f.closed = why, true
		close(f.over)
	}
}

func (p piece) end(f Format) time.Time { return p.from.Add(f.length(len(p.coded))) }

func (f *far) empty() time.Time {
	if n := len(f.played); n > 0 {
		return f.played[n-1].end(f.format)
	}
	return time.Time{}
}

// arrives returns when what is sent now arrives.
func (f *far) arrives(way time.Duration) time.Time {
	if f.jitter != nil {
		f.drawing.Lock()
		defer f.drawing.Unlock()
		way += time.Duration(f.jitter.IntN(60_000)) * time.Microsecond
	}
	return time.Now().Add(way)
}

// comes does something when word of it has come to the far side.
func (f *far) comes(do func()) {
	at := f.arrives(f.there)
	f.ways[0] <- func() {
		time.Sleep(time.Until(at))
		f.mu.Lock()
		defer f.mu.Unlock()
		do()
	}
}

func (f *far) Play(coded []byte) error {
	if f.slow != nil {
		time.Sleep(time.Duration(f.slow.IntN(4000)) * time.Microsecond)
	}
	coded = slices.Clone(coded)
	f.mu.Lock()
	f.sent = append(f.sent, time.Now())
	if slices.Equal(coded, f.format.silence(len(coded))) {
		f.silent++
	}
	f.mu.Unlock()
	f.comes(func() {
		at := time.Now().Add(f.buffers)
		if e := f.empty(); e.After(at) || e.After(time.Now()) {
			at = e
		}
		f.played = append(f.played, piece{coded, at})
	})
	return nil
}

// marking is a far that has marks, clearing one that throws away what it has.
type marking struct{ *far }

func (f marking) Mark(name string) error {
	f.comes(func() {
		p := pending{name: name}
		p.wait = time.AfterFunc(max(0, time.Until(f.empty())), func() { f.returns(name) })
		f.marks = append(f.marks, p)
	})
	return nil
}

func (f *far) returns(name string) {
	f.mu.Lock()
	f.marks = slices.DeleteFunc(f.marks, func(p pending) bool { return p.name == name })
	f.mu.Unlock()
	f.tells(Marked{name})
}

type clearing struct{ marking }

func (f clearing) Clear() error {
	f.note("clear")
	f.comes(func() {
		now := time.Now()
		for i, p := range f.played {
			if p.end(f.format).After(now) {
				f.played = f.played[:i]
				if n := audio.Samples(now.Sub(p.from), f.format.Rate) * f.format.width(); n > 0 {
					f.played = append(f.played, piece{p.coded[:n], p.from})
				}
				break
			}
		}
		for _, p := range f.marks {
			if p.wait.Stop() {
				f.tells(Marked{p.name})
			}
		}
		f.marks = nil
	})
	return nil
}

func (f *far) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, what)
}

// tells has the far side say something, as it comes here.
func (f *far) tells(e Event) {
	at := f.arrives(f.back)
	f.ways[1] <- func() {
		time.Sleep(time.Until(at))
		f.events <- e
	}
}

// heard returns how much sound that is no silence was played since a time.
func (f *far) heard(since time.Time) (d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.played {
		if p.from.Before(since) {
			continue
		}
		for _, s := range f.format.Decode(p.coded[:min(len(p.coded), max(0, audio.Samples(time.Since(p.from), f.format.Rate)*f.format.width()))]) {
			if s != 0 {
				d += time.Second / time.Duration(f.format.Rate)
			}
		}
	}
	return d
}

// tone is sound that is heard at every sample.
func tone(d time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(d, rate))
	for i := range p {
		p[i] = int16(8000 + 4000*math.Sin(float64(i)/3))
	}
	return p
}

// speaker is what the pipeline does with answers: it sends them at the pace at which they are heard.
type speaker struct {
	*testing.T
	call     transport.Call
	settings transport.Settings
	ctx      context.Context
	pacer    audio.Pacer
}

// say says an answer until it is whole or a channel is closed. Its clauses are as long as they are said to be.
func (s *speaker) say(response string, stop <-chan struct{}, clauses ...time.Duration) (whole bool) {
	r := transport.Response{ID: response, Item: "item_" + response}
	send := func(out transport.Outbound) {
		if err := s.call.Send(s.ctx, out); err != nil {
			s.Errorf("%T: %v", out, err)
		}
	}
	send(transport.ResponseStarted{Response: r})
	send(transport.MessageStarted{Response: r})
	for _, clause := range clauses {
		send(transport.Words{Response: r, Text: "words"})
		for clause > 0 {
			d := min(clause, FrameLength)
			clause -= d
			timer := time.NewTimer(s.pacer.Wait(time.Now()))
			select {
			case <-timer.C:
			case <-stop:
				timer.Stop()
				return false
			}
			s.pacer.Next(d, time.Now())
			send(transport.Voice{Response: r, PCM: tone(d, s.settings.Rate)})
		}
	}
	send(transport.ResponseDone{Response: r, Status: transport.Completed})
	return true
}

func (s *speaker) cancel(response string) {
	s.pacer.Cut(time.Now())
	r := transport.Response{ID: response, Item: "item_" + response}
	if err := s.call.Send(s.ctx, transport.ResponseDone{Response: r, Status: transport.Cancelled}); err != nil {
		s.Error(err)
	}
}

// opened is what calls of tests begin with.
func opened(f Format, buffer time.Duration, steady bool) Opening {
	return Opening{Wire: "test", ID: "1", From: "+491", To: "+492", In: f, Out: f, Buffer: buffer, Steady: steady}
}

// held returns a server whose calls are held by do.
func held(do func(ctx context.Context, c transport.Call, s transport.Settings) error) *Server {
	return &Server{
		Hold: do, Log: slog.New(slog.DiscardHandler),
		Admit: func() (func(), error) { return func() {}, nil },
		Choose: func(Opening) (transport.Settings, error) {
			return transport.Settings{Detection: &transport.Detection{Interrupt: true}}, nil
		},
	}
}

// bubble is synctest.Test that lets come to its end what is on its way.
func bubble(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		do(t)
		time.Sleep(10 * time.Second)
	})
}
