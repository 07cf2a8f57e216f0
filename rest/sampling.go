package rest

import (
	"bytes"
	"encoding/json"
	"math"

	"riposte/llm"
)

// sampling is what requests say of how words are chosen. What they do not say is their route's.
type sampling struct {
	Temperature      *float32 `json:"temperature"`
	TopP             *float32 `json:"top_p"`
	PresencePenalty  *float32 `json:"presence_penalty"`
	FrequencyPenalty *float32 `json:"frequency_penalty"`
	Seed             *int64   `json:"seed"`
	// These are other servers' own.
	TopK              *int     `json:"top_k"`
	MinP              *float32 `json:"min_p"`
	RepetitionPenalty *float32 `json:"repetition_penalty"`
}

// over returns a route's sampling with what the request says over it.
func (q sampling) over(s llm.Sampling) (llm.Sampling, error) {
	for _, f := range []struct {
		name     string
		is       *float32
		to       *float32
		from, up float32
	}{
		{"temperature", q.Temperature, &s.Temperature, 0, 2},
		{"top_p", q.TopP, &s.TopP, 0, 1},
		{"presence_penalty", q.PresencePenalty, &s.PresencePenalty, -2, 2},
		{"frequency_penalty", q.FrequencyPenalty, &s.FrequencyPenalty, -2, 2},
		{"min_p", q.MinP, &s.MinP, 0, 1},
		{"repetition_penalty", q.RepetitionPenalty, &s.RepeatPenalty, 0, 10},
	} {
		if f.is == nil {
			continue
		}
		if !(*f.is >= f.from && *f.is <= f.up) {
			return s, wrong(f.name, "%s is %v; it can be from %v to %v.", f.name, *f.is, f.from, f.up)
		}
		*f.to = *f.is
	}
	if q.TopP != nil && *q.TopP == 0 { // the likeliest alone, where 0 is off to the model
		s.TopP = math.SmallestNonzeroFloat32
	}
	if q.TopK != nil {
		if *q.TopK < -1 || *q.TopK > 1<<20 {
			return s, wrong("top_k", "top_k is %d; it can be from 0, which is off, to %d.", *q.TopK, 1<<20)
		}
		s.TopK = max(0, *q.TopK)
	}
	if q.Seed != nil {
		s.Seed = seed(*q.Seed)
	}
	return s, nil
}

// seed makes of a request's seed one of the model's, to which the least and the greatest mean something else.
func seed(n int64) uint32 {
	s := uint32(n) ^ uint32(n>>32)
	if s == 0 || s == math.MaxUint32 {
		return 1 << 31
	}
	return s
}

// mostStops is how many texts may end an answer.
const mostStops = 4

// stops reads the field stop: a text, or several.
func stops(raw json.RawMessage) ([]string, error) {
	if isNull(raw) {
		return nil, nil
	}
	var all []string
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		all = make([]string, 1)
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			return nil, misread(err)
		}
	} else if json.Unmarshal(raw, &all) != nil {
		return nil, wrong("stop", "stop is neither a text nor a list of texts.")
	}
	if len(all) > mostStops {
		return nil, wrong("stop", "stop has %d texts; it may have %d.", len(all), mostStops)
	}
	for _, s := range all {
		if s == "" {
			return nil, wrong("stop", "stop has an empty text, which would end every answer: leave it out.")
		}
	}
	return all, nil
}
