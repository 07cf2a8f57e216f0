package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"riposte/llm"
)

// Chat measures what asking a model by /v1/chat/completions takes over asking it in the same process. Each question is asked both ways, one
// right after the other, in an order that chance draws; the model has read it before, so that it takes the same time to answer it again.
type Chat struct {
	Model   llm.Generator
	Request llm.Request // What the endpoint makes of the body, but for the messages.
	URL     string      // Of the service, such as http://127.0.0.1:8080.
	Name    string      // Of the model, there.
	Key     string      // To be shown; empty for none.
	Pairs   int         // It defaults to 200.
	Seed    uint64
}

// ChatResult is what was measured, in milliseconds from the question to the first text.
type ChatResult struct {
	Engine Percentiles `json:"engine_ms"`
	REST   Percentiles `json:"rest_ms"`
	Over   Percentiles `json:"over_ms"` // Of the differences of the pairs.
	Pairs  int         `json:"pairs"`
	Failed int         `json:"failed"` // Pairs of which a part failed; they are in no other figure.

	About
}

// Run measures. The error is one that leaves nothing to measure.
func (b Chat) Run(ctx context.Context) (ChatResult, error) {
	if b.Pairs <= 0 {
		b.Pairs = 200
	}
	r := ChatResult{Pairs: b.Pairs, About: about(b.Seed)}
	chance := rand.New(rand.NewPCG(b.Seed, 0))
	var engine, rest, over []time.Duration
	var last error
	for i := range b.Pairs {
		prompt := llmPrompts[i%len(llmPrompts)]
		if i < len(llmPrompts) {
			if _, err := b.direct(ctx, prompt); err != nil { // it reads it
				return r, fmt.Errorf("to warm up: %w", err)
			}
			if _, err := b.over(ctx, prompt); err != nil {
				return r, fmt.Errorf("to warm up: %w", err)
			}
		}
		ways := []func(context.Context, string) (time.Duration, error){b.direct, b.over}
		var took [2]time.Duration
		var errs [2]error
		first := chance.IntN(2)
		for _, k := range []int{first, 1 - first} {
			took[k], errs[k] = ways[k](ctx, prompt)
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := errors.Join(errs[:]...); err != nil {
			r.Failed, last = r.Failed+1, err
			continue
		}
		engine, rest, over = append(engine, took[0]), append(rest, took[1]), append(over, took[1]-took[0])
	}
	if len(over) == 0 {
		return r, fmt.Errorf("no question was answered both ways: %w", last)
	}
	r.Engine, r.REST, r.Over = percentiles(engine), percentiles(rest), percentiles(over)
	r.Machine = r.Machine.after()
	return r, nil
}

// direct asks the model, and returns when its first text was there.
func (b Chat) direct(ctx context.Context, prompt string) (first time.Duration, err error) {
	q := b.Request
	q.Messages = []llm.Message{{Role: llm.System, Text: llmVoice}, {Role: llm.User, Text: prompt}}
	began := time.Now()
	for p, err := range b.Model.Generate(ctx, q) {
		if err != nil {
			return 0, err
		}
		if first == 0 && p.Text != "" {
			first = time.Since(began)
		}
	}
	if first == 0 {
		return 0, errors.New("the answer has no text")
	}
	return first, nil
}

// over asks the service, and returns when its first text was there.
func (b Chat) over(ctx context.Context, prompt string) (first time.Duration, err error) {
	body, err := json.Marshal(map[string]any{
		"model": b.Name, "stream": true, "temperature": b.Request.Sampling.Temperature, "max_tokens": b.Request.MaxTokens,
		"messages": []map[string]string{{"role": "system", "content": llmVoice}, {"role": "user", "content": prompt}},
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	q, err := http.NewRequestWithContext(ctx, "POST", b.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Content-Type", "application/json")
	if b.Key != "" {
		q.Header.Set("Authorization", "Bearer "+b.Key)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 4<<10))
		return 0, fmt.Errorf("%s: %s", a.Status, bytes.TrimSpace(text))
	}
	lines := bufio.NewScanner(a.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" || first > 0 {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return 0, fmt.Errorf("a chunk cannot be read: %w", err)
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			first = time.Since(began)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if first == 0 {
		return 0, errors.New("the answer has no text")
	}
	return first, nil
}
