package phone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"riposte/audio"
	"riposte/audio/dtmf"
	"riposte/budget"
	"riposte/transport"
)

// listen receives until the call ends, and returns what came.
func listen(ctx context.Context, c transport.Call) (all []transport.Inbound, err error) {
	for {
		in, err := c.Receive(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, in)
	}
}

// listening returns a server whose calls only listen.
func listening(all *[]transport.Inbound) *Server {
	return held(func(ctx context.Context, c transport.Call, _ transport.Settings) (err error) {
		*all, err = listen(ctx, c)
		return err
	})
}

// Pieces that come twice or too late are left out, and gaps that the far side's clock shows are silent.
func TestPieces(t *testing.T) {
	type came struct {
		sequence uint64
		at       int // In ms; -1 where the wire does not say.
	}
	for _, tt := range []struct {
		name   string
		came   []came
		sound  time.Duration
		counts Counts
	}{
		{"in order", []came{{1, 0}, {2, 20}, {3, 40}}, 60 * ms, Counts{Received: 3}},
		{"twice", []came{{1, 0}, {2, 20}, {2, 20}, {3, 40}}, 60 * ms, Counts{Received: 4, Twice: 1}},
		{"out of order", []came{{1, 0}, {3, 40}, {2, 20}, {4, 60}}, 80 * ms, Counts{Received: 4, Twice: 1, Missing: 1}},
		{"one is missing", []came{{1, 0}, {2, 20}, {4, 60}}, 80 * ms, Counts{Received: 3, Missing: 1}},
		{"all is missing for long", []came{{1, 0}, {2, 60_000}, {3, 60_020}}, 60*ms + 2*time.Second, Counts{Received: 3, Missing: 1}},
		{"the clock begins anew", []came{{1, 60_000}, {2, 0}, {3, 20}}, 60 * ms, Counts{Received: 3}},
		{"a clock without numbers", []came{{0, 0}, {0, 20}, {0, 20}, {0, 60}}, 80 * ms, Counts{Received: 4, Twice: 1, Missing: 1}},
		{"neither", []came{{0, -1}, {0, -1}}, 40 * ms, Counts{Received: 2}},
		{"a clock that rounds", []came{{1, 0}, {2, 23}, {3, 39}, {4, 61}}, 80 * ms, Counts{Received: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(mulaw)
				var got []transport.Inbound
				s := listening(&got)
				go func() {
					for _, c := range tt.came {
						f.events <- Media{
							Coded: mulaw.silence(160), Arrived: time.Now(), Sequence: c.sequence, At: time.Duration(c.at) * ms, Timed: c.at >= 0,
						}
					}
					time.Sleep(time.Second)
					f.events <- ended{why: transport.ErrHungUp}
				}()
				if err := s.Converse(t.Context(), f, opened(mulaw, 0, false)); err != transport.ErrHungUp || f.why != transport.ErrHungUp {
					t.Errorf("it ended with %v, and the line was told %v", err, f.why)
				}
				var sound time.Duration
				for _, in := range got {
					sound += in.(transport.Sound).PCM.Duration(8000)
				}
				if sound != tt.sound || s.Counts() != tt.counts {
					t.Errorf("%v of sound, want %v; %+v, want %+v", sound, tt.sound, s.Counts(), tt.counts)
				}
			})
		})
	}
}

// A far side's clock that runs away makes no more silence than time goes by: it would fill disks, and keep recognisers at work.
func TestRunawayClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		var got []transport.Inbound
		s := listening(&got)
		go func() {
			for i := range 1000 {
				f.events <- Media{Coded: mulaw.silence(8), Arrived: time.Now(), Sequence: uint64(i + 1), At: time.Duration(i) * 10 * time.Second, Timed: true}
				time.Sleep(2 * ms)
			}
			f.events <- ended{why: transport.ErrHungUp}
		}()
		if err := s.Converse(t.Context(), f, opened(mulaw, 0, false)); err != transport.ErrHungUp {
			t.Error(err)
		}
		var sound time.Duration
		for _, in := range got {
			sound += in.(transport.Sound).PCM.Duration(8000)
		}
		if most := 2*time.Second + 2*time.Second + 1000*ms; sound > most {
			t.Errorf("1 s of sound in 2 s came to %v", sound)
		}
	})
}

