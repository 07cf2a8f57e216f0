package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
)

// fakeModel says ten words, one every 10 ms beside itself and every 20 ms beside others, after a first one that takes as
// many milliseconds as the conversation has messages, times ten. Some of its ways can be turned bad.
type fakeModel struct {
	mu       sync.Mutex
	talking  int
	tokens   int
	deaf     int    // Goes on for so many tokens after it was cancelled.
	refuses  string // Fails where a prompt has this in it.
	confused bool   // Says something else beside others.
}

func (m *fakeModel) add(talking, tokens int) (others int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.talking += talking
	m.tokens += tokens
	return m.talking - 1
}

func (m *fakeModel) made() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tokens
}

func (m *fakeModel) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		last := r.Messages[len(r.Messages)-1].Text
		if m.refuses != "" && strings.Contains(last, m.refuses) {
			yield(llm.Piece{}, errors.New("no"))
			return
		}
		m.add(1, 0)
		defer m.add(-1, 0)
		time.Sleep(time.Duration(len(r.Messages)) * 10 * time.Millisecond)
		for n := range 10 {
			others := m.add(0, 1)
			word := fmt.Sprintf("%s %d ", last[:4], n)
			if m.confused && others > 0 {
				word = "what? "
			}
			if !yield(llm.Piece{Text: word}, nil) {
				return
			}
			if ctx.Err() != nil {
				m.add(0, m.deaf)
				yield(llm.Piece{}, ctx.Err())
				return
			}
			if n == 9 {
				break
			}
			if time.Sleep(10 * time.Millisecond); others > 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		yield(llm.Piece{Usage: &llm.Usage{Output: 10, Prompt: 100 * len(r.Messages)}}, nil)
	}
}

func (m *fakeModel) Read(context.Context, llm.Request) (llm.Reading, error) {
	return llm.Reading{}, nil
}

func TestLLM(t *testing.T) {
	measure := func(t *testing.T, m *fakeModel) (r LLMResult) {
		synctest.Test(t, func(t *testing.T) {
			b := LLM{
				Model: m, Tokens: m.made, Prompts: 8, Runs: 2, Seed: 1,
				Raw: func(_ context.Context, r llm.Request, n int) (time.Duration, error) {
					return time.Duration(n-1) * 9 * time.Millisecond, nil
				},
			}
			var err error
			if r, err = b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return r
	}
	r := measure(t, &fakeModel{})
	if r.TTFT != (Percentiles{20, 20, 20}) || !r.Identical || r.CancelTokens != 0 || r.Failed != 0 || r.History != 2000 {
		t.Errorf("%+v", r)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if got < want*0.999 || got > want*1.001 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	near("over_raw", r.OverRaw, 0.9)
	near("ttft_turn10_over_turn1", r.TurnRatio, 10)
	near("ttft_ahead_turn10_over_turn1", r.AheadRatio, 10)
	near("tokens_per_s_1", r.Rate1, 10/0.110)
	near("tokens_per_s_4", r.Rate4, 40/0.200)
	near("scaling_4_over_1", r.Scaling, (40/0.200)/(10/0.110))
	if len(r.AheadTurns) != 10 || len(r.Turns) != 10 || r.Turns[0] != 20 || r.Turns[9] != 200 {
		t.Errorf("turns: %v", r.Turns)
	}

	if r := measure(t, &fakeModel{deaf: 3}); r.CancelTokens != 3 {
		t.Errorf("who goes on for 3 tokens has %d", r.CancelTokens)
	}
	if r := measure(t, &fakeModel{confused: true}); r.Identical || len(r.Different) != 8 {
		t.Errorf("who says something else beside others: %v", r.Different)
	}
	if r := measure(t, &fakeModel{refuses: "whales"}); r.Failed == 0 && slices.Contains(r.Different, "whales") {
		t.Errorf("who fails: %+v", r)
	}
	synctest.Test(t, func(t *testing.T) {
		m := &fakeModel{refuses: "e"}
		b := LLM{Model: m, Tokens: m.made}
		if _, err := b.Run(t.Context()); err == nil {
			t.Error("a model that answers nothing was measured")
		}
	})
}

// Percentages are worth nothing if the prompts are not what they are said to be.
func TestLLMPrompts(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range llmPrompts {
		if seen[p] {
			t.Errorf("%q is there twice", p)
		}
		seen[p] = true
	}
	if len(seen) < 20 || len(fmt.Sprintf(llmTurn, 1)) != len(fmt.Sprintf(llmTurn, 10)) {
		t.Errorf("%d prompts; turns of %d and %d letters", len(seen), len(fmt.Sprintf(llmTurn, 1)), len(fmt.Sprintf(llmTurn, 10)))
	}
}
