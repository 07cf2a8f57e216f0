package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"sync"
	"time"

	"riposte/budget"
)

// gather goes through the turns that f takes and counts them by spans of time and by the names in a column. It goes through
// both halves of their time at once, where no search for words comes first.
func (s *Store) gather(ctx context.Context, f Filter, column string, every time.Duration, known map[int64]name) (*gatherings, error) {
	var first, last sql.NullInt64
	if err := s.db.QueryRowContext(ctx, "SELECT (SELECT min(id) FROM turns), (SELECT max(id) FROM turns)").Scan(&first, &last); err != nil {
		return nil, err
	}
	halves := []Filter{f}
	if f.match() == "" && first.Valid {
		since, until := time.UnixMicro(first.Int64), time.UnixMicro(last.Int64)
		if f.Since.After(since) {
			since = f.Since
		}
		if !f.Until.IsZero() && f.Until.Before(until) {
			until = f.Until
		}
		if middle := since.Add(until.Sub(since) / 2).Truncate(time.Microsecond); middle.After(since) && middle.Before(until) {
			halves = []Filter{f, f}
			halves[0].Until, halves[1].Since = middle, middle
		}
	}
	parts, errs := make([]*gatherings, len(halves)), make([]error, len(halves))
	var all sync.WaitGroup
	for i, half := range halves {
		all.Go(func() { parts[i], errs[i] = s.gatherHalf(ctx, half, column, every, known) })
	}
	all.Wait()
	for _, part := range parts[1:] {
		parts[0].merge(part)
	}
	return parts[0], errors.Join(errs...)
}

// gatherHalf is gather, on one connection.
func (s *Store) gatherHalf(ctx context.Context, f Filter, column string, every time.Duration, known map[int64]name) (*gatherings, error) {
	all := &gatherings{every: every.Microseconds(), sets: map[groupKey]*gathering{}}
	number, done := s.connector.gatherer(all.add)
	defer done()
	w := f.turns(known).within()
	var rows int
	err := s.db.QueryRowContext(ctx, `SELECT gather(?, t.id, `+column+`, t.verdict, t.blame, t.gap, t.took_mic, t.took_stt, t.took_llm, t.took_tts)
		FROM turns t `+w.sql(), append([]any{number}, w.args...)...).Scan(&rows)
	return all, err
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

// merge adds to a what b has counted, and takes b apart.
func (a *gatherings) merge(b *gatherings) {
	for key, more := range b.sets {
		g := a.sets[key]
		if g == nil {
			a.sets[key] = more
			continue
		}
		g.turns += more.turns
		g.verdicts.merge(more.verdicts)
		g.blamed.merge(more.blamed)
		for i := range g.times {
			g.times[i] = append(g.times[i], more.times[i]...)
		}
	}
}

// merge adds the counts of b.
func (c *counts) merge(b counts) {
	for n, count := range b {
		if count > 0 {
			c.add(int64(n))
			(*c)[n] += count - 1
		}
	}
}

// floor returns the greatest multiple of step that is not above n.
func floor(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}
