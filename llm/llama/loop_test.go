package llama

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
)

func TestLoopAnswers(t *testing.T) {
	l, m := startLoop(t, 2)
	long := strings.Repeat("a long prompt ", 20)
	for _, text := range []string{"x", "hello", long} {
		r := hear(t, l, newSequence(t.Context(), "", text, 50, 8), nil)
		want := wantAnswer(text, 50)
		if r.err != nil || r.text != want {
			t.Errorf("%q: %q, %v, want %q", text, r.text, r.err, want)
		}
		if r.usage.Prompt != len(text) || r.usage.Output != len(want) {
			t.Errorf("%q: %+v", text, r.usage)
		}
	}
	for _, s := range m.made() {
		var seq, n int
		if _, err := fmt.Sscanf(s, "%d×%d", &seq, &n); err != nil || n > 64 {
			t.Errorf("step %q is larger than the batch", s)
		}
	}
}

func TestLoopEndsAnswers(t *testing.T) {
	text := "tell me"
	full := wantAnswer(text, 4000)
	for len(full) < 6 { // The rule decides how long an answer is; find one that can be cut.
		text += "!"
		full = wantAnswer(text, 4000)
	}
	for name, test := range map[string]struct {
		most   int
		stops  []string
		room   int
		want   string
		finish llm.Finish
	}{
		"by itself":        {most: 4000, want: full, finish: llm.FinishStop},
		"after so many":    {most: 3, want: full[:3], finish: llm.FinishLength},
		"before a stop":    {most: 4000, stops: []string{full[2:5]}, want: full[:strings.Index(full, full[2:5])], finish: llm.FinishStop},
		"at the context":   {most: 4000, room: len(text) + 2, want: full[:2], finish: llm.FinishLength},
		"a stop held back": {most: 3, stops: []string{full[1:5] + "#"}, want: full[:3], finish: llm.FinishLength},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := startLoop(t, 1, func(l *loop, _ *fakeMachine) {
				if test.room > 0 {
					l.context = test.room
				}
			})
			s := newSequence(t.Context(), "", text, test.most, 8)
			s.text = newAnswerText(test.stops)
			r := hear(t, l, s, nil)
			if r.err != nil || r.text != test.want || r.usage.Finish != test.finish {
				t.Errorf("%q, %+v, %v, want %q, %v", r.text, r.usage, r.err, test.want, test.finish)
			}
		})
	}
}

func TestLoopAnswersManyAtOnce(t *testing.T) {
	for _, rigid := range []bool{false, true} {
		l, _ := startLoop(t, 3, func(l *loop, m *fakeMachine) { m.rigid, l.room = rigid, 100 })
		var wg sync.WaitGroup
		for caller := range 12 {
			wg.Go(func() {
				text := "You are a helpful voice. "
				for turn := range 4 {
					text += fmt.Sprintf("[%d asks %d]", caller, turn)
					r := hear(t, l, newSequence(t.Context(), fmt.Sprint(caller), text, 30, 1+caller), nil)
					if want := wantAnswer(text, 30); r.err != nil || r.text != want {
						t.Errorf("caller %d, turn %d: %q, %v, want %q", caller, turn, r.text, r.err, want)
					}
					text += r.text
				}
			})
		}
		wg.Wait()
	}
}

func TestLoopKeepsConversations(t *testing.T) {
	l, _ := startLoop(t, 2)
	text := "system: be brief. user: hi. "
	first := hear(t, l, newSequence(t.Context(), "a", text, 20, 8), nil)
	if first.usage.Cached != 0 {
		t.Errorf("the first turn has %d tokens cached", first.usage.Cached)
	}
	second := text + first.text + " user: more. "
	r := hear(t, l, newSequence(t.Context(), "a", second, 20, 8), nil)
	// The last token of an answer is said without being decoded, unless the answer ended by itself.
	if least := len(text) + len(first.text) - 1; r.usage.Cached < least {
		t.Errorf("the second turn has %d tokens cached, want at least %d", r.usage.Cached, least)
	}
	if want := wantAnswer(second, 20); r.text != want {
		t.Errorf("the second turn says %q, want %q", r.text, want)
	}
	other := hear(t, l, newSequence(t.Context(), "b", "system: be brief. user: hey. ", 20, 8), nil)
	if want := len("system: be brief. user: h"); other.usage.Cached != want {
		t.Errorf("another conversation has %d tokens cached, want the %d that are the same", other.usage.Cached, want)
	}
}

func TestLoopIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 4, func(_ *loop, m *fakeMachine) { m.cost = time.Millisecond })
		talking := longText(t, 200)
		var began time.Time
		n := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			hear(t, l, newSequence(t.Context(), "talks", talking, 200, 8), func(string) bool {
				if n == 0 {
					began = time.Now()
				}
				if late := time.Since(began) - time.Duration(n)*pace; n >= opening && late > 0 {
					t.Errorf("token %d comes %v after the voice wants it", n, late)
				}
				n++
				return true
			})
		})
		time.Sleep(50 * time.Millisecond)
		wg.Go(func() { hear(t, l, newSequence(t.Context(), "long", strings.Repeat("z", 2000), 1, 8), nil) })
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		short := hear(t, l, newSequence(t.Context(), "short", "quick question", 1, 8), func(string) bool { return true })
		if short.err != nil {
			t.Error(short.err)
		}
		// One step may be under way, and then its 14 tokens are less than its half of the next.
		if d := time.Since(start); d > 2*65*time.Millisecond {
			t.Errorf("a short prompt took %v beside a long one", d)
		}
		// Who has heard nothing, or only the beginning of the first clause, is not held up for long by any of this.
		var last time.Time
		k := 0
		fresh := hear(t, l, newSequence(t.Context(), "fresh", longText(t, 20), 20, 30), func(string) bool {
			// A step is at most the chunk of 16 for prompts and one token for each who talks.
			if gap := time.Since(last); k > 0 && k < opening && gap > 19*time.Millisecond {
				t.Errorf("a long prompt made somebody in a first clause pause for %v", gap)
			}
			last = time.Now()
			k++
			return true
		})
		if fresh.err != nil || k != 20+1 { // the last is the end
			t.Errorf("%d pieces, %v", k, fresh.err)
		}
		wg.Wait()
		if n != 200+1 {
			t.Errorf("who talks said %d tokens", n)
		}
	})
}

func TestLoopSlowReaderStopsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := startLoop(t, 2, func(_ *loop, m *fakeMachine) { m.cost = time.Millisecond })
		slow, quick := longText(t, 100), longText(t, 101)
		var wg sync.WaitGroup
		wg.Go(func() {
			first := true
			r := hear(t, l, newSequence(t.Context(), "slow", slow, 60, 4), func(string) bool {
				if first {
					first = false
					time.Sleep(time.Hour)
				}
				return true
			})
			if want := wantAnswer(slow, 60); r.text != want || r.err != nil {
				t.Errorf("the slow one hears %q, %v, want %q", r.text, r.err, want)
			}
		})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := *l.load.Load(); n != (Load{Running: 1, Paused: 1}) {
			t.Errorf("load = %+v", n)
		}
		steps := len(m.made())
		time.Sleep(10 * time.Minute)
		if len(m.made()) != steps {
			t.Errorf("%d steps were made for a reader that does not read", len(m.made())-steps)
		}
		began := time.Now()
		r := hear(t, l, newSequence(t.Context(), "quick", quick, 60, 4), nil)
		if want := wantAnswer(quick, 60); r.text != want || r.err != nil {
			t.Errorf("the quick one hears %q, %v, want %q", r.text, r.err, want)
		}
		if d := time.Since(began); d > time.Duration(len(quick)+61)*time.Millisecond {
			t.Errorf("the quick one took %v", d)
		}
		wg.Wait()
	})
}

func TestLoopTakesSlotsFromPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 1, func(_ *loop, m *fakeMachine) { m.cost = time.Millisecond })
		slow, other := longText(t, 100), longText(t, 101)
		var wg sync.WaitGroup
		wg.Go(func() {
			n := 0
			r := hear(t, l, newSequence(t.Context(), "slow", slow, 60, 4), func(string) bool {
				if n++; n == 1 {
					time.Sleep(time.Minute)
				}
				return true
			})
			if want := wantAnswer(slow, 60); r.text != want || r.err != nil || r.usage.Output != len(want) || r.usage.Prompt != len(slow) {
				t.Errorf("who paused hears %q, %+v, %v, want %q", r.text, r.usage, r.err, want)
			}
		})
		time.Sleep(30 * time.Second)
		r := hear(t, l, newSequence(t.Context(), "other", other, 20, 4), nil)
		if want := wantAnswer(other, 20); r.text != want || r.err != nil {
			t.Errorf("the other hears %q, %v, want %q", r.text, r.err, want)
		}
		wg.Wait()
	})
}

