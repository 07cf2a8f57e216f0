package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"time"

	"riposte/budget"
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

// column returns where the dimension stands.
func (d Dimension) column() (string, error) {
	switch d {
	case ByNothing:
		return "NULL", nil
	case ByModel:
		return "t.llm", nil
	case BySTT, ByTTS, ByRoute, ByVersion:
		return "t." + string(d), nil
	}
	return "", fmt.Errorf("there are no statistics by %q", string(d))
}

// Split says what statistics are told apart by.
type Split struct {
	By    Dimension
	Every time.Duration // Length of the spans of time, which begin at whole multiples of it since 1970 in UTC; 0 for one that holds all.
}

// Percentiles are exact percentiles of all samples, by nearest rank.
type Percentiles struct {
	N                  int // Samples.
	P50, P90, P95, P99 time.Duration
}

// Group is the statistics of a set of turns.
type Group struct {
	At       time.Time // When its span of time begins; zero where all time is one.
	Name     string    // Of the model, route or version; empty for turns without one, and where all are one.
	Turns    int
	Verdicts map[budget.Verdict]int // Those without a verdict count as NoVerdict.
	Blamed   map[budget.Stage]int
	Gap      Percentiles // Of the turns that were answered aloud.
	Stages   map[budget.Stage]Percentiles
}

// Stats returns the statistics of the turns that f takes, split as asked, by time and then by name. Sets without turns are left out.
func (s *Store) Stats(ctx context.Context, f Filter, split Split) ([]Group, error) {
	column, err := split.By.column()
	if err != nil {
		return nil, err
	}
	known, err := s.byNumber(ctx)
	if err != nil {
		return nil, err
	}
	all := gatherings{every: split.Every.Microseconds(), sets: map[groupKey]*gathering{}}
	number, done := s.connector.gatherer(all.add)
	defer done()
	w := f.turns(known).within()
	var rows int
	err = s.db.QueryRowContext(ctx, `SELECT gather(?, t.id, `+column+`, t.verdict, t.blame, t.gap, t.took_mic, t.took_stt, t.took_llm, t.took_tts)
		FROM turns t `+w.sql(), append([]any{number}, w.args...)...).Scan(&rows)
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

// groupKey tells sets apart. No name is 0.
type groupKey struct{ span, name int64 }

// gatherings are the sets while their turns are counted.
type gatherings struct {
	every int64 // Microseconds; 0 for one span.
	sets  map[groupKey]*gathering
	key   groupKey // Of the set that was used last: the next turn is often of the same.
	set   *gathering
}

// gathering is what is known of a set while its turns are counted. Verdicts and blamed stages are counted by the numbers of their names, those
// without one under 0. Times are microseconds; the gap's stand before the stages'.
type gathering struct {
	turns            int
	verdicts, blamed counts
	times            [1 + len(budget.Stages)][]uint32
}

// counts counts small numbers.
type counts []int

func (c *counts) add(n int64) {
	for int64(len(*c)) <= n {
		*c = append(*c, 0)
	}
	(*c)[n]++
}

// add counts a turn: when, name, verdict, blame, gap and a time for each stage.
func (a *gatherings) add(row []driver.Value) {
	at, _ := row[0].(int64)
	key := groupKey{}
	key.name, _ = row[1].(int64)
	if a.every > 0 {
		key.span = floor(at, a.every)
	}
	if a.set == nil || a.key != key {
		if a.key, a.set = key, a.sets[key]; a.set == nil {
			a.set = new(gathering)
			a.sets[key] = a.set
		}
	}
	g := a.set
	g.turns++
	verdict, _ := row[2].(int64)
	blame, _ := row[3].(int64)
	g.verdicts.add(verdict)
	g.blamed.add(blame)
	for i := range g.times {
		if took, ok := row[4+i].(int64); ok {
			g.times[i] = append(g.times[i], uint32(min(max(took, 0), math.MaxUint32))) // more than an hour is an hour
		}
	}
}

// group returns the statistics. It takes the times apart.
func (g *gathering) group(known map[int64]name) Group {
	out := Group{Turns: g.turns, Verdicts: map[budget.Verdict]int{}, Blamed: map[budget.Stage]int{}, Stages: map[budget.Stage]Percentiles{}}
	for id, n := range g.verdicts {
		v := NoVerdict
		if id != 0 {
			v = budget.Verdict(known[int64(id)].text)
		}
		if n > 0 {
			out.Verdicts[v] = n
		}
	}
	for id, n := range g.blamed {
		if id != 0 && n > 0 {
			out.Blamed[budget.Stage(known[int64(id)].text)] = n
		}
	}
	out.Gap = percentiles(g.times[0])
	for i, stage := range budget.Stages {
		if len(g.times[i+1]) > 0 {
			out.Stages[stage] = percentiles(g.times[i+1])
		}
	}
	return out
}

// percentiles returns those of the times, which it puts in another order; without any they are 0.
func percentiles(times []uint32) Percentiles {
	p := Percentiles{N: len(times)}
	if p.N == 0 {
		return p
	}
	low := 0
	for _, want := range []struct {
		share float64
		to    *time.Duration
	}{{0.50, &p.P50}, {0.90, &p.P90}, {0.95, &p.P95}, {0.99, &p.P99}} {
		rank := max(int(math.Ceil(want.share*float64(p.N))), 1) - 1
		rise(times[low:], rank-low)
		*want.to = micros(int64(times[rank]))
		low = rank
	}
	return p
}

// rise brings the number that sorting would put at place k there, with none above it before it and none below it after it. It takes
// a time that is proportional to the numbers, where sorting them takes several times that.
func rise(v []uint32, k int) {
	for len(v) > 32 {
		// The pivot is the middle of three, against sorted lists.
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		less, more := 0, len(v) // v[:less] are below the pivot, v[more:] above it.
		for i := 0; i < more; {
			switch {
			case v[i] < pivot:
				v[i], v[less] = v[less], v[i]
				less++
				i++
			case v[i] > pivot:
				more--
				v[i], v[more] = v[more], v[i]
			default:
				i++
			}
		}
		switch {
		case k < less:
			v = v[:less]
		case k >= more:
			v, k = v[more:], k-more
		default:
			return
		}
	}
	slices.Sort(v)
}

// floor returns the greatest multiple of step that is not above n.
func floor(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}
