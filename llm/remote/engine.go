// Package remote answers by chat models that are served elsewhere over OpenAI's protocol: by vLLM, llama-server, SGLang, Ollama, LiteLLM
// or a cloud. What such a model cannot do is said where the engine would do it.
package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"

	"riposte/llm"
	"riposte/remote"
)

// Engine has a server answer. Set the exported fields, then Open it. It is safe for use by many callers at once.
type Engine struct {
	Server *remote.Server
	First  time.Duration // How long the first of an answer may take; 0 has no limit.
	// ReadAhead has the server read what Read is given, for which it is asked for one token that nobody needs: servers that keep what they
	// have computed of a prompt then answer sooner. Without it Read does nothing.
	ReadAhead bool
	Extra     map[string]any // Is put into each request, for what only some servers know; a nil value takes a field out of it.

	chat openai.ChatCompletionService
}

var _ llm.Generator = (*Engine)(nil)

// Open makes ready. It does not ask the server anything.
func (e *Engine) Open(ctx context.Context) error {
	if err := e.Server.Open(ctx); err != nil {
		return err
	}
	e.chat = openai.NewChatCompletionService(e.Server.Options()...)
	return nil
}

// Close ends what is under way behind the calls.
func (e *Engine) Close() error { return e.Server.Close() }

// Generate yields the server's answer. It ends the request as soon as no more is wanted. The server cannot be told how urgent the answer is.
func (e *Engine) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		body, err := e.body(r)
		if err != nil {
			yield(llm.Piece{}, err)
			return
		}
		over := false // Nobody wants more.
		err = e.Server.Ask(ctx, remote.Want{First: e.First, Types: []string{"text/event-stream"}}, func(q *remote.Request) error {
			a := answer{request: q, most: r.MaxTokens, logProbs: r.Sampling.LogProbs, yield: func(p llm.Piece) bool {
				over = !yield(p, nil)
				return !over
			}}
			stream := e.chat.NewStreaming(q.Context(), body)
			defer stream.Close()
			for !a.done && stream.Next() {
				if err := a.take(stream.Current()); err != nil {
					return err
				}
			}
			return a.end(stream.Err())
		})
		if err != nil && !over {
			yield(llm.Piece{}, named(err))
		}
	}
}

// Read has the server read ahead, where that is wanted. It never tells whether a turn is over: that takes the model's own probabilities of
// what comes next, for which the protocol has no words.
func (e *Engine) Read(ctx context.Context, r llm.Request) (llm.Reading, error) {
	if !e.ReadAhead || len(r.Messages) == 0 {
		return llm.Reading{}, nil
	}
	r.MaxTokens, r.Stop, r.Format, r.Sampling = 1, nil, llm.Format{}, llm.Sampling{}
	body, err := e.body(r)
	if err != nil {
		return llm.Reading{}, err
	}
	body.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	var out llm.Reading
	err = e.Server.Ask(ctx, remote.Want{First: e.First, Types: []string{"application/json"}}, func(q *remote.Request) error {
		c, err := e.chat.New(q.Context(), body)
		if err != nil {
			return err
		}
		q.Began()
		out.Prompt, out.Cached = tokens(c.Usage.PromptTokens), tokens(c.Usage.PromptTokensDetails.CachedTokens)
		return nil
	})
	return out, named(err)
}

// named gives errors that the caller can do something about the names that all generators have for them.
func named(err error) error {
	r, ok := errors.AsType[*remote.Refused](err)
	if !ok {
		return err
	}
	why := strings.ToLower(r.Why)
	switch {
	case r.Status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", llm.ErrBusy, err)
	case r.Status == http.StatusBadRequest && strings.Contains(why, "context") && (strings.Contains(why, "length") || strings.Contains(why, "size") || strings.Contains(why, "window")):
		return fmt.Errorf("%w: %w", llm.ErrTooLong, err)
	}
	return err
}