// A far side whose numbers begin anew, or one of which was wrong, is heard again before long.
func TestNumbersAnew(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			f := newFar(mulaw)
			var got []transport.Inbound
			s := listening(&got)
			go func() {
				for i := range 500 {
					n := uint64(i + 1)
					if i == 10 {
						n = 1 << 62
					}
					f.events <- Media{Coded: mulaw.silence(160), Arrived: time.Now(), Sequence: n}
					time.Sleep(FrameLength)
				}
				f.events <- ended{why: transport.ErrHungUp}
			}()
			o := opened(mulaw, 0, false)
			o.Unordered = unordered
			if err := s.Converse(t.Context(), f, o); err != transport.ErrHungUp {
				t.Error(err)
			}
			want := 500 - mostLate
			if unordered {
				want = 499 // the wrong one waits for those before it
			}
			if len(got) != want {
				t.Errorf("%d of 500 pieces were heard, want %d, unordered: %v", len(got), want, unordered)
			}
		})
	}
}

// A far side that wants no more sound, and never wants any again, ends the call, as one does that does not read; one that is held up does not.
func TestUnwanted(t *testing.T) {
	for _, tt := range []struct {
		name string
		far  func(f *far)
		want error
	}{
		{"for ever", func(f *far) { f.events <- Flow{Stop: true} }, transport.ErrSlowReader},
		{"said again and again", func(f *far) {
			for range 7 {
				f.tells(Flow{Stop: true})
				time.Sleep(time.Second)
			}
		}, transport.ErrSlowReader},
		{"for a while", func(f *far) { f.events <- Flow{Stop: true}; time.Sleep(4 * time.Second); f.events <- Flow{} }, transport.ErrHungUp},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(mulaw)
				s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
					s := &speaker{T: t, call: c, settings: set, ctx: context.WithoutCancel(ctx)}
					time.Sleep(ms)
					s.say("a", ctx.Done(), 200*ms)
					<-ctx.Done()
					return context.Cause(ctx)
				})
				over := make(chan struct{})
				go tt.far(f)
				go func() {
					for i := range 8 {
						time.Sleep(time.Second)
						select {
						case f.events <- Nothing{}:
						case <-over:
							return
						}
						if i == 7 {
							f.events <- ended{why: transport.ErrHungUp}
						}
					}
				}()
				err := s.Converse(t.Context(), f, opened(mulaw, 0, false))
				close(over)
				if err != tt.want {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}

// What a far side sends may be as long as it likes; what is said of it is not.
func TestMisuse(t *testing.T) {
	if m := (&Misuse{strings.Repeat("é", 50_000)}).Error(); len(m) > mostMisuse+3 || !utf8.ValidString(m) {
		t.Errorf("%d bytes", len(m))
	}
}

// Far sides are held to what a call may take, and calls end for the right reasons.
func TestLimits(t *testing.T) {
	piece := func(n int) Media { return Media{Coded: make([]byte, n), Arrived: time.Now()} }
	for _, tt := range []struct {
		name    string
		out     Format
		far     func(f *far)
		want    error
		says    string
		lasting time.Duration
	}{
		{"silent from the beginning", mulaw, func(*far) {}, transport.ErrIdle, "", 10 * time.Second},
		{"silent later", mulaw, func(f *far) { time.Sleep(8 * time.Second); f.events <- piece(160) }, transport.ErrIdle, "", 18 * time.Second},
		{"for too long", mulaw, func(f *far) {
			for {
				f.events <- Nothing{}
				select {
				case <-time.After(5 * time.Second):
				case <-f.over:
					return
				}
			}
		}, transport.ErrExpired, "", 4 * time.Hour},
		{"half a sample", Format{Linear, 8000}, func(f *far) { f.events <- piece(321) }, nil, "321 bytes", 0},
		{"faster than it was spoken", mulaw, func(f *far) {
			for range 200 {
				select {
				case f.events <- piece(8000):
				case <-f.over:
					return
				}
			}
		}, nil, "faster than it was spoken", 0},
		{"hung up", mulaw, func(f *far) { f.events <- ended{why: transport.ErrHungUp} }, transport.ErrHungUp, "", 0},
		{"against the rules", mulaw, func(f *far) { f.events <- ended{why: &Misuse{"No."}} }, nil, "No.", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(tt.out)
				var got []transport.Inbound
				s := listening(&got)
				go tt.far(f)
				began := time.Now()
				err := s.Converse(t.Context(), f, opened(tt.out, 0, false))
				m, misused := errors.AsType[*Misuse](err)
				switch {
				case tt.says != "" && (!misused || !strings.Contains(m.Message, tt.says)), tt.says == "" && !errors.Is(err, tt.want):
					t.Errorf("it ended with %v", err)
				case f.why != err:
					t.Errorf("the line was told %v", f.why)
				}
				if lasted := time.Since(began); lasted != tt.lasting {
					t.Errorf("it lasted %v", lasted)
				}
			})
		})
	}
}

