package llama

import (
	"fmt"
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

const sameTokens = 48

func sameRequest(conversation string, i int) llm.Request {
	r := asking(conversation, questions[i])
	r.MaxTokens = sameTokens
	return r
}

// A token's numbers do not depend on what else is computed with it, so greedy answers are the same, to the letter,
// alone and beside others, however the prompt came into the memory.
func TestEngineAnswersTheSameHoweverItComputes(t *testing.T) {
	whole := openEngine(t, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 512, 512, 1 })
	want := make([]string, len(questions))
	for i := range questions {
		want[i] = answer(t, whole, sameRequest("", i)).text
	}
	check := func(how string, i int, a reply) {
		t.Helper()
		if a.err != nil || a.text != want[i] {
			t.Errorf("%s, %q: %v\n got %q\nwant %q", how, questions[i], a.err, a.text, want[i])
		}
	}
	t.Run("in pieces", func(t *testing.T) {
		e := openEngine(t, func(e *Engine) { e.Batch, e.Chunk, e.Conversations = 7, 3, 1 })
		for i := range questions {
			check("in pieces", i, answer(t, e, sameRequest("", i)))
			if i%5 == 0 {
				check("with all of the prompt kept", i, answer(t, e, sameRequest("", i)))
			}
		}
	})
	t.Run("side by side", func(t *testing.T) {
		e := openEngine(t, func(e *Engine) { e.Waiting = len(questions) })
		var wg sync.WaitGroup
		for i := range questions {
			wg.Go(func() { check("side by side", i, ask(t.Context(), e, sameRequest(fmt.Sprint(i), i))) })
		}
		wg.Wait()
	})
	t.Run("copied from another's", func(t *testing.T) {
		e := openEngine(t, func(e *Engine) { e.Conversations = 2 })
		answer(t, e, sameRequest("first", 0))
		for i := range 6 {
			a := answer(t, e, sameRequest(fmt.Sprint("other", i%2), i))
			if i > 1 && a.usage.Cached == 0 {
				t.Errorf("%q: nothing was kept or copied", questions[i])
			}
			check("copied", i, a)
		}
	})
	t.Run("with a long history", func(t *testing.T) {
		r := llm.Request{Messages: history(900, "Oslo"), MaxTokens: sameTokens}
		first := answer(t, openEngine(t, func(e *Engine) { e.Batch, e.Chunk = 512, 512 }), r)
		if again := answer(t, openEngine(t, func(e *Engine) { e.Batch, e.Chunk = 33, 9 }), r); again.text != first.text {
			t.Errorf("in pieces %q, at once %q", again.text, first.text)
		}
	})
	if strings.Join(want, "") == "" {
		t.Error("nothing was said")
	}
}

func TestEngineRaw(t *testing.T) {
	e := openEngine(t)
	took, err := e.Raw(t.Context(), asking("", "Tell me a story."), 8)
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	var closed Engine
	if _, err := closed.Raw(t.Context(), asking("", "Hello."), 1); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
}
