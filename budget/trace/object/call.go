package object

import (
	"time"

	"riposte/budget/trace/store"
)

// Call is a call in a list.
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
	Worst    float64        `json:"worst_gap_ms"`
	Verdicts map[string]int `json:"verdicts"`
	Unasked  map[string]int `json:"unasked"`
}

// CallsOf returns the objects of a page of a list, which are never null.
func CallsOf(page store.CallPage) []Call {
	out := make([]Call, 0, len(page.Calls))
	for _, c := range page.Calls {
		call := Call{
			ID: c.ID, Route: c.Route, Wire: c.Wire, Version: c.Version, Parent: c.Parent, Began: c.Began, Reason: c.Reason, Kept: c.Kept, Worst: Millis(c.Worst),
			Verdicts: plain(c.Verdicts), Unasked: plain(c.Unasked),
		}
		if !c.Ended.IsZero() {
			call.Ended = &c.Ended
		}
		out = append(out, call)
	}
	return out
}
