package store

import (
	"context"
	"database/sql"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
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

// gathering is what is known of a set while its turns are counted. Times, plans and blamed stages are of the turns that have a verdict. Verdicts,
// origins and blamed stages are counted by the numbers of their names, those
// without one under 0. Times are microseconds; the gap's stand before the stages'.
type gathering struct {
	turns                     int
	verdicts, unasked, blamed counts
	plans                     map[int64]int // By microseconds.
	plan, planned             int64         // The one that was counted last, and how often it was since another one was.
	times                     [1 + len(budget.Stages)][]uint32
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
	if f.names[verdictFigure] == 0 {
		// What older versions kept of greetings and prompts says of them only that they were heard without being judged.
		if f.names[originFigure] != 0 || f.times[0] != missing {
			g.unasked.add(f.names[originFigure])
		} else {
			g.verdicts.add(0)
		}
		return
	}
	g.verdicts.add(f.names[verdictFigure])
	g.blamed.add(f.names[blameFigure])
	if f.plan != g.plan {
		g.keepPlan()
		g.plan = f.plan
	}
	g.planned++
	for i, took := range f.times {
		if took != missing {
			g.times[i] = append(g.times[i], uint32(took))
		}
	}
}

// keepPlan counts the plan of the turns before, which is seldom another one than that of the next.
func (g *gathering) keepPlan() {
	if g.planned == 0 {
		return
	}
	if g.plans == nil {
		g.plans = map[int64]int{}
	}
	g.plans[g.plan] += int(g.planned)
	g.planned = 0
}

// group returns the statistics. It takes the times apart.
func (g *gathering) group(known map[int64]name) Group {
	out := Group{
		Turns: g.turns, Verdicts: map[budget.Verdict]int{}, Unasked: map[trace.Origin]int{}, Blamed: map[budget.Stage]int{}, Plans: map[time.Duration]int{},
		Stages: map[budget.Stage]Percentiles{},
	}
	for id, n := range g.unasked {
		origin := Unknown
		if id != 0 {
			origin = trace.Origin(known[int64(id)].text)
		}
		if n > 0 {
			out.Unasked[origin] = n
		}
	}
	g.keepPlan()
	for plan, n := range g.plans {
		out.Plans[micros(plan)] = n
	}
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