// A line that cannot be written to ends the call with its reason.
func TestSlowLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
			r := transport.Response{ID: "a", Item: "i"}
			for ctx.Err() == nil {
				_ = c.Send(ctx, transport.Voice{Response: r, PCM: tone(FrameLength, 8000)})
			}
			return context.Cause(ctx)
		})
		if err := s.Converse(t.Context(), stuck{newFar(mulaw)}, opened(mulaw, 0, false)); err != transport.ErrSlowReader {
			t.Error(err)
		}
	})
}

type stuck struct{ *far }

func (stuck) Play([]byte) error { time.Sleep(5 * time.Second); return transport.ErrSlowReader }

// Many connections that do not say what they bring take no more than the places for such, and keep nobody out: those that have waited the longest go.
func TestWait(t *testing.T) {
	var s Server
	var waits []context.Context
	var done []func()
	for range 500 {
		ctx, d := s.Wait(t.Context())
		waits, done = append(waits, ctx), append(done, d)
	}
	left := func() (n int) {
		for i, ctx := range waits {
			if ctx.Err() == nil {
				n++
			} else if i < 468 && context.Cause(ctx) != ErrCrowded {
				t.Errorf("%d ended with %v", i, context.Cause(ctx))
			}
		}
		return n
	}
	if left() != 32 || waits[499].Err() != nil {
		t.Errorf("%d wait", left())
	}
	done[499]()
	done[499]()
	s.Wait(t.Context())
	if left() != 31 {
		t.Errorf("where there was a place %d were left", left())
	}
	if s.Wait(t.Context()); left() != 30 || waits[468].Err() == nil {
		t.Errorf("a place was given back twice, or another than the longest went: %d are left", left())
	}
}

// A place is taken for a call before it comes, found by it, and given back where it does not come.
func TestAnnounce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var places atomic.Int64
		places.Store(2)
		full := errors.New("all places are taken")
		var got []transport.Inbound
		s := listening(&got)
		s.Admit = func() (func(), error) {
			if places.Load() == 0 {
				return nil, full
			}
			places.Add(-1)
			return func() { places.Add(1) }, nil
		}
		call := func(id string) error {
			o := opened(mulaw, 0, false)
			o.ID = id
			f := newFar(mulaw)
			f.events <- ended{why: transport.ErrHungUp}
			err := s.Converse(t.Context(), f, o)
			f.Close(nil)
			return err
		}
		for _, id := range []string{"1", "2"} {
			if err := s.Announce("test", id); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Announce("test", "3"); !errors.Is(err, full) {
			t.Errorf("a third one: %v", err)
		}
		if err := call("3"); !errors.Is(err, full) {
			t.Errorf("a third one came: %v", err)
		}
		if err := call("1"); err != transport.ErrHungUp || places.Load() != 1 {
			t.Errorf("the first one: %v, and then %d places", err, places.Load())
		}
		for range 3 {
			if err := s.Announce("test", "3"); err != nil || places.Load() != 0 {
				t.Errorf("the third one in its place: %v, and then %d places", err, places.Load())
			}
		}
		s.Withdraw("test", "3")
		if err := s.Announce("test", "2"); err != nil || places.Load() != 1 {
			t.Errorf("the second one again: %v, and then %d places", err, places.Load())
		}
		time.Sleep(PlaceKept)
		synctest.Wait()
		if places.Load() != 2 {
			t.Errorf("%d places after nobody came", places.Load())
		}
		if err := s.Announce("test", "4"); err != nil || places.Load() != 1 {
			t.Error(err)
		}
		s.Withdraw("test", "4")
		s.Withdraw("test", "4")
		if places.Load() != 2 {
			t.Errorf("%d places after one was withdrawn", places.Load())
		}
		for _, id := range []string{"6", "7"} {
			if err := s.Announce("test", id); err != nil {
				t.Error(err)
			}
		}
		s.Drain()
		if places.Load() != 2 {
			t.Errorf("%d places after the service went down", places.Load())
		}
		s.Choose = func(Opening) (transport.Settings, error) { return transport.Settings{}, errors.New("no such route") }
		if err := call("5"); err == nil || places.Load() != 2 {
			t.Errorf("no such route: %v, %d places", err, places.Load())
		}
	})
}

