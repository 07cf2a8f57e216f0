package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Dimension is what statistics are told apart by, besides time.
type Dimension string

// The dimensions.
const (
	ByNothing Dimension = ""
	ByModel   Dimension = "model" // The language model.
	BySTT     Dimension = "stt"   // The recogniser's model.
	ByTTS     Dimension = "tts"   // The voice.
	ByRoute   Dimension = "route"
	ByVersion Dimension = "version"
)

// noFigure stands for none of the names in figures.
const noFigure = -1

// figure returns which of the names in figures the dimension is.
func (d Dimension) figure() (int, error) {
	switch d {
	case ByNothing:
		return noFigure, nil
	case ByModel:
		return llmFigure, nil
	case BySTT:
		return sttFigure, nil
	case ByTTS:
		return ttsFigure, nil
	case ByRoute:
		return routeFigure, nil
	case ByVersion:
		return versionFigure, nil
	}
	return 0, fmt.Errorf("there are no statistics by %q", string(d))
}

// Split says what statistics are told apart by.
type Split struct {
	By    Dimension
	Every time.Duration // Length of the spans of time, which begin at whole multiples of it since 1970 in UTC; 0 for one that holds all.
}

// Group is the statistics of a set of turns.
type Group struct {
	At       time.Time // When its span of time begins; zero where all time is one.
	Name     string    // Of the model, route or version; empty for turns without one, and where all are one.
	Turns    int
	Verdicts map[budget.Verdict]int // NoVerdict counts what was said aloud and not answered aloud.
	Unasked  map[trace.Origin]int   // Turns without a verdict that answer something else.
	// What follows is of the turns that have a verdict.
	Blamed map[budget.Stage]int
	Plans  map[time.Duration]int // What their gaps might be, and of how many.
	Gap    Percentiles
	Stages map[budget.Stage]Percentiles
}

// Unknown is the origin of what older versions kept without one, though nobody had asked for it aloud.
const Unknown trace.Origin = "unknown"

// Judged returns how many turns have a verdict: shares of verdicts are shares of these.
func (g *Group) Judged() int {
	n := 0
	for v, k := range g.Verdicts {
		if v != NoVerdict {
			n += k
		}
	}
	return n
}

// Stats returns the statistics of the turns that f takes, split as asked, by time and then by name. Sets without turns are left out.
func (s *Store) Stats(ctx context.Context, f Filter, split Split) ([]Group, error) {
	by, err := split.By.figure()
	if err != nil {
		return nil, err
	}
	known, err := s.byNumber(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.gather(ctx, f, by, split.Every, known)
	if err != nil {
		return nil, fmt.Errorf("gathering statistics: %w", err)
	}
	var groups []Group
	for k, g := range all.sets {
		group := g.group(known)
		group.Name = known[k.name].text
		if split.Every > 0 {
			group.At = time.UnixMicro(k.span)
		}
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return groups, nil
}
