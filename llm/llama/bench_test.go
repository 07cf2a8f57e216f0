package llama

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"riposte/llm"
	"riposte/native/nativetest"
)

// The two weights that answer equally well: one is faster with prompts, the other is smaller.
var benchModels = []string{"smollm2-135m-instruct-q8_0", "smollm2-135m-instruct-q4_1"}

func withModel(name string) func(*Engine) {
	return func(e *Engine) { e.Model = strings.ReplaceAll(e.Model, testModel, name) }
}

// history is a conversation of about so many tokens.
func history(about int, topic string) []llm.Message {
	m := []llm.Message{{Role: llm.System, Text: voice}}
	for i := range about / 35 {
		m = append(m,
			llm.Message{Role: llm.User, Text: fmt.Sprintf("Question %d about %s: what is it like there in winter?", i, topic)},
			llm.Message{Role: llm.Assistant, Text: "It is quiet and cold, with a little snow."})
	}
	return append(m, llm.Message{Role: llm.User, Text: "Tell me a story about it."})
}

// BenchmarkFirstToken measures from the request to the first text.
func BenchmarkFirstToken(b *testing.B) {
	for _, model := range benchModels {
		nativetest.File(b, model)
		e := openEngine(b, withModel(model))
		first := func(b *testing.B, r llm.Request) llm.Usage {
			r.MaxTokens = 1
			return answer(b, e, r).usage
		}
		for _, c := range []struct {
			name     string
			messages func(i int) []llm.Message
		}{
			{"short", func(i int) []llm.Message {
				return asking("", fmt.Sprintf("Number %d: what is the weather like?", i)).Messages[1:]
			}},
			{"1500", func(i int) []llm.Message { return history(1500, fmt.Sprint("town ", i))[1:] }},
		} {
			b.Run(model+"/"+c.name+"/cold", func(b *testing.B) {
				var u llm.Usage
				i := 0
				for b.Loop() {
					i++
					// What differs comes first, so that nothing is kept.
					m := append([]llm.Message{{Role: llm.System, Text: fmt.Sprint(i, " ", c.name, b.N, ". ", voice)}}, c.messages(i)...)
					u = first(b, llm.Request{Messages: m})
				}
				b.ReportMetric(float64(u.Prompt-u.Cached), "tokens")
			})
			b.Run(model+"/"+c.name+"/next-turn", func(b *testing.B) {
				m := append([]llm.Message{{Role: llm.System, Text: voice}}, c.messages(0)...)
				first(b, llm.Request{Conversation: c.name, Messages: m})
				m = append(m, llm.Message{Role: llm.Assistant, Text: "There is not much to tell."})
				var u llm.Usage
				i := 0
				for b.Loop() {
					i++
					u = first(b, llm.Request{Conversation: c.name, Messages: append(m[:len(m):len(m)], llm.Message{Role: llm.User, Text: fmt.Sprintf("%d times I asked: go on, please.", i)})})
				}
				b.ReportMetric(float64(u.Prompt-u.Cached), "tokens")
			})
		}
	}
}

// BenchmarkTokens measures how fast answers grow, for one caller and for four at once.
func BenchmarkTokens(b *testing.B) {
	for _, model := range benchModels {
		nativetest.File(b, model)
		e := openEngine(b, withModel(model))
		for _, callers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/%d", model, callers), func(b *testing.B) {
				tokens := 0
				var spent time.Duration
				for b.Loop() {
					var wg sync.WaitGroup
					var mu sync.Mutex
					began := time.Now()
					for i := range callers {
						wg.Go(func() {
							r := asking(fmt.Sprint(i), "Tell me a long story about the sea, the wind and an old house.")
							r.MaxTokens, r.Sampling = 64, llm.Sampling{Temperature: 0.7, TopP: 0.9, Seed: uint32(i + 1)}
							a := ask(b.Context(), e, r)
							mu.Lock()
							tokens += a.usage.Output
							mu.Unlock()
						})
					}
					wg.Wait()
					spent += time.Since(began)
				}
				b.ReportMetric(float64(tokens)/spent.Seconds(), "tokens/s")
			})
		}
	}
}

// BenchmarkStop measures from the end of a context in the middle of a long prompt to the first text of somebody else.
func BenchmarkStop(b *testing.B) {
	e := openEngine(b)
	quick := asking("quick", "Hello!")
	quick.MaxTokens = 1
	answer(b, e, quick)
	var spent time.Duration
	i := 0
	for b.Loop() {
		i++
		ctx, cancel := context.WithCancel(b.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			ask(ctx, e, llm.Request{Messages: history(1500, fmt.Sprint(i))[1:]})
		}()
		time.Sleep(300 * time.Millisecond)
		began := time.Now()
		cancel()
		<-gone
		answer(b, e, quick)
		spent += time.Since(began)
	}
	b.ReportMetric(float64(spent.Milliseconds())/float64(i), "ms/stop")
}
