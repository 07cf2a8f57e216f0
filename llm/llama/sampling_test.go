package llama

import (
	"strings"
	"testing"

	"riposte/llm"
)

// words counts how often an answer says each word.
func words(text string) map[string]int {
	n := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
		n[w]++
	}
	return n
}

// most is the largest of the counts.
func most(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n = max(n, c)
	}
	return n
}

// Every setting does what it is there for.
func TestEngineSampling(t *testing.T) {
	e := commonEngine(t)
	said := func(s llm.Sampling, question string, tokens int) string {
		t.Helper()
		r := asking("", question)
		r.Sampling, r.MaxTokens = s, tokens
		return answer(t, e, r).text
	}
	const sea = "Tell me about the sea."
	said(llm.Sampling{}, sea, 1) // From here on, prompts are kept.
	greedy := said(llm.Sampling{}, sea, 16)
	hot := func(seed uint32) llm.Sampling { return llm.Sampling{Temperature: 2.5, Seed: seed} }

	t.Run("temperature", func(t *testing.T) {
		if got := said(hot(1), sea, 16); got == greedy {
			t.Errorf("a hot answer is the greedy one: %q", got)
		}
		if got := said(llm.Sampling{Temperature: 0.01, Seed: 1}, sea, 16); got != greedy {
			t.Errorf("a cold answer is %q, the greedy one %q", got, greedy)
		}
	})
	t.Run("seed", func(t *testing.T) {
		if a, b := said(hot(5), sea, 16), said(hot(5), sea, 16); a != b {
			t.Errorf("the same seed says %q and %q", a, b)
		}
		if a, b := said(hot(5), sea, 16), said(hot(6), sea, 16); a == b {
			t.Errorf("other seeds say the same: %q", a)
		}
		if a, b := said(hot(0), sea, 16), said(hot(0), sea, 16); a == b {
			t.Errorf("without a seed the same is said twice: %q", a)
		}
	})
	for name, s := range map[string]llm.Sampling{
		"top_k": {Temperature: 2.5, Seed: 2, TopK: 1},
		"top_p": {Temperature: 2.5, Seed: 2, TopP: 1e-6},
		"min_p": {Temperature: 2.5, Seed: 2, MinP: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(s, sea, 16); got != greedy {
				t.Errorf("only the likeliest is allowed, and %q is said for %q", got, greedy)
			}
			s.TopK, s.TopP, s.MinP = min(s.TopK*50, 50), min(s.TopP*1e6*0.95, 0.95), min(s.MinP/20, 0.05)
			if got := said(s, sea, 16); got == greedy || got == said(hot(2), sea, 16) {
				t.Errorf("with a usual value, %q is said as with none, or as greedily", got)
			}
		})
	}
	for name, s := range map[string]llm.Sampling{
		"repeat_penalty":    {RepeatPenalty: 1.5},
		"presence_penalty":  {PresencePenalty: 2},
		"frequency_penalty": {FrequencyPenalty: 2},
	} {
		t.Run(name, func(t *testing.T) {
			const again = "Say the word hello again and again: hello hello hello hello hello"
			free, held := said(llm.Sampling{}, again, 40), said(s, again, 40)
			if most(words(held)) >= most(words(free)) {
				t.Errorf("%q repeats itself no less than %q", held, free)
			}
		})
	}
	t.Run("with a form", func(t *testing.T) {
		r := asking("", sea)
		r.Format.Grammar, r.Sampling = `root ::= [a-z ]{20}`, hot(9)
		a, b := answer(t, e, r).text, answer(t, e, r).text
		r.Sampling.Seed = 10
		if c := answer(t, e, r).text; a != b || a == c {
			t.Errorf("the same seed says %q and %q, another one %q", a, b, c)
		}
		r.Sampling = llm.Sampling{Temperature: 2.5, TopK: 1, Seed: 3}
		one := answer(t, e, r).text
		r.Sampling = llm.Sampling{}
		if two := answer(t, e, r).text; one != two {
			t.Errorf("top_k of 1 says %q, greedy %q", one, two)
		}
	})
}

// A stop string ends an answer wherever the borders of tokens are.
func TestEngineStopsAnywhere(t *testing.T) {
	e := commonEngine(t)
	r := asking("", "Count from one to ten.")
	answer(t, e, r)
	whole := answer(t, e, r).text
	for from := 0; from+4 < min(len(whole), 40); from += 7 {
		stop := whole[from : from+4]
		want, _, _ := strings.Cut(whole, stop)
		r.Stop = []string{stop}
		a := ask(t.Context(), e, r)
		if a.err != nil || a.text != want || a.usage.Finish != llm.FinishStop {
			t.Errorf("stop at %q: %q, %+v, %v, want %q", stop, a.text, a.usage, a.err, want)
		}
	}
}
