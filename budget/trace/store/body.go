package store

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// body is what is kept of a turn besides its columns. Times are microseconds. The names of its keys are in files, so they stay.
type body struct {
	End     int64                     `json:"end,omitempty"` // Microseconds since 1970; missing where the turn has no end of speech.
	Plan    [len(budget.Stages)]int64 `json:"plan"`
	Observe bool                      `json:"observe,omitempty"` // The plan only judged.
	Marks   map[budget.Mark]int64     `json:"marks,omitempty"`
	Actions []bodyAction              `json:"actions,omitempty"`
	Words   []bodyWord                `json:"words,omitempty"`
	Models  map[budget.Stage]string   `json:"models,omitempty"` // Of stages that have no column.
	Tokens  []int                     `json:"tokens,omitempty"` // Input, cached, output.
	Work    map[budget.Stage][3]int64 `json:"work,omitempty"`   // Runs, waited, ran.
	Guesses *bodyGuesses              `json:"guesses,omitempty"`
	Reason  string                    `json:"reason,omitempty"`
	Tools   []string                  `json:"tools,omitempty"`
	Events  []bodyEvent               `json:"events,omitempty"`
}

type bodyAction struct {
	Stage budget.Stage      `json:"stage"`
	Kind  budget.ActionKind `json:"kind"`
	At    int64             `json:"at"`
}

type bodyWord struct {
	At     int64  `json:"at"`
	Text   string `json:"text"`
	Stable int    `json:"stable,omitempty"`
}

type bodyGuesses struct {
	Tries  int  `json:"tries,omitempty"`
	Stood  bool `json:"stood,omitempty"`
	Wasted int  `json:"wasted,omitempty"`
}

