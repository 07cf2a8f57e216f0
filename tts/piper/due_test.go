package piper

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/native/onnx/onnxtest"
	"riposte/tts"
)

func TestSoundIsDueWhenTheLastHasBeenPlayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		soon := now.Add(150 * time.Millisecond)
		for _, tt := range []struct {
			name  string
			first budget.Urgency
			after time.Time // By when the second part is due.
		}{
			{"a deadline", budget.Urgency{Deadline: soon}, soon.Add(time.Second)},
			{"no deadline", budget.Urgency{}, now.Add(time.Second)},
			{"speculation", budget.Urgency{Class: budget.Speculative}, time.Time{}},
			{"speculation with a deadline", budget.Urgency{Class: budget.Speculative, Deadline: soon}, soon.Add(time.Second)},
		} {
			d := &due{first: tt.first, rate: 8000}
			d.add(0) // nothing to be heard yet
			if got := d.urgency(); got != tt.first {
				t.Errorf("%s: the first sound is %v, want %v", tt.name, got, tt.first)
			}
			d.add(8000)
			want := budget.Urgency{Class: tt.first.Class, Deadline: tt.after}
			if got := d.urgency(); got != want {
				t.Errorf("%s: the second part is %v, want %v", tt.name, got, want)
			}
		}
		if u := (*due)(nil).urgency(); u != (budget.Urgency{}) {
			t.Errorf("nobody's sound is %v", u)
		}
	})
}

// openTiny opens the tiny voice.
func openTiny(t testing.TB, x *budget.Executor, cacheBytes int) *Engine {
	t.Helper()
	e := &Engine{
		Model: writeVoice(t, tiny().Bytes(), tinyJSON()), Runtime: onnxtest.Runtime(t), Log: quiet(), Executor: x, CacheBytes: cacheBytes, NoiseScale: -1, NoiseWidth: -1,
	}
	openEngine(t, e)
	return e
}

func TestSpeakingTakesItsTurn(t *testing.T) {
	x := &budget.Executor{Cores: 1}
	e := openTiny(t, x, -1)
	speak := func(u budget.Urgency) (samples int, err error) {
		for pcm, err := range e.Speak(t.Context(), "Good morning.", tts.Options{Urgency: u}) {
			if err != nil {
				return samples, err
			}
			samples += len(pcm)
		}
		return samples, nil
	}
	before := x.Load().Counts[budget.Awaited].Done
	if before == 0 {
		t.Error("opening a voice did not go through the executor")
	}
	if n, err := speak(budget.Urgency{}); n == 0 || err != nil {
		t.Errorf("%d samples, %v", n, err)
	}
	if done := x.Load().Counts[budget.Awaited].Done - before; done < 2 {
		t.Errorf("%d parts ran in the executor, want one for each chunk", done)
	}

	// While the core is taken, who has time left gets nothing.
	taken, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = x.Run(context.Background(), budget.Job{Kind: "test"}, func(context.Context, int) error {
			close(taken)
			<-free
			return nil
		})
	})
	<-taken
	if n, err := speak(budget.Urgency{Class: budget.Speculative, Deadline: time.Now().Add(10 * time.Millisecond)}); n > 0 || !errors.Is(err, budget.ErrLate) {
		t.Errorf("%d samples, %v, want %v", n, err, budget.ErrLate)
	}
	close(free)
	wg.Wait()
}

// A caller who waits for the first sound goes before one whose sound is buffered.
func TestBufferedSoundYieldsToSilence(t *testing.T) {
	x := &budget.Executor{Cores: 1}
	e := openTiny(t, x, -1)
	var mu sync.Mutex
	var order []string
	note := func(who string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, who)
	}
	hold, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	// The first has sound for a while when the second, whose silence lasts, comes.
	wg.Go(func() {
		first := true
		for range e.Speak(t.Context(), "Once upon a time there was a very long tale, which went on and on and on. And on.", tts.Options{}) {
			note("buffered")
			if first {
				first = false
				wg.Go(func() {
					_ = x.Run(context.Background(), budget.Job{Kind: "test", Urgency: budget.Urgency{Deadline: time.Now().Add(-time.Hour)}}, func(context.Context, int) error {
						close(held)
						<-hold
						return nil
					})
				})
				<-held // now both wait for the core
			}
		}
	})
	<-held
	wg.Go(func() {
		for range e.Speak(t.Context(), "Yes.", tts.Options{Urgency: budget.Urgency{Deadline: time.Now().Add(-time.Minute)}}) {
			note("silent")
			break
		}
	})
	for x.Load().Waiting[budget.Awaited] < 2 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	wg.Wait()
	if len(order) < 3 || order[0] != "buffered" || order[1] != "silent" {
		t.Errorf("sound came in the order %v", order)
	}
}

func TestSpeculationMakesRoom(t *testing.T) {
	x := &budget.Executor{Cores: 1}
	e := openReal(t, true)
	e.net.executor = x
	began := make(chan struct{}, 1)
	failed := make(chan error, 1)
	go func() {
		for pcm, err := range e.Speak(context.Background(), sentence+" "+sentence, tts.Options{Urgency: budget.Urgency{Class: budget.Speculative}}) {
			if err != nil {
				failed <- err
				return
			}
			if len(pcm) > 0 {
				select {
				case began <- struct{}{}:
				default:
				}
			}
		}
		failed <- nil
	}()
	<-began
	for x.Load().Running[budget.Speculative] == 0 {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if err := x.Run(t.Context(), budget.Job{Kind: "test"}, func(context.Context, int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Logf("the core was free after %v", time.Since(begin).Round(100*time.Microsecond))
	if err := <-failed; !errors.Is(err, budget.ErrPreempted) {
		t.Errorf("speculation ended with %v, want %v", err, budget.ErrPreempted)
	}
	if audio.Duration(1, e.Rate()) == 0 || e.Cache().Clauses != 0 {
		t.Errorf("what was not spoken to its end is kept: %+v", e.Cache())
	}
}
