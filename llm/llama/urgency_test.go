package llama

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/llm"
)

const ms = time.Millisecond

// reads asks for a text to be read, and returns how that ended.
func reads(l *loop, s *sequence, u budget.Urgency) error {
	s.reading, s.closing, s.urgency = true, -1, u
	var err error
	l.answer(s, func(_ llm.Piece, e error) bool {
		err = e
		return true
	})
	return err
}

func within(class budget.Class, d time.Duration) budget.Urgency {
	return budget.Urgency{Class: class, Deadline: time.Now().Add(d)}
}

func TestLoopReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 2, func(l *loop, m *fakeMachine) { m.cost, l.executor = ms, &budget.Executor{Cores: 1} })
		text := "what is the weather like"
		s := newSequence(t.Context(), "a", text, 0, 1)
		s.reading, s.closing = true, next(prompt(text))
		var last llm.Piece
		l.answer(s, func(p llm.Piece, err error) bool {
			if err != nil {
				t.Error(err)
			}
			last = p
			return true
		})
		if last.Usage == nil || last.Usage.Prompt != len(text) || s.over != 1 {
			t.Errorf("%+v, over %v", last.Usage, s.over)
		}
		s = newSequence(t.Context(), "a", text, 0, 1)
		s.reading, s.closing = true, next(prompt(text))+1
		l.answer(s, func(llm.Piece, error) bool { return true })
		if s.usage.Cached != len(text)-1 || s.over < 0.009 || s.over > 0.011 {
			t.Errorf("read again: %+v, over %v", s.usage, s.over)
		}
		// What was read is taken back where the words became others.
		r := hear(t, l, newSequence(t.Context(), "a", "what is the wetter like in Kent", 20, 8), nil)
		if want := wantAnswer("what is the wetter like in Kent", 20); r.text != want || r.usage.Cached != len("what is the we") {
			t.Errorf("%q, %+v, want %q", r.text, r.usage, want)
		}
	})
}

// Something newer of the same conversation makes a reading pointless, but what it has read stays.
func TestLoopGivesUpOvertakenReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 2, func(_ *loop, m *fakeMachine) { m.cost = ms })
		var wg sync.WaitGroup
		text := strings.Repeat("long ", 100)
		wg.Go(func() {
			if err := reads(l, newSequence(t.Context(), "a", text, 0, 1), within(budget.Partial, time.Minute)); err != budget.ErrLate {
				t.Errorf("the first reading: %v", err)
			}
		})
		time.Sleep(200 * ms)
		r := hear(t, l, newSequence(t.Context(), "a", text+"and more", 10, 8), nil)
		if want := wantAnswer(text+"and more", 10); r.text != want || r.usage.Cached < 150 {
			t.Errorf("%q, %+v, want %q", r.text, r.usage, want)
		}
		wg.Wait()
	})
}

func TestLoopReadsNothingLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := startLoop(t, 2, func(l *loop, m *fakeMachine) { m.cost, l.executor = ms, &budget.Executor{Cores: 1} })
		var wg sync.WaitGroup
		wg.Go(func() { // Somebody else's work, for which there is only one core.
			_ = l.executor.Run(t.Context(), budget.Job{}, func(context.Context, int) error {
				time.Sleep(time.Second)
				return nil
			})
		})
		synctest.Wait()
		began := time.Now()
		if err := reads(l, newSequence(t.Context(), "a", "some words", 0, 1), within(budget.Speculative, 300*ms)); err != budget.ErrLate {
			t.Errorf("err = %v", err)
		}
		if d := time.Since(began); d != 300*ms {
			t.Errorf("it was given up after %v", d)
		}
		if len(m.made()) > 0 {
			t.Errorf("steps were made: %v", m.made())
		}
		// Who is awaited waits.
		if r := hear(t, l, newSequence(t.Context(), "b", "some words", 5, 8), nil); r.err != nil || r.text != wantAnswer("some words", 5) {
			t.Errorf("%q, %v", r.text, r.err)
		}
		wg.Wait()
	})
}

