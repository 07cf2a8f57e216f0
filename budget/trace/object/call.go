package object

import (
	"time"

	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// Call is a call. What only a list counts is left out elsewhere.
type Call struct {
	ID       string         `json:"id"`
	Route    string         `json:"route"`
	Wire     string         `json:"wire"`
	Version  string         `json:"version"`
	Parent   string         `json:"traceparent,omitempty"`
	Began    time.Time      `json:"began"`
	Ended    *time.Time     `json:"ended"` // null while it goes on.
	Reason   string         `json:"reason"`
	Kept     int            `json:"turns"`
	Worst    *float64       `json:"worst_gap_ms,omitzero"` // In a list,
	Verdicts map[string]int `json:"verdicts,omitzero"`     // as is this,
	Unasked  map[string]int `json:"unasked,omitzero"`      // and this.
	EndedBy  string         `json:"ended_by"`              // caller, agent, service or line; empty while it goes on.
	Record   *trace.Record  `json:"record,omitempty"`      // What it came to.
}

// CallOf returns the object of a call, without what only a list counts.
func CallOf(c trace.Call) Call {
	out := Call{
		ID: c.ID, Route: c.Route, Wire: c.Wire, Version: c.Version, Parent: c.Parent, Began: c.Began, Reason: c.Reason, Kept: c.Turns,
		EndedBy: trace.EndedBy(c.Reason), Record: c.Record,
	}
	if !c.Ended.IsZero() {
		out.Ended = &c.Ended
	}
	return out
}

// CallsOf returns the objects of a page of a list, which are never null.
func CallsOf(page store.CallPage) []Call {
	out := make([]Call, 0, len(page.Calls))
	for _, c := range page.Calls {
		call, worst := CallOf(c.Call), Millis(c.Worst)
		call.Kept, call.Worst, call.Verdicts, call.Unasked = c.Kept, &worst, plain(c.Verdicts), plain(c.Unasked)
		out = append(out, call)
	}
	return out
}
