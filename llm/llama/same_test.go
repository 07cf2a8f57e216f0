package llama

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"riposte/llm"
)

// questions are prompts of many kinds, from one word to a paragraph, so that their lengths fall differently into batches.
var questions = []string{
	"Hello!", "What is the capital of France?", "Count from one to ten.", "Tell me a short story about a lighthouse.",
	"Why is the sky blue?", "Write a haiku about rain.", "How do I boil an egg?", "What should I cook tonight?",
	"Explain gravity to a child.", "Give me three names for a cat.", "What is seven times eight?", "Who wrote Hamlet?",
	"I feel a little sad today.", "Translate good morning into Spanish.", "What is the difference between a lake and a pond?",
	"Describe the taste of an apple.", "Recommend a book about the sea, and say in one sentence why I would like it.",
	"My flight leaves at six in the morning, the airport is forty minutes away, and I need an hour there. When do I get up?",
	"List the planets.", "What is a prime number?", "How far is the moon?", "Tell me a joke about computers.",
	"What do bees do in winter, when there are no flowers and it is too cold for them to fly?", "Say something nice.",
}

// extent is how much is compared: for RIPOSTE_TEST_LONG=1 all questions with long answers, and a history as calls have, otherwise as much
// as has prompts of all lengths and a history of many times what the smaller batches take.
type extent struct{ step, tokens, history int }

func sameExtent() extent {
	if os.Getenv("RIPOSTE_TEST_LONG") != "" {
		return extent{step: 1, tokens: 48, history: 900}
	}
	return extent{step: 2, tokens: 16, history: 300}
}

func (x extent) request(conversation, question string) llm.Request {
	r := asking(conversation, question)
	r.MaxTokens = x.tokens
	return r
}

// A token's numbers do not depend on what else is computed with it, so greedy answers are the same, to the letter,
// alone and beside others, however the prompt came into the memory.
func TestEngineAnswersTheSameHoweverItComputes(t *testing.T) {
	x := sameExtent()
	var asked []string
	for i := 0; i < len(questions); i += x.step {
		asked = append(asked, questions[i])
	}
	whole := openEngine(t, brief, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 512, 512, 1 })
	want := make([]string, len(asked))
	for i, q := range asked {
		want[i] = answer(t, whole, x.request("", q)).text
	}
	check := func(how string, i int, a reply) {
		t.Helper()
		if a.err != nil || a.text != want[i] {
			t.Errorf("%s, %q: %v\n got %q\nwant %q", how, asked[i], a.err, a.text, want[i])
		}
	}
	t.Run("in pieces", func(t *testing.T) {
		e := openEngine(t, brief, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 7, 3, 1 })
		for i, q := range asked {
			check("in pieces", i, answer(t, e, x.request("", q)))
			if i%5 == 0 {
				check("with all of the prompt kept", i, answer(t, e, x.request("", q)))
			}
		}
	})
	t.Run("side by side", func(t *testing.T) {
		e := openEngine(t, brief, func(e *Engine) { e.Waiting = len(asked) })
		var wg sync.WaitGroup
		for i, q := range asked {
			wg.Go(func() { check("side by side", i, ask(t.Context(), e, x.request(fmt.Sprint(i), q))) })
		}
		wg.Wait()
	})
	t.Run("copied from another's", func(t *testing.T) {
		e := openEngine(t, brief, func(e *Engine) { e.Conversations = 2 })
		answer(t, e, x.request("first", asked[0]))
		for i, q := range asked[:6] {
			a := answer(t, e, x.request(fmt.Sprint("other", i%2), q))
			if i > 1 && a.usage.Cached == 0 {
				t.Errorf("%q: nothing was kept or copied", q)
			}
			check("copied", i, a)
		}
	})
	t.Run("with a long history", func(t *testing.T) {
		r := llm.Request{Messages: history(x.history, "Oslo"), MaxTokens: x.tokens}
		first := answer(t, openEngine(t, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 512, 512, 1 }), r)
		if again := answer(t, openEngine(t, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 33, 9, 1 }), r); again.text != first.text {
			t.Errorf("in pieces %q, at once %q", again.text, first.text)
		}
	})
	if strings.Join(want, "") == "" {
		t.Error("nothing was said")
	}
}

func TestEngineRaw(t *testing.T) {
	e := commonEngine(t)
	took, err := e.Raw(t.Context(), asking("", "Tell me a story."), 8)
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	var closed Engine
	if _, err := closed.Raw(t.Context(), asking("", "Hello."), 1); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
}