// Nobody waits behind speculation, neither for a core nor for a slot, and speculation goes on afterwards where it was.
func TestLoopSpeculationMakesRoom(t *testing.T) {
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := startLoop(t, slots, func(l *loop, m *fakeMachine) { m.cost, l.executor = ms, &budget.Executor{Cores: 1} })
				guess, question := strings.Repeat("perhaps ", 100), "a question"
				var wg sync.WaitGroup
				wg.Go(func() {
					s := newSequence(t.Context(), "guess", guess, 20, 30)
					s.urgency = within(budget.Speculative, time.Hour)
					if r := hear(t, l, s, nil); r.err != nil || r.text != wantAnswer(guess, 20) {
						t.Errorf("the guess: %q, %v", r.text, r.err)
					}
				})
				time.Sleep(100*ms + ms/2)
				began := time.Now()
				r := hear(t, l, newSequence(t.Context(), "asks", question, 1, 8), nil)
				if r.err != nil || r.text != wantAnswer(question, 1) {
					t.Errorf("%q, %v", r.text, r.err)
				}
				// The entry under way, and then its own.
				if d := time.Since(began); d > time.Duration(len(question)+1)*ms {
					t.Errorf("it took %v", d)
				}
				wg.Wait()
			})
		})
	}
}

// Other engines' work that somebody waits for stops a step that nobody does.
func TestLoopIsPreempted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 1, func(l *loop, m *fakeMachine) { m.cost, l.executor = ms, &budget.Executor{Cores: 1} })
		text := strings.Repeat("perhaps ", 50)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := reads(l, newSequence(t.Context(), "a", text, 0, 1), within(budget.Speculative, time.Hour)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(105*ms + ms/2)
		began := time.Now()
		if err := l.executor.Run(t.Context(), budget.Job{}, func(context.Context, int) error {
			if d := time.Since(began); d > 2*ms {
				t.Errorf("work that is awaited began after %v", d)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if n := l.executor.Load().Counts[budget.Speculative].Preempted; n != 1 {
			t.Errorf("%d steps were preempted", n)
		}
		if r := hear(t, l, newSequence(t.Context(), "a", text+"!", 5, 8), nil); r.text != wantAnswer(text+"!", 5) || r.usage.Cached != len(text) {
			t.Errorf("afterwards %q, %+v", r.text, r.usage)
		}
	})
}

// A guess that turns out to be right is from then on as urgent as if it had been a question.
func TestLoopWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 2, func(_ *loop, m *fakeMachine) { m.cost = ms })
		wanted := make(chan struct{})
		guess, other := "a guess "+strings.Repeat("x", 100), strings.Repeat("other ", 500)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := reads(l, newSequence(t.Context(), "other", other, 0, 1), within(budget.Speculative, time.Hour)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * ms)
		var first time.Time
		wg.Go(func() {
			s := newSequence(t.Context(), "guess", guess, 5, 8)
			s.urgency = budget.Urgency{Class: budget.Speculative, Deadline: time.Now().Add(20 * ms), Wanted: wanted}
			r := hear(t, l, s, func(string) bool {
				if first.IsZero() {
					first = time.Now()
				}
				return true
			})
			if r.err != nil || r.text != wantAnswer(guess, 5) {
				t.Errorf("%q, %v", r.text, r.err)
			}
		})
		time.Sleep(50 * ms)
		began := time.Now()
		close(wanted)
		wg.Wait()
		// A step of both may be under way.
		if d := first.Sub(began); d > time.Duration(len(guess)+20)*ms {
			t.Errorf("it took %v", d)
		}
	})
}

// Threads are what the executor grants.
func TestLoopThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := startLoop(t, 1, func(l *loop, m *fakeMachine) { m.cost, l.threads, l.executor = ms, 4, &budget.Executor{Cores: 2} })
		hear(t, l, newSequence(t.Context(), "", "hello", 3, 8), nil)
		if slices.Max(m.threads) != 2 || slices.Min(m.threads) != 2 {
			t.Errorf("threads: %v", m.threads)
		}
	})
}