func TestLoopStopsWithinOneToken(t *testing.T) {
	slow := func(_ *loop, m *fakeMachine) { m.cost = 10 * time.Millisecond }
	t.Run("by leaving the loop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, m := startLoop(t, 1, slow)
			n := 0
			r := hear(t, l, newSequence(t.Context(), "", longText(t, 100), 100, 1), func(string) bool { n++; return n < 3 })
			if r.err != nil || len(r.text) != 3 {
				t.Errorf("heard %q, %v", r.text, r.err)
			}
			steps := len(m.made())
			time.Sleep(time.Second)
			if extra := len(m.made()) - steps; extra > 1 {
				t.Errorf("%d steps after the reader left", extra)
			}
		})
	})
	t.Run("by the context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, m := startLoop(t, 1, slow)
			reason := errors.New("barge-in")
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 0
			r := hear(t, l, newSequence(ctx, "", longText(t, 100), 100, 1), func(string) bool {
				if n++; n == 3 {
					cancel(reason)
				}
				return true
			})
			if r.err != reason {
				t.Errorf("err = %v", r.err)
			}
			steps := len(m.made())
			time.Sleep(time.Second)
			if extra := len(m.made()) - steps; extra > 1 {
				t.Errorf("%d steps after the context ended", extra)
			}
		})
	})
	t.Run("in a long prompt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, _ := startLoop(t, 1, slow)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			r := hear(t, l, newSequence(ctx, "", strings.Repeat("q", 1000), 10, 1), nil) // Would take 10 s.
			if r.err != context.DeadlineExceeded || time.Since(began) != 2*time.Second {
				t.Errorf("err = %v after %v", r.err, time.Since(began))
			}
			began = time.Now()
			if r := hear(t, l, newSequence(t.Context(), "", "abc", 1, 1), nil); r.text != wantAnswer("abc", 1) || r.err != nil {
				t.Errorf("the next caller hears %q, %v", r.text, r.err)
			}
			// The step that was under way stops after the entry that it is at.
			if d := time.Since(began); d > 50*time.Millisecond {
				t.Errorf("the next caller waited %v", d)
			}
		})
	})
	t.Run("while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, _ := startLoop(t, 1, slow)
			text := longText(t, 100)
			var wg sync.WaitGroup
			wg.Go(func() { hear(t, l, newSequence(t.Context(), "", text, 100, 100), nil) })
			time.Sleep(100 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			if r := hear(t, l, newSequence(ctx, "", "never", 10, 1), nil); r.err != context.DeadlineExceeded || time.Since(began) != 100*time.Millisecond {
				t.Errorf("err = %v after %v", r.err, time.Since(began))
			}
			wg.Wait()
		})
	})
}

func TestLoopRefusesTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 1, func(l *loop, m *fakeMachine) { m.cost, l.room = time.Millisecond, 2 })
		text := longText(t, 100)
		var wg sync.WaitGroup
		var mu sync.Mutex
		busy := 0
		for i := range 5 {
			wg.Go(func() {
				r := hear(t, l, newSequence(t.Context(), fmt.Sprint(i), text, 50, 100), nil)
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(r.err, llm.ErrBusy) {
					busy++
				} else if want := wantAnswer(text, 50); r.text != want || r.err != nil {
					t.Errorf("%q, %v, want %q", r.text, r.err, want)
				}
			})
			time.Sleep(5 * time.Millisecond)
		}
		wg.Wait()
		if busy != 2 {
			t.Errorf("%d were refused, want 2: one is answered and two wait", busy)
		}
	})
}

func TestLoopFailures(t *testing.T) {
	l, m := startLoop(t, 2)
	hear(t, l, newSequence(t.Context(), "a", "some history", 10, 8), nil)
	m.fail = errFake // The loop sleeps, so this is no race; the send of the next request orders it.
	r := hear(t, l, newSequence(t.Context(), "a", "some history and more", 10, 8), nil)
	if !errors.Is(r.err, errFake) {
		t.Errorf("err = %v", r.err)
	}
	r = hear(t, l, newSequence(t.Context(), "a", "some history and more", 10, 8), nil)
	if want := wantAnswer("some history and more", 10); r.err != nil || r.text != want {
		t.Errorf("after the failure: %q, %v, want %q", r.text, r.err, want)
	}
}

func TestLoopCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMachine{t: t, memory: make([][]token, 1), cost: time.Millisecond}
		l := newLoop(m, fakeWords{}, newCache(1, 4096, 1))
		l.context, l.batch, l.chunk, l.room = 4096, 64, 16, 4
		ctx, cancel := context.WithCancel(t.Context())
		go l.run(ctx)
		text := longText(t, 100)
		var wg sync.WaitGroup
		for i := range 3 { // One is answered and does not read, the others wait.
			wg.Go(func() {
				r := hear(t, l, newSequence(t.Context(), fmt.Sprint(i), text, 100, 2), func(string) bool {
					time.Sleep(time.Second)
					return true
				})
				if r.err != ErrClosed {
					t.Errorf("err = %v", r.err)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
		<-l.done
		wg.Wait()
		if r := hear(t, l, newSequence(t.Context(), "late", text, 100, 2), nil); r.err != ErrClosed {
			t.Errorf("afterwards: err = %v", r.err)
		}
		if m.open != 0 {
			t.Errorf("%d pickers were not closed", m.open)
		}
	})
}

// longText finds a text whose answer has at least so many tokens.
func longText(t *testing.T, least int) string {
	t.Helper()
	for i := range 1_000_000 {
		if text := fmt.Sprintf("text %d ", i); len(wantAnswer(text, least)) == least {
			return text
		}
	}
	t.Fatalf("no text has an answer of %d tokens", least)
	return ""
}
