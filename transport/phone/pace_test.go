package phone

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// A long answer, whose sound comes with the delays of a busy service, leaves without drifting, and never runs dry.
func TestPaceForLong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		long   time.Duration
		buffer time.Duration
		steady bool
	}{
		{"the far side plays what comes as it comes", time.Hour, 0, false},
		{"it needs sound all the time", 10 * time.Minute, 0, true},
		{"it keeps 300 ms", 10 * time.Minute, 300 * ms, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(mulaw)
				var counts Counts
				s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
					go func() { _, _ = listen(ctx, c) }()
					r := rand.New(rand.NewPCG(1, 2))
					response := transport.Response{ID: "a", Item: "i"}
					_ = c.Send(ctx, transport.ResponseStarted{Response: response})
					p := audio.Pacer{Lead: set.Lead}
					sound := tone(FrameLength, set.Rate)
					for range int(tt.long / FrameLength) {
						time.Sleep(p.Wait(time.Now()) + time.Duration(r.IntN(15_000))*time.Microsecond)
						p.Next(FrameLength, time.Now())
						if err := c.Send(ctx, transport.Voice{Response: response, PCM: sound}); err != nil {
							return err
						}
					}
					_ = c.Send(ctx, transport.ResponseDone{Response: response, Status: transport.Completed})
					if err := c.(transport.Telephone).HangUp(ctx); err != nil {
						t.Error(err)
					}
					return nil
				})
				go f.silence()
				f.slow = rand.New(rand.NewPCG(3, 4))
				if err := s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, tt.buffer, tt.steady)); err != transport.ErrEnded {
					t.Error(err)
				}
				counts = s.Counts()
				first := slices.IndexFunc(f.sent, func(at time.Time) bool { return at.Sub(f.sent[0]) > tt.buffer })
				sent := f.sent[first:]
				drift := sent[len(sent)-1].Sub(sent[0]) - time.Duration(len(sent)-1)*FrameLength
				if drift > 20*ms || drift < -20*ms {
					t.Errorf("it has drifted by %v", drift)
				}
				var off []time.Duration
				for i, at := range sent[1:] {
					off = append(off, at.Sub(sent[i])-FrameLength)
				}
				slices.Sort(off)
				if counts.Underruns > 0 || counts.Stalls > 0 {
					t.Errorf("it ran dry: %+v", counts)
				}
				t.Logf("%d frames, drift %v; intervals less 20 ms: 1%% %v, median %v, 99%% %v, most %v", len(sent), drift,
					off[len(off)/100], off[len(off)/2], off[len(off)*99/100], off[len(off)-1])
			})
		})
	}
}

// silence has the far side send silence, until the call ends.
func (f *far) silence() {
	for n := uint64(1); ; n++ {
		f.events <- Media{Coded: mulaw.silence(160), Arrived: time.Now(), Sequence: n}
		select {
		case <-time.After(FrameLength):
		case <-f.over:
			return
		}
	}
}

// What the far side wants nothing of for a while is not lost, and what is held leaves when it is released.
func TestHeldAndFull(t *testing.T) {
	for _, tt := range []struct {
		name   string
		buffer time.Duration
		stop   func(f *far, c *call)
		gone   func(f *far, c *call)
	}{
		{"full", 300 * ms, func(f *far, _ *call) { f.tells(Flow{true}) }, func(f *far, _ *call) { f.tells(Flow{false}) }},
		{"held", 0, func(_ *far, c *call) { _ = c.pause() }, func(_ *far, c *call) { _ = c.resume() }},
		{"held, with a buffer", 300 * ms, func(_ *far, c *call) { _ = c.pause() }, func(_ *far, c *call) { _ = c.resume() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(mulaw)
				s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
					p := &speaker{T: t, call: c, ctx: ctx, settings: set}
					p.pacer.Lead = set.Lead
					began := time.Now()
					time.AfterFunc(500*ms, func() { tt.stop(f, c.(*call)) })
					time.AfterFunc(1500*ms, func() { tt.gone(f, c.(*call)) })
					p.say("a", nil, 3*time.Second)
					if err := c.(transport.Telephone).HangUp(ctx); err != nil {
						t.Error(err)
					}
					for _, at := range f.sent {
						if d := at.Sub(began); d > 501*ms && d < 1499*ms {
							t.Errorf("something was sent after %v", d)
						}
					}
					return nil
				})
				_ = s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, tt.buffer, false))
				if heard := f.heard(time.Time{}); heard != 3*time.Second {
					t.Errorf("%v of 3 s were heard", heard)
				}
			})
		})
	}
}

// pausing is a far side that can be told to pause.
type pausing struct{ clearing }

func (f pausing) Pause() error  { f.note("pause"); return nil }
func (f pausing) Resume() error { f.note("resume"); return nil }

// An answer that is cut off is cleared at once, before anything of the next one, and a far side that has paused goes on.
func TestCutAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		var cleared time.Time
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
			p := &speaker{T: t, call: c, ctx: ctx, settings: set}
			p.pacer.Lead = set.Lead
			if !set.Holds || set.Lead != 360*ms || set.Rate != 8000 {
				t.Errorf("the settings are %+v", set)
			}
			stop := make(chan struct{})
			time.AfterFunc(time.Second, func() {
				if err := c.Send(ctx, transport.Held{}); err != nil {
					t.Error(err)
				}
			})
			time.AfterFunc(1200*ms, func() { close(stop) })
			p.say("a", stop, 5*time.Second)
			p.cancel("a")
			cleared = time.Now()
			n := len(f.sent)
			p.say("b", nil, time.Second)
			if at := f.sent[n]; at.Before(cleared) || at.Sub(cleared) > ms {
				t.Errorf("the next answer began %v after it", at.Sub(cleared))
			}
			return c.(transport.Telephone).HangUp(ctx)
		})
		_ = s.Converse(t.Context(), pausing{clearing{marking{f}}}, opened(mulaw, 300*ms, false))
		if want := []string{"pause", "clear", "resume"}; !slices.Equal(f.log, want) {
			t.Errorf("the far side was told %v", f.log)
		}
	})
}

// What is on its way of an answer that was cut off is not sent, and changes nothing of what was heard.
func TestLateSound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		var got []transport.Inbound
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) (err error) {
			p := &speaker{T: t, call: c, ctx: ctx, settings: set}
			p.pacer.Lead = set.Lead
			go func() {
				stop := make(chan struct{})
				time.AfterFunc(2*time.Second, func() { close(stop) })
				p.say("a", stop, 5*time.Second)
				for _, out := range []transport.Outbound{
					transport.SpeechStarted{}, transport.Voice{Response: transport.Response{ID: "a", Item: "item_a"}, PCM: tone(FrameLength, 8000)},
				} {
					if err := c.Send(ctx, out); err != nil {
						t.Error(err)
					}
				}
				p.cancel("a")
				time.Sleep(time.Second)
				_ = c.(transport.Telephone).HangUp(ctx)
			}()
			got, err = listen(ctx, c)
			return err
		})
		_ = s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, 300*ms, false))
		if want := []transport.Inbound{transport.Truncate{Item: "item_a", Heard: 2 * time.Second}}; !slices.Equal(got, want) || f.heard(time.Time{}) != 2*time.Second {
			t.Errorf("%+v, want %+v; %v were heard", got, want, f.heard(time.Time{}))
		}
	})
}