type bodyEvent struct {
	At     int64  `json:"at"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

// bodyOf returns what the columns leave out.
func bodyOf(t *trace.Turn) body {
	r := &t.Report
	b := body{Observe: r.Plan.Observe, Reason: t.Reason, Tools: t.Tools}
	if !r.SpeechEnd.IsZero() {
		b.End = r.SpeechEnd.UnixMicro()
	}
	for i, stage := range budget.Stages {
		b.Plan[i] = r.Plan.Share(stage).Microseconds()
	}
	if len(r.Marks) > 0 {
		b.Marks = make(map[budget.Mark]int64, len(r.Marks))
	}
	for m, at := range r.Marks {
		b.Marks[m] = at.Microseconds()
	}
	for _, a := range r.Actions {
		b.Actions = append(b.Actions, bodyAction{a.Stage, a.Kind, a.At.Microseconds()})
	}
	for _, w := range t.Words {
		b.Words = append(b.Words, bodyWord{w.At.Microseconds(), w.Text, w.Stable})
	}
	for stage, model := range t.Models {
		if stage == budget.Mic {
			b.Models = map[budget.Stage]string{stage: model}
		}
	}
	if t.Tokens != (trace.Tokens{}) {
		b.Tokens = []int{t.Tokens.Input, t.Tokens.Cached, t.Tokens.Output}
	}
	if len(t.Work) > 0 {
		b.Work = make(map[budget.Stage][3]int64, len(t.Work))
	}
	for stage, w := range t.Work {
		b.Work[stage] = [3]int64{int64(w.Runs), w.Waited.Microseconds(), w.Ran.Microseconds()}
	}
	if t.Guesses != (trace.Guesses{}) {
		g := bodyGuesses(t.Guesses)
		b.Guesses = &g
	}
	for _, e := range t.Events {
		b.Events = append(b.Events, bodyEvent{e.At.Microseconds(), e.Kind, e.Detail})
	}
	return b
}

// fill writes to t what the body says.
func (b *body) fill(t *trace.Turn) {
	r := &t.Report
	if b.End != 0 {
		r.SpeechEnd = time.UnixMicro(b.End)
	}
	r.Plan = budget.Plan{Mic: micros(b.Plan[0]), STT: micros(b.Plan[1]), LLM: micros(b.Plan[2]), TTS: micros(b.Plan[3]), Observe: b.Observe}
	r.Marks = make(map[budget.Mark]time.Duration, len(b.Marks))
	for m, at := range b.Marks {
		r.Marks[m] = micros(at)
	}
	for _, a := range b.Actions {
		r.Actions = append(r.Actions, budget.Action{Stage: a.Stage, Kind: a.Kind, At: micros(a.At)})
	}
	for _, w := range b.Words {
		t.Words = append(t.Words, trace.Heard{At: micros(w.At), Text: w.Text, Stable: w.Stable})
	}
	for stage, model := range b.Models {
		t.Models[stage] = model
	}
	if len(b.Tokens) == 3 {
		t.Tokens = trace.Tokens{Input: b.Tokens[0], Cached: b.Tokens[1], Output: b.Tokens[2]}
	}
	if len(b.Work) > 0 {
		t.Work = make(map[budget.Stage]trace.Work, len(b.Work))
	}
	for stage, w := range b.Work {
		t.Work[stage] = trace.Work{Runs: int(w[0]), Waited: micros(w[1]), Ran: micros(w[2])}
	}
	if b.Guesses != nil {
		t.Guesses = trace.Guesses(*b.Guesses)
	}
	for _, e := range b.Events {
		t.Events = append(t.Events, trace.Event{At: micros(e.At), Kind: e.Kind, Detail: e.Detail})
	}
	t.Reason, t.Tools = b.Reason, b.Tools
}

// deflated is the first byte of a packed body that is JSON, deflated with the dictionary. Another dictionary is another byte.
const deflated = 1

// dictionary is what bodies are likely to contain, the likeliest last. It is in files, so it stays.
const dictionary = `"reason":"interrupted","models":{"mic":"}"tools":["kind":"degraded","kind":"redial","kind":"fault","kind":"dropped","kind":"tool",` +
	`"kind":"truncated","kind":"continued","kind":"action","detail":"hedge"faster_voice"cached_clause"catch_up"best_hypothesis"opener"}],` +
	`"actions":[{"stage":"stt","kind":"hedge","at":},{"stage":"llm","kind":"opener","at":"kind":"released","kind":"held"},{"at":,"kind":"guess","detail":"` +
	`"kind":"barge_in","detail":"` + `{"end":1,"plan":[40000,300000,400000,150000],"marks":{"answered":,"decided":,"done":,"final":,"first_audible":,"first_audio":,` +
	`"first_clause":,"first_token":,"received":,"speech_end":0},"words":[{"at":-,"text":"I ","stable":},{"at":-,"text":"Can you ","stable":` +
	`},{"at":-,"text":"What is the ","stable":}],"tokens":[,"work":{"llm":[,"stt":[,"tts":[]},"guesses":{"tries":1,"stood":true,"wasted":},"events":[{"at":`

// packer packs bodies. It is not safe for use by several goroutines.
type packer struct {
	out     bytes.Buffer
	deflate *flate.Writer
}

// pack returns b packed.
func (p *packer) pack(b body) ([]byte, error) {
	p.out.Reset()
	p.out.WriteByte(deflated)
	if p.deflate == nil {
		var err error
		if p.deflate, err = flate.NewWriterDict(&p.out, flate.DefaultCompression, []byte(dictionary)); err != nil {
			return nil, err
		}
	} else {
		p.deflate.Reset(&p.out)
	}
	if err := json.NewEncoder(p.deflate).Encode(b); err != nil {
		return nil, err
	}
	if err := p.deflate.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// unpack returns what packed was made of.
func unpack(packed []byte) (body, error) {
	var b body
	if len(packed) == 0 || packed[0] != deflated {
		return b, fmt.Errorf("packed in a way that this version does not know")
	}
	r := flate.NewReaderDict(bytes.NewReader(packed[1:]), []byte(dictionary))
	text, err := io.ReadAll(r)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(text, &b)
}
