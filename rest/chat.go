package rest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"riposte/llm"
)

// chat answers POST /v1/chat/completions.
func (s *Server) chat(x *exchange) error {
	var q chatRequest
	if err := s.readJSON(x, &q); err != nil {
		return err
	}
	route, set, err := s.find(x, q.Model, s.Models.LLM)
	if err != nil {
		return err
	}
	r, err := q.request(set)
	if err != nil {
		return err
	}
	release, err := s.Admit()
	if err != nil {
		return err
	}
	defer release()
	c := completion{
		ID: "chatcmpl-" + rand.Text(), Created: time.Now().Unix(), Model: q.Model, Fingerprint: s.fingerprint(), logProbs: r.Sampling.LogProbs,
		counted: q.StreamOptions != nil && q.StreamOptions.IncludeUsage,
	}
	say := c.keep
	if q.Stream != nil && *q.Stream {
		say = func(p llm.Piece) error { return c.chunk(x, p) }
	}
	for p, err := range s.Engines(route).LLM.Generate(x.ctx, r) {
		if err != nil {
			return blamed(r, err)
		}
		x.piece(p)
		if err := say(p); err != nil {
			return err
		}
	}
	if x.stream {
		return x.done()
	}
	return x.reply(c.whole())
}

// fingerprint names what answers, so that clients can tell when it has become something else.
func (s *Server) fingerprint() string {
	sum := sha256.Sum256([]byte(s.Models.LLM + " " + s.Version))
	return "fp_" + hex.EncodeToString(sum[:6])
}

// completion is a chat completion in the making.
type completion struct {
	ID          string
	Created     int64
	Model       string
	Fingerprint string
	logProbs    bool
	counted     bool // The usage is told of a stream as well.

	begun  bool
	text   strings.Builder
	calls  []callObject
	tokens []llm.Token
	usage  *llm.Usage
}

// keep takes the next piece of an answer that is told as a whole.
func (c *completion) keep(p llm.Piece) error {
	c.text.WriteString(p.Text)
	c.tokens = append(c.tokens, p.Tokens...)
	if p.Call != nil {
		c.calls = append(c.calls, callOf(p.Call))
	}
	if p.Usage != nil {
		c.usage = p.Usage
	}
	return nil
}

// chunk sends the next piece of an answer.
func (c *completion) chunk(x *exchange, p llm.Piece) error {
	if !c.begun {
		c.begun = true
		if err := x.event("", c.chunkOf(delta{Role: "assistant", Content: new("")}, nil, "")); err != nil {
			return err
		}
	}
	switch {
	case p.Usage != nil:
		if err := x.event("", c.chunkOf(delta{}, nil, finishOf(p.Usage.Finish))); err != nil || !c.counted {
			return err
		}
		last := c.frame()
		last.Choices, last.Usage = []chunkChoice{}, usageOf(p.Usage)
		return x.event("", last)
	case p.Call != nil:
		call := callOf(p.Call)
		call.Index = new(len(c.calls))
		c.calls = append(c.calls, call)
		return x.event("", c.chunkOf(delta{Calls: []callObject{call}}, nil, ""))
	case p.Text != "" || len(p.Tokens) > 0:
		return x.event("", c.chunkOf(delta{Content: &p.Text}, c.odds(p.Tokens), ""))
	}
	return nil
}

// odds returns what is said of tokens, nil where it is not asked for.
func (c *completion) odds(tokens []llm.Token) *logProbs {
	if !c.logProbs {
		return nil
	}
	return &logProbs{Content: oddsOf(tokens)}
}

// finishOf names why an answer ended.
func finishOf(f llm.Finish) string {
	switch f {
	case llm.FinishLength:
		return "length"
	case llm.FinishTools:
		return "tool_calls"
	}
	return "stop"
}