// Of conversations that have ended nothing is kept, whether they had slots or had to give them up.
func TestLoopForgetsEndedConversations(t *testing.T) {
	l, _ := startLoop(t, 1, func(l *loop, _ *fakeMachine) { l.shelf.room = 10_000 })
	text := "system: be brief. user: hi. "
	for _, who := range []string{"a", "b", "c"} {
		hear(t, l, newSequence(t.Context(), who, who+text, 5, 8), nil)
	}
	for _, who := range []string{"a", "b", "c", "nobody"} {
		l.over.add(who)
		l.poke()
	}
	// The slot that was c's is anybody's, and nothing of it goes onto the shelf.
	r := hear(t, l, newSequence(t.Context(), "", "c"+text, 5, 8), nil)
	if want := len("c"+text) - 1; r.usage.Cached != want {
		t.Errorf("%d tokens are cached, want the %d of the conversation that has ended", r.usage.Cached, want)
	}
	if l.shelf.held != 0 || len(l.shelf.saved) != 0 {
		t.Errorf("%d bytes of ended conversations are kept", l.shelf.held)
	}
}

// Conversations that lost their slots come back without being read again, as far as there is room for them.
func TestLoopSavesIdleConversations(t *testing.T) {
	for _, rigid := range []bool{false, true} {
		l, m := startLoop(t, 1, func(l *loop, m *fakeMachine) { l.shelf.room, m.rigid = 200, rigid })
		texts := map[string]string{}
		for turn := range 3 {
			for _, who := range []string{"a", "b", "c"} {
				texts[who] += fmt.Sprintf("%s says %d in turn %d. ", who, len(texts[who]), turn)
				r := hear(t, l, newSequence(t.Context(), who, texts[who], 5, 8), nil)
				if want := wantAnswer(texts[who], 5); r.err != nil || r.text != want {
					t.Errorf("%s, turn %d: %q, %v, want %q", who, turn, r.text, r.err, want)
				}
				if turn > 0 && r.usage.Cached < 20 && !rigid {
					t.Errorf("%s, turn %d: %+v", who, turn, r.usage)
				}
				texts[who] += r.text
			}
		}
		if m.restored == 0 {
			t.Error("nothing was restored")
		}
		if l.shelf.held > l.shelf.room {
			t.Errorf("%d bytes are kept", l.shelf.held)
		}
	}
}

func TestShelf(t *testing.T) {
	s := shelf{room: 10}
	put := func(owner string, n int) {
		s.put(shelved{owner: owner, tokens: []token{token(n)}, state: make([]byte, n)})
	}
	put("a", 4)
	put("b", 5)
	put("huge", 11)
	put("empty", 0)
	if s.held != 9 || s.tokens("huge") != nil || s.tokens("empty") != nil {
		t.Errorf("%+v", s)
	}
	put("a", 3) // Newer than b now.
	put("c", 3)
	if s.held != 6 || s.tokens("b") != nil || s.tokens("a")[0] != 3 {
		t.Errorf("%+v", s)
	}
	if m := s.take("a"); len(m.state) != 3 || s.held != 3 || len(s.saved) != 1 {
		t.Errorf("%+v, %+v", m, s)
	}
	if m := s.take("a"); m.owner != "" || s.held != 3 {
		t.Errorf("taken twice: %+v", m)
	}
}

// A reading or a guess does not keep somebody from being heard when everybody waits.
func TestLoopRefusesGuessesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := startLoop(t, 1, func(l *loop, m *fakeMachine) { m.cost, l.room = ms, 1 })
		text := longText(t, 100)
		var wg sync.WaitGroup
		wg.Go(func() { hear(t, l, newSequence(t.Context(), "talks", text, 50, 100), nil) })
		time.Sleep(5 * ms)
		wg.Go(func() {
			if err := reads(l, newSequence(t.Context(), "guess", text, 0, 1), within(budget.Speculative, time.Hour)); !errors.Is(err, llm.ErrBusy) {
				t.Errorf("the guess: %v", err)
			}
		})
		time.Sleep(5 * ms)
		if r := hear(t, l, newSequence(t.Context(), "asks", text, 5, 100), nil); r.err != nil || r.text != wantAnswer(text, 5) {
			t.Errorf("%q, %v", r.text, r.err)
		}
		wg.Wait()
	})
}
