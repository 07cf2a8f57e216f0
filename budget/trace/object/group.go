package object

import (
	"maps"
	"slices"
	"time"

	"riposte/budget/trace/store"
)

// Group is the statistics of a set of turns.
type Group struct {
	At       *time.Time             `json:"at,omitempty"` // When its span of time begins.
	Name     string                 `json:"name"`
	Turns    int                    `json:"turns"`
	Judged   int                    `json:"judged"` // Those that have a verdict; the percentiles are of these.
	Verdicts map[string]int         `json:"verdicts"`
	Unasked  map[string]int         `json:"unasked"`  // By what they answer.
	Plans    []float64              `json:"plans_ms"` // What the gaps might be, each once, the least first.
	Blamed   map[string]int         `json:"blamed"`
	Gap      Percentiles            `json:"gap_ms"`
	Stages   map[string]Percentiles `json:"stages_ms"`
}

// Percentiles are exact percentiles.
type Percentiles struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// GroupOf returns the object of a set's statistics.
func GroupOf(g store.Group) Group {
	o := Group{
		Name: g.Name, Turns: g.Turns, Judged: g.Judged(), Verdicts: plain(g.Verdicts), Unasked: plain(g.Unasked), Plans: []float64{}, Blamed: plain(g.Blamed), Gap: percentilesOf(g.Gap), Stages: map[string]Percentiles{},
	}
	for _, p := range slices.Sorted(maps.Keys(g.Plans)) {
		o.Plans = append(o.Plans, Millis(p))
	}
	if !g.At.IsZero() {
		o.At = &g.At
	}
	for stage, p := range g.Stages {
		o.Stages[string(stage)] = percentilesOf(p)
	}
	return o
}

func percentilesOf(p store.Percentiles) Percentiles {
	return Percentiles{p.N, Millis(p.P50), Millis(p.P90), Millis(p.P95), Millis(p.P99)}
}
