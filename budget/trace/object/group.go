package object

import (
	"time"

	"riposte/budget/trace/store"
)

// Group is the statistics of a set of turns.
type Group struct {
	At       *time.Time             `json:"at,omitempty"` // When its span of time begins.
	Name     string                 `json:"name"`
	Turns    int                    `json:"turns"`
	Verdicts map[string]int         `json:"verdicts"`
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
		Name: g.Name, Turns: g.Turns, Verdicts: plain(g.Verdicts), Blamed: plain(g.Blamed), Gap: percentilesOf(g.Gap), Stages: map[string]Percentiles{},
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