// Keys come by messages or as sound, and are sent so.
func TestKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		var got []transport.Inbound
		s := listening(&got)
		s.Tones = true
		sound, err := dtmf.Keypad{}.Sound("12#")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			f.events <- Key{'*'}
			for frame := range slices.Chunk(append(sound, make(audio.PCM, 800)...), 160) {
				f.events <- Media{Coded: mulaw.Append(nil, frame), Arrived: time.Now()}
				time.Sleep(FrameLength)
			}
			f.events <- ended{why: transport.ErrHungUp}
		}()
		o := opened(mulaw, 0, false)
		o.Toned = true
		_ = s.Converse(t.Context(), f, o)
		var keys string
		for _, in := range got {
			if k, ok := in.(transport.Key); ok {
				keys += string(k.Digit)
			}
		}
		if keys != "*12#" {
			t.Errorf("the keys are %q", keys)
		}
	})
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
			if err := c.(transport.Telephone).Press(ctx, "1x"); !errors.Is(err, dtmf.ErrDigit) {
				t.Error(err)
			}
			if err := c.(transport.Telephone).Press(ctx, "90w4"); err != nil {
				t.Error(err)
			}
			return c.(transport.Telephone).HangUp(ctx)
		})
		_ = s.Converse(t.Context(), f, opened(mulaw, 0, false))
		d := dtmf.Detector{}
		var keys string
		for _, p := range f.played {
			for _, k := range d.Take(mulaw.Decode(p.coded)) {
				keys += string(k.Rune)
			}
		}
		if keys != "904" {
			t.Errorf("the keys are %q", keys)
		}
	})
}

// From the mark at an answer's first audible sound it is known when that was heard.
func TestMouthToEar(t *testing.T) {
	for _, buffers := range []time.Duration{0, 90 * ms} {
		bubble(t, func(t *testing.T) {
			f := newFar(mulaw)
			f.there, f.back, f.buffers = 70*ms, 40*ms, buffers
			var got []transport.Inbound
			s := held(func(ctx context.Context, c transport.Call, set transport.Settings) (err error) {
				p := &speaker{T: t, call: c, ctx: ctx, settings: set}
				p.pacer.Lead = set.Lead
				go func() {
					p.say("a", nil, 900*ms, 300*ms)
					_ = c.Send(ctx, transport.TurnReport{Response: "a", Report: budget.Report{Verdict: budget.Met, Marks: map[budget.Mark]time.Duration{budget.FirstAudible: 500 * ms}}})
					_ = c.Send(ctx, transport.TurnReport{Response: "b", Report: budget.Report{Verdict: budget.Met, Marks: map[budget.Mark]time.Duration{budget.FirstAudible: 500 * ms}}})
				}()
				got, err = listen(ctx, c)
				return err
			})
			time.AfterFunc(5*time.Second, func() { f.events <- ended{why: transport.ErrHungUp} })
			_ = s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, 300*ms, false))
			want := transport.Heard{Response: "a", MouthToEar: 500*ms + 110*ms + buffers, Detail: fmt.Sprintf("round trip 110 ms, buffered for %d ms", buffers.Milliseconds())}
			if len(got) != 1 || got[0] != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// What can be had of a line is a transport.Telephone, and marks of others change nothing.
func TestTelephone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
			phone := c.(transport.Telephone)
			if p := phone.Parties(); p != (transport.Parties{From: "+491", To: "+492", Line: "1"}) {
				t.Errorf("%+v", p)
			}
			if err := phone.Transfer(ctx, "+493", ""); err != transport.ErrCannot {
				t.Error(err)
			}
			f.events <- Marked{"riposte"}
			p := &speaker{T: t, call: c, ctx: ctx, settings: set}
			p.pacer.Lead = set.Lead
			p.say("a", nil, time.Second)
			began := time.Now()
			if err := phone.HangUp(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < 300*ms || took > 400*ms {
				t.Errorf("it hung up after %v", took)
			}
			return nil
		})
		if err := s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, 300*ms, false)); err != transport.ErrEnded {
			t.Error(err)
		}
		if n := s.Counts().Unknown; n != 1 {
			t.Errorf("%d marks were not known", n)
		}
	})
}

