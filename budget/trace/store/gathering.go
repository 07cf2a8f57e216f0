package store

import (
	"context"
	"database/sql"
	"time"

	"riposte/budget"
)

// gather goes through the turns that f takes and counts them by spans of time and by one of their names, if that is one. All that is read is
// of one moment.
func (s *Store) gather(ctx context.Context, f Filter, by int, every time.Duration, known map[int64]name) (*gatherings, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // it only reads
	all := &gatherings{by: by, every: every.Microseconds(), sets: map[groupKey]*gathering{}}
	v, err := s.sieve(ctx, tx, f, known)
	if err != nil {
		return nil, err
	}
	return all, s.eachFigures(ctx, tx, v.since, v.before, func(f *figures) {
		if v.takes(f) {
			all.add(f)
		}
	})
}

// groupKey tells sets apart. No name is 0.
type groupKey struct{ span, name int64 }

// gatherings are the sets while their turns are counted.
type gatherings struct {
	by    int   // Which of the names tells sets apart; noFigure for none.
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

// add counts a turn.
func (a *gatherings) add(f *figures) {
	key := groupKey{}
	if a.by != noFigure {
		key.name = f.names[a.by]
	}
	if a.every > 0 {
		key.span = floor(f.id, a.every)
	}
	if a.set == nil || a.key != key {
		if a.key, a.set = key, a.sets[key]; a.set == nil {
			a.set = new(gathering)
			a.sets[key] = a.set
		}
	}
	g := a.set
	g.turns++
	g.verdicts.add(f.names[verdictFigure])
	g.blamed.add(f.names[blameFigure])
	for i, took := range f.times {
		if took != missing {
			g.times[i] = append(g.times[i], uint32(took))
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

// floor returns the greatest multiple of step that is not above n.
func floor(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}
