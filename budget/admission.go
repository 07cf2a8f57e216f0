package budget

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Strain says how much less is done for each call than could be, so that none is harmed. Each step takes in those before it.
type Strain int

// The steps, in the order in which they are taken.
const (
	Relaxed     Strain = iota
	NoGuesses          // No answer is begun before its turn is decided.
	FewPartials        // What a caller says is looked at half as often while it is said.
	SmallModel         // The hedge answers, where there is one.
)

// String names the step.
func (s Strain) String() string {
	return [...]string{"relaxed", "no_guesses", "few_partials", "small_model"}[min(max(s, Relaxed), SmallModel)]
}

// Admission decides whether one more call can be taken without harm to those that are held, by what the calls have cost so far
// and how soon they were answered. It is safe for use by many goroutines.
type Admission struct {
	Plan Plan        // How long the executor's queue may be. How soon a turn was answered goes by its own.
	Load func() Load // Of the executor.
	// Most is the part of the cores' time that calls may take: no more is taken on where one more would take it beyond that. It
	// defaults to 0.7; what the calls say at the same moment by chance needs the rest.
	Most float64

	mu   sync.Mutex
	gaps []gap
	came []*arrival // The newest calls that are held, whose cost is not to be seen yet.
	cost float64    // The part of the cores' time that one call takes, as learned; 0 before the first turn.
}

// arrival is when a call was taken.
type arrival struct{ at time.Time }

// gap is how long a caller has waited for an answer, and how long that might have taken by the turn's own plan.
type gap struct {
	at         time.Time
	took, plan time.Duration
}

// strain returns the part of what it might have taken that it took.
func (g gap) strain() float64 {
	if g.plan <= 0 {
		return 0
	}
	return g.took.Seconds() / g.plan.Seconds()
}

const (
	gapWindow  = 30 * time.Second // Over which gaps are judged,
	leastGaps  = 8                // if there are so many.
	trial      = busySpan         // After which a call's cost can be seen in the executor's load.
	firstGuess = 0.2              // What a call is taken to cost as long as nothing is known.
)

// Overload says why a call is not taken.
type Overload struct {
	Reason string // For programs: "cores", "queue" or "gap".
	Detail string // For people.
	Retry  time.Duration
}

func (o *Overload) Error() string { return o.Detail }

// TurnEnded learns from a turn, with so many calls held. What was heard in place of the answer does not count.
func (a *Admission) TurnEnded(r Report, calls int) {
	took, ok := r.Marks[Answered]
	switch {
	case r.Verdict == Failed:
		took = 2 * r.Plan.Total() // there was no answer
	case r.Verdict == "" || !ok:
		return
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gaps = append(a.gaps, gap{now, took, r.Plan.Total()})
	a.forget(now)
	if n := calls - len(a.came); n > 0 {
		each := a.Load().Busy / float64(calls)
		a.cost = cmp.Or(a.cost, each)
		a.cost += (each - a.cost) / 10
	}
}

// forget drops what is too old to count.
func (a *Admission) forget(now time.Time) {
	a.gaps = slices.DeleteFunc(a.gaps, func(g gap) bool { return now.Sub(g.at) > gapWindow })
	a.came = slices.DeleteFunc(a.came, func(c *arrival) bool { return now.Sub(c.at) > trial })
}

// Admit takes on one more call, with so many held already, until it is released: what has ended will cost nothing. The error is an
// *Overload.
func (a *Admission) Admit(calls int) (release func(), err error) {
	now, load := time.Now(), a.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	if calls > 0 {
		each := cmp.Or(a.cost, firstGuess)
		if will := load.Busy + each*(a.unseen(now)+1); will > a.most() {
			return nil, &Overload{"cores", fmt.Sprintf("One more call would take %.0f %% of the cores' time; %.0f %% may be taken.", 100*will, 100*a.most()), 5 * time.Second}
		}
		if load.Queue > a.Plan.STT {
			return nil, &Overload{"queue", fmt.Sprintf("The engines have %v of work to do before that of one more call.", load.Queue.Round(time.Millisecond)), 2 * time.Second}
		}
		if p := a.p95(); p.strain() > 1 {
			return nil, &Overload{"gap", fmt.Sprintf("The callers wait for their answers for %v now (p95); the budget is %v.", p.took.Round(time.Millisecond), p.plan), 10 * time.Second}
		}
	}
	call := &arrival{now}
	a.came = append(a.came, call)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.came = slices.DeleteFunc(a.came, func(c *arrival) bool { return c == call })
	}, nil
}

// unseen returns how many of the newest calls' cost is not in the load yet. It comes into it little by little.
func (a *Admission) unseen(now time.Time) (calls float64) {
	for _, c := range a.came {
		calls += 1 - min(1, now.Sub(c.at).Seconds()/trial.Seconds())
	}
	return calls
}

// Strain says what is to be left undone now. Answers that are late while the cores have little to do are late for other reasons, which
// doing less does not mend.
func (a *Admission) Strain() Strain {
	load := a.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(time.Now())
	worst := max(load.Busy/a.most(), load.Queue.Seconds()/a.Plan.STT.Seconds())
	if load.Busy > a.most()/2 {
		worst = max(worst, a.p95().strain())
	}
	switch {
	case worst > 1.1:
		return SmallModel
	case worst > 1:
		return FewPartials
	case worst > 0.9:
		return NoGuesses
	}
	return Relaxed
}

func (a *Admission) most() float64 { return cmp.Or(a.Most, 0.7) }

// p95 returns that of the gaps that count, by their strain; none while there are too few.
func (a *Admission) p95() gap {
	if len(a.gaps) < leastGaps {
		return gap{}
	}
	gaps := slices.Clone(a.gaps)
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.strain(), b.strain()) })
	return gaps[(len(gaps)*95+99)/100-1]
}
