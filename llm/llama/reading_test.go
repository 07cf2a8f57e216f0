package llama

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// said is a conversation whose last message is so far only so much.
func said(text string) []llm.Message {
	return []llm.Message{
		{Role: llm.System, Text: voice}, {Role: llm.User, Text: "Hello."}, {Role: llm.Assistant, Text: "Hi, how can I help?"},
		{Role: llm.User, Text: text},
	}
}

func TestEngineReadsBeginnings(t *testing.T) {
	e := commonEngine(t)
	for _, q := range questions {
		whole, closing, err := e.ask.unfinished(said(q), 1000)
		if err != nil || closing < 0 {
			t.Fatalf("%q: closing %d, %v", q, closing, err)
		}
		prompt, err := e.ask.build(said(q), 1000)
		if err != nil || !slices.Equal(prompt[:len(whole)], whole) || prompt[len(whole)] != closing {
			t.Errorf("%q: read %v, answered %v, closed by %d, %v", q, whole, prompt, closing, err)
		}
		for n := 1; n < len(q); n += 3 {
			part, _, err := e.ask.unfinished(said(q[:n]), 1000)
			if err != nil {
				t.Fatal(err)
			}
			// A word that goes on may become other tokens.
			same := 0
			for same < min(len(part), len(whole)) && part[same] == whole[same] {
				same++
			}
			word := len(e.ask.pieces.tokens(q[strings.LastIndexAny(q[:n], " ")+1 : n]))
			if missing := len(part) - same; missing > max(2, word) || strings.HasSuffix(q[:n], " ") && missing > 1 {
				t.Errorf("%q: %d of %d tokens are others in %q", q[:n], missing, len(part), q)
			}
		}
	}
}

func TestEngineReads(t *testing.T) {
	e := openEngine(t, brief)
	read := func(m []llm.Message) llm.Reading {
		t.Helper()
		r, err := e.Read(t.Context(), llm.Request{Conversation: "reads", Messages: m, Urgency: budget.Urgency{Class: budget.Partial}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	instructions := read([]llm.Message{{Role: llm.System, Text: voice}})
	if instructions.Prompt < 10 || instructions.Cached != 0 {
		t.Errorf("the instructions alone: %+v", instructions)
	}
	if first := read(said("What")); first.Cached < instructions.Prompt-1 {
		t.Errorf("after the instructions: %+v", first)
	}
	part, whole := read(said("What is the capital of")), read(said("What is the capital of France?"))
	if part.Over < 0 || whole.Over > 1 || part.Over >= whole.Over {
		t.Errorf("half a question is over with %v, a whole one with %v", part.Over, whole.Over)
	}
	t.Logf("over: half %.4f, whole %.4f", part.Over, whole.Over)
	if whole.Cached < part.Prompt-1 {
		t.Errorf("%+v after %+v", whole, part)
	}
	a := answer(t, e, llm.Request{Conversation: "reads", Messages: said("What is the capital of France?"), MaxTokens: 10})
	if a.usage.Cached != whole.Prompt {
		t.Errorf("%+v after %+v", a.usage, whole)
	}
	if _, err := e.Read(t.Context(), llm.Request{Messages: []llm.Message{{Text: " "}}}); !errors.Is(err, ErrNoMessages) {
		t.Errorf("nothing to read: %v", err)
	}
	past := budget.Urgency{Class: budget.Speculative, Deadline: time.Now().Add(-time.Second)}
	if _, err := e.Read(t.Context(), llm.Request{Messages: said("Well"), Urgency: past}); err != budget.ErrLate {
		t.Errorf("too late: %v", err)
	}
}

// Whatever was read before, and taken back, the answer is the one without it.
func TestEngineAnswersTheSameAfterReading(t *testing.T) {
	e, plain := openEngine(t, brief), commonEngine(t)
	for _, q := range []string{"Why is the sky blue?", "Tell me a short story about a lighthouse.", "What do bees do in winter, when there are no flowers?"} {
		for n := 4; n < len(q); n += 9 {
			for _, text := range []string{q[:n], q[:n] + " perhaps not"} {
				if _, err := e.Read(t.Context(), llm.Request{Conversation: q, Messages: said(text)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := llm.Request{Conversation: q, Messages: said(q), MaxTokens: 24}
		if got, want := answer(t, e, r), answer(t, plain, r); got.text != want.text {
			t.Errorf("%q: read ahead %q, not %q", q, got.text, want.text)
		}
	}
}

func TestEngineSavesIdleConversations(t *testing.T) {
	turn := func(e *Engine, who, question string, before ...llm.Message) reply {
		m := append([]llm.Message{{Role: llm.System, Text: "You talk to " + who + ". " + voice}}, before...)
		return answer(t, e, llm.Request{Conversation: who, MaxTokens: 24, Messages: append(m, llm.Message{Role: llm.User, Text: question})})
	}
	one := func(e *Engine) { e.Conversations, e.ContextTokens = 1, 512 }
	with, without, roomy := openEngine(t, one), openEngine(t, one, func(e *Engine) { e.IdleBytes = -1 }), commonEngine(t)
	for _, e := range []*Engine{with, without, roomy} {
		var before []llm.Message
		first := turn(e, "Ann", "Tell me about the sea.")
		before = append(before, llm.Message{Role: llm.User, Text: "Tell me about the sea."}, llm.Message{Role: llm.Assistant, Text: first.text})
		turn(e, "Bob", "What is a prime number?")
		second := turn(e, "Ann", "Are there whales in it?", before...)
		want := turn(roomy, "Ann", "Are there whales in it?", before...)
		if second.text != want.text {
			t.Errorf("%q, want %q", second.text, want.text)
		}
		if kept := second.usage.Cached >= first.usage.Prompt; kept == (e == without) {
			t.Errorf("%+v after %+v", second.usage, first.usage)
		}
	}
}

func TestEngineLogProbs(t *testing.T) {
	e := commonEngine(t)
	r := repeating("", "seven eight nine ten")
	r.Sampling.LogProbs = true
	sum, pieces := float32(0), 0
	for p, err := range e.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if p.LogProb > 0 || p.Text != "" && p.LogProb == 0 {
			t.Errorf("%q has %v", p.Text, p.LogProb)
		}
		sum, pieces = sum+p.LogProb, pieces+1
	}
	// The model is sure of what it repeats.
	if pieces < 4 || sum > 0 || sum < -4 {
		t.Errorf("%d pieces have %v together", pieces, sum)
	}
	r.Sampling.Top, r.Stop = 3, []string{"nine"}
	var text, tokens string
	for p, err := range e.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		text += p.Text
		for _, token := range p.Tokens {
			tokens += token.Text
			if len(token.Top) != 3 || token.Top[0].Text != token.Text || token.Top[0].LogProb != token.LogProb || token.Top[1].LogProb < token.Top[2].LogProb {
				t.Errorf("%q has %v and beside it %v, want the likeliest, itself first", token.Text, token.LogProb, token.Top)
			}
		}
	}
	// The last one is said in part: the space before what stops the answer.
	if strings.TrimSpace(text) == "" || !strings.HasPrefix(tokens, text) || len(tokens) > len(text)+len("nine") {
		t.Errorf("the tokens %q have said %q", tokens, text)
	}
	r.Sampling.LogProbs, r.Stop = false, nil
	for p := range e.Generate(t.Context(), r) {
		if p.LogProb != 0 || len(p.Tokens) > 0 {
			t.Errorf("%q has %v without being asked", p.Text, p.LogProb)
		}
	}
}