// leads is a far that leads callers elsewhere: its line is gone before it has said so.
type leads struct{ *far }

func (l leads) Transfer(context.Context, string, string) error {
	l.events <- ended{why: transport.ErrHungUp}
	time.Sleep(100 * ms)
	return nil
}

// A caller who was led elsewhere has not hung up, though the line says so first.
func TestTransferred(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := held(func(ctx context.Context, c transport.Call, _ transport.Settings) error {
			return c.(transport.Telephone).Transfer(ctx, "+493", "")
		})
		if err := s.Converse(t.Context(), leads{newFar(mulaw)}, opened(mulaw, 0, false)); err != transport.ErrTransferred {
			t.Error(err)
		}
	})
}

// A line that is gone while its caller is to be led elsewhere was led there if that is said soon; otherwise the caller has hung up.
func TestGoneWhileLed(t *testing.T) {
	failed := errors.New("it says 404")
	for _, tt := range []struct {
		name  string
		after time.Duration // From when the line is gone.
		says  error
		want  error
	}{
		{"led", 300 * ms, nil, transport.ErrTransferred},
		{"not led", 300 * ms, failed, transport.ErrHungUp},
		{"nobody answers", time.Minute, nil, transport.ErrHungUp},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFar(mulaw)
				s := held(func(ctx context.Context, c transport.Call, _ transport.Settings) error {
					go func() { _, _ = listen(ctx, c) }()
					_ = c.(transport.Telephone).Transfer(ctx, "+493", "")
					<-ctx.Done()
					return context.Cause(ctx)
				})
				go func() { time.Sleep(100 * ms); f.events <- ended{why: transport.ErrHungUp} }()
				began := time.Now()
				if err := s.Converse(t.Context(), slowly{f, 100*ms + tt.after, tt.says}, opened(mulaw, 0, false)); err != tt.want {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// slowly is a far side that says after a while whether it leads the caller elsewhere.
type slowly struct {
	*far
	after time.Duration
	says  error
}

func (f slowly) Transfer(ctx context.Context, to, note string) error {
	select {
	case <-time.After(f.after):
		return f.says
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A line that needs sound all the time gets soft noise where nothing is said, and no answer gets any.
func TestNoise(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFar(mulaw)
		s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
			p := &speaker{T: t, call: c, ctx: ctx, settings: set}
			p.pacer.Lead = set.Lead
			time.Sleep(time.Second)
			p.say("a", nil, time.Second)
			return c.(transport.Telephone).HangUp(ctx)
		})
		s.Noise = -60
		_ = s.Converse(t.Context(), f, opened(mulaw, 0, true))
		var noise, sound audio.PCM
		for _, p := range f.played {
			if pcm := mulaw.Decode(p.coded); pcm.Level() < -40 {
				noise = append(noise, pcm...)
			} else {
				sound = append(sound, pcm...)
			}
		}
		if d := noise.Duration(8000); d < time.Second || d > 1100*ms || noise.Level() < -63 || noise.Level() > -57 || len(sound) != 8000 {
			t.Errorf("%v of noise at %.1f dBFS, %d samples of sound", d, noise.Level(), len(sound))
		}
	})
}
