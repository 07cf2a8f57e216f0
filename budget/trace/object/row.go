package object

import (
	"time"

	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// Row is a turn in a list.
type Row struct {
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
	Origin   string             `json:"origin"` // Empty for what was said aloud.
	Said     string             `json:"said"`
	Answer   string             `json:"answer"`
	Recorded bool               `json:"recorded"`
}

// RowOf returns the object of a turn in a list.
func RowOf(r store.Row) Row {
	o := Row{
		ID: r.ID, Call: r.Call, Number: r.Number, At: r.At, Route: r.Route, Version: r.Version, Models: plain(r.Models), Status: r.Status,
		Verdict: string(r.Verdict), Blame: string(r.Blame), Plan: Millis(r.Plan), Stages: AllMillis(r.Stages), Origin: string(r.Origin), Said: r.Said, Answer: r.Answer, Recorded: r.Recorded,
	}
	if r.Gap > 0 {
		gap := Millis(r.Gap)
		o.Gap = &gap
	}
	return o
}

// RowsOf returns the objects of a page of a list, which are never null.
func RowsOf(page store.TurnPage) []Row {
	out := make([]Row, 0, len(page.Turns))
	for _, r := range page.Turns {
		out = append(out, RowOf(r))
	}
	return out
}

// rowOf returns the object of a whole turn as lists have it.
func rowOf(t trace.Turn, recorded bool) Row {
	r := t.Report
	return RowOf(store.Row{
		ID: t.ID, Call: t.Call, Number: t.Number, At: r.SpeechEnd, Route: t.Route, Version: t.Version, Models: t.Models, Status: t.Status, Verdict: r.Verdict,
		Blame: r.Blame, Plan: r.Plan.Total(), Gap: r.Total, Stages: r.Stages, Origin: t.Origin, Said: t.Said, Answer: t.Answer, Recorded: recorded,
	})
}
