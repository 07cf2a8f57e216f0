package main

import (
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// rowObject is a turn in a list as --json prints it. Times are milliseconds.
type rowObject struct {
	ID       string             `json:"id"`
	Call     string             `json:"call"`
	Number   int                `json:"number"`
	At       time.Time          `json:"at"`
	Route    string             `json:"route"`
	Version  string             `json:"version"`
	Models   map[string]string  `json:"models"`
	Status   string             `json:"status"`
	Verdict  string             `json:"verdict"`
	Blame    string             `json:"blame"`
	Plan     float64            `json:"plan_ms"`
	Gap      *float64           `json:"gap_ms"` // null where nothing was answered aloud.
	Stages   map[string]float64 `json:"stages_ms"`
	Said     string             `json:"said"`
	Answer   string             `json:"answer"`
	Recorded bool               `json:"recorded"`
}

func rowObjectOf(r store.Row) rowObject {
	o := rowObject{
		ID: r.ID, Call: r.Call, Number: r.Number, At: r.At, Route: r.Route, Version: r.Version, Models: plainKeys(r.Models), Status: r.Status,
		Verdict: string(r.Verdict), Blame: string(r.Blame), Plan: float(r.Plan), Stages: floats(plainKeys(r.Stages)), Said: r.Said, Answer: r.Answer, Recorded: r.Recorded,
	}
	if r.Gap > 0 {
		gap := float(r.Gap)
		o.Gap = &gap
	}
	return o
}

// plainKeys returns a map with its keys as plain text.
func plainKeys[K ~string, V any](m map[K]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[string(k)] = v
	}
	return out
}

// rowsObject is a list of turns as --json prints it.
type rowsObject struct {
	Turns []rowObject  `json:"turns"`
	Next  store.Cursor `json:"next,omitempty"` // For --from.
}

func rowsObjectOf(page store.TurnPage) rowsObject {
	o := rowsObject{Turns: []rowObject{}, Next: page.Next}
	for _, r := range page.Turns {
		o.Turns = append(o.Turns, rowObjectOf(r))
	}
	return o
}

// callObject is a call as --json prints it.
type callObject struct {
	ID       string         `json:"id"`
	Route    string         `json:"route"`
	Wire     string         `json:"wire"`
	Version  string         `json:"version"`
	Parent   string         `json:"traceparent,omitempty"`
	Began    time.Time      `json:"began"`
	Ended    *time.Time     `json:"ended"` // null while it goes on.
	Reason   string         `json:"reason"`
	Kept     int            `json:"turns"`
	Worst    float64        `json:"worst_gap_ms"`
	Verdicts map[string]int `json:"verdicts"`
}

// callsObject is a list of calls as --json prints it.
type callsObject struct {
	Calls []callObject `json:"calls"`
	Next  store.Cursor `json:"next,omitempty"` // For --from.
}

func callsObjectOf(page store.CallPage) callsObject {
	o := callsObject{Calls: []callObject{}, Next: page.Next}
	for _, c := range page.Calls {
		call := callObject{
			ID: c.ID, Route: c.Route, Wire: c.Wire, Version: c.Version, Parent: c.Parent, Began: c.Began, Reason: c.Reason, Kept: c.Kept, Worst: float(c.Worst),
			Verdicts: plainKeys(c.Verdicts),
		}
		if !c.Ended.IsZero() {
			call.Ended = &c.Ended
		}
		o.Calls = append(o.Calls, call)
	}
	return o
}

// tracedObject is a turn, whole, as --json prints it.
type tracedObject struct {
	rowObject
	Shares  map[string]float64    `json:"shares_ms"`
	Marks   map[string]float64    `json:"marks_ms"`
	Actions []momentObject        `json:"actions"`
	Words   []wordsObject         `json:"words"`
	Events  []momentObject        `json:"events"`
	Tokens  tokensObject          `json:"tokens"`
	Work    map[string]workObject `json:"work"`
	Guesses guessesObject         `json:"guesses"`
	Reason  string                `json:"reason"`
	Tools   []string              `json:"tools"`
}

type momentObject struct {
	At     float64 `json:"at_ms"`
	Kind   string  `json:"kind"`
	Stage  string  `json:"stage,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

type wordsObject struct {
	At     float64 `json:"at_ms"`
	Text   string  `json:"text"`
	Stable int     `json:"stable"`
}

type tokensObject struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

type workObject struct {
	Runs   int     `json:"runs"`
	Waited float64 `json:"waited_ms"`
	Ran    float64 `json:"ran_ms"`
}

type guessesObject struct {
	Tries  int  `json:"tries"`
	Stood  bool `json:"stood"`
	Wasted int  `json:"wasted"`
}

func tracedObjectOf(t trace.Turn, recorded bool) tracedObject {
	r := t.Report
	o := tracedObject{
		rowObject: rowObjectOf(store.Row{
			ID: t.ID, Call: t.Call, Number: t.Number, At: r.SpeechEnd, Route: t.Route, Version: t.Version, Models: t.Models, Status: t.Status, Verdict: r.Verdict,
			Blame: r.Blame, Plan: r.Plan.Total(), Gap: r.Total, Stages: r.Stages, Said: t.Said, Answer: t.Answer, Recorded: recorded,
		}),
		Shares: map[string]float64{}, Marks: floats(plainKeys(r.Marks)), Actions: []momentObject{}, Words: []wordsObject{}, Events: []momentObject{},
		Tokens: tokensObject(t.Tokens), Work: map[string]workObject{}, Guesses: guessesObject(t.Guesses), Reason: t.Reason, Tools: append([]string{}, t.Tools...),
	}
	for _, stage := range budget.Stages {
		o.Shares[string(stage)] = float(r.Plan.Share(stage))
	}
	for _, a := range r.Actions {
		o.Actions = append(o.Actions, momentObject{At: float(a.At), Kind: string(a.Kind), Stage: string(a.Stage)})
	}
	for _, w := range t.Words {
		o.Words = append(o.Words, wordsObject{float(w.At), w.Text, w.Stable})
	}
	for _, e := range t.Events {
		o.Events = append(o.Events, momentObject{At: float(e.At), Kind: e.Kind, Detail: e.Detail})
	}
	for stage, w := range t.Work {
		o.Work[string(stage)] = workObject{w.Runs, float(w.Waited), float(w.Ran)}
	}
	return o
}
