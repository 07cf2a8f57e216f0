package bench

import (
	"fmt"
	"math"
	"time"

	"riposte/budget"
	"riposte/caller"
)

// SoakResult is what Soak measured.
type SoakResult struct {
	Minutes     float64        `json:"minutes"` // That were asked for,
	Took        float64        `json:"seconds"` // and how long it was.
	Calls       int            `json:"calls"`   // That were taken,
	Wires       map[string]int `json:"calls_by_wire"`
	Refused     int            `json:"refused"` // and that were not, since there was no room.
	HungUp      int            `json:"hung_up_early"`
	LetGo       int            `json:"slow_readers_let_go"`
	Turns       int            `json:"turns"`
	Deeds       map[string]int `json:"deeds"`               // What callers did to have these turns.
	Outcomes    map[string]int `json:"outcomes"`            // What came of turns and requests: see outcome.
	REST        map[string]int `json:"requests"`            // Requests over REST, by kind and by what came of them.
	Struck      map[string]int `json:"faults"`              // That engines had.
	NotInjected int            `json:"failed_not_injected"` // Failures for which there was no reason,
	Failures    []SoakFailure  `json:"failures"`            // and these; the first 1,000 of them.

	RSSSlope       float64 `json:"rss_slope_per_hour"`       // Bytes an hour, by least squares over the samples behind the beginning,
	RSSError       float64 `json:"rss_slope_error"`          // give or take this: its standard error.
	RSSPart        float64 `json:"rss_slope_part"`           // The same as a part of what there was on average, an hour.
	HeapSlope      float64 `json:"heap_slope_per_hour"`      // The same of others: bytes,
	GoroutineSlope float64 `json:"goroutine_slope_per_hour"` // and numbers.
	ThreadSlope    float64 `json:"thread_slope_per_hour"`
	FileSlope      float64 `json:"file_slope_per_hour"`
	SocketSlope    float64 `json:"socket_slope_per_hour"`

	First   SoakPart      `json:"first_sixth"`
	Last    SoakPart      `json:"last_sixth"`
	Before  Usage         `json:"before"` // What the service had in use, with no call, before all callers,
	After   Usage         `json:"after"`  // and behind them.
	Verdict []SoakVerdict `json:"verdict"`
	LateMs  Percentiles   `json:"caller_late_ms"` // By how much the callers' own frames left late: what this machine could not do in time.
	Series  []SoakSample  `json:"series"`

	About
}

// SoakPart is a part of the time.
type SoakPart struct {
	Turns int         `json:"turns"`  // That were asked and answered, and nothing else,
	Gap   Percentiles `json:"gap_ms"` // and how soon, at the caller.
	Most  Usage       `json:"most"`   // The most that the service used of each.
}

// SoakVerdict is one thing that has to be as it was.
type SoakVerdict struct {
	What   string `json:"what"`
	Was    string `json:"was"`
	Wanted string `json:"wanted"`
	Bad    bool   `json:"bad"`
	Untold bool   `json:"untold"` // The run was too short, or ended early: neither good nor bad.
}

// Bad reports whether the service did not stand it.
func (r SoakResult) Bad() bool {
	for _, v := range r.Verdict {
		if v.Bad {
			return true
		}
	}
	return false
}

func newSoakResult(b *Soak) SoakResult {
	return SoakResult{
		Minutes: b.For.Minutes(), Wires: map[string]int{}, Deeds: map[string]int{}, Outcomes: map[string]int{}, REST: map[string]int{},
		Failures: []SoakFailure{}, Series: []SoakSample{}, About: about(b.Seed),
	}
}

// outcome is what came of a turn.
type outcome string

// Besides the service's own verdicts, met, masked and over, there are these.
const (
	heardInTime outcome = "in_time"  // On a telephone wire, where the verdict is not told: heard within the budget,
	heardLate   outcome = "late"     // or not.
	unsaid      outcome = "unjudged" // The service said nothing of it, as of keys.
	leftOff     outcome = "hung_up"  // The caller hung up before it was over.
	excused     outcome = "injected" // It failed, and an engine had a fault.
	gaveUp      outcome = "failed"   // It failed for no reason.
)

// judge says what came of a turn that nobody left.
func (s *soaking) judge(t caller.Turn, err error) outcome {
	switch {
	case err != nil:
		return gaveUp
	case t.Report == nil && t.Gap > s.Plan.Total():
		return heardLate
	case t.Report == nil:
		return heardInTime
	case t.Report.Verdict == string(budget.Failed):
		return gaveUp
	case t.Report.Verdict == "":
		return unsaid
	}
	return outcome(t.Report.Verdict)
}

const (
	// longestStart bounds the beginning, in which caches fill: slopes count from its end.
	longestStart = 10 * time.Minute
	// tells is how long a slope has to be watched until it says something of memory: what is kept for later callers grows for a while.
	tells = 30 * time.Minute
	// steepest is by which part memory may grow in an hour.
	steepest = 0.01
	// keptThreads is how many more threads there may be at the end: Go ends none that it has ever needed.
	keptThreads = 4
	// slower and slowerBy are how much longer the median gap may be at the end: by this part and this time.
	slower, slowerBy = 0.25, 50 * time.Millisecond
	// enough is of how many turns a median says something.
	enough = 20
)

// sum makes slopes and a verdict of what was counted.
func (s *soaking) sum() {
	r := &s.result
	r.Machine, r.LateMs, r.Struck = r.Machine.after(), percentiles(s.late), s.strikes.Counts()
	sixth := s.For / 6
	r.First, r.Last = s.part(0, sixth), s.part(s.For-sixth, s.For+time.Hour)
	start := min(sixth, longestStart).Seconds()
	var judged []SoakSample
	for _, x := range r.Series {
		if x.At >= start {
			judged = append(judged, x)
		}
	}
	of := func(y func(Usage) float64) trend { return trendOf(judged, y) }
	rss := of(func(u Usage) float64 { return float64(u.RSS) })
	r.RSSSlope, r.RSSError = rss.slope, rss.err
	if rss.mean > 0 {
		r.RSSPart = rss.slope / rss.mean
	}
	r.HeapSlope = of(func(u Usage) float64 { return float64(u.Heap) }).slope
	r.GoroutineSlope = of(func(u Usage) float64 { return float64(u.Goroutines) }).slope
	r.ThreadSlope = of(func(u Usage) float64 { return float64(u.Threads) }).slope
	r.FileSlope = of(func(u Usage) float64 { return float64(u.Files) }).slope
	r.SocketSlope = of(func(u Usage) float64 { return float64(u.Sockets) }).slope
	r.Verdict = r.verdict(rss)
}

// part sums up a part of the time.
func (s *soaking) part(from, to time.Duration) (p SoakPart) {
	var gaps []time.Duration
	for _, g := range s.gaps {
		if g.at >= from && g.at < to {
			gaps = append(gaps, g.gap)
		}
	}
	for _, x := range s.result.Series {
		if x.At >= from.Seconds() && x.At < to.Seconds() {
			p.Most = p.Most.most(x.Usage)
		}
	}
	p.Turns, p.Gap = len(gaps), percentiles(gaps)
	return p
}

// verdict says what of the service is as it was.
func (r SoakResult) verdict(rss trend) (all []SoakVerdict) {
	add := func(what string, bad, untold bool, wanted, was string, args ...any) {
		all = append(all, SoakVerdict{What: what, Was: fmt.Sprintf(was, args...), Wanted: wanted, Bad: bad && !untold, Untold: untold})
	}
	add("failures without a reason", r.NotInjected > 0, false, "0", "%d", r.NotInjected)
	// What lies within twice the error may as well be chance.
	add("memory", rss.slope-2*rss.err > steepest*rss.mean, rss.over < tells, "below 1 % an hour, over half an hour at least",
		"%+.2f %% an hour, give or take %.2f", 100*r.RSSPart, 200*rss.err/max(1, rss.mean))
	rested := r.After == Usage{} // it was ended early
	count := func(what string, before, after, slack int) {
		add(what+" when all have hung up", after > before+slack, rested, fmt.Sprintf("at most %d", before+slack), "%d", after)
	}
	count("goroutines", r.Before.Goroutines, r.After.Goroutines, keptGoroutines)
	count("file handles", r.Before.Files, r.After.Files, 0)
	count("sockets", r.Before.Sockets, r.After.Sockets, 0)
	threads := r.First.Most.Threads + keptThreads
	add("threads in the last sixth", r.Last.Most.Threads > threads, r.Last.Most.Threads == 0, fmt.Sprintf("at most %d", threads), "%d", r.Last.Most.Threads)
	most := r.First.Gap.P50*(1+slower) + ms(slowerBy)
	add("gap p50 in the last sixth", r.Last.Gap.P50 > most, min(r.First.Turns, r.Last.Turns) < enough, fmt.Sprintf("at most %.0f ms", most), "%.0f ms", r.Last.Gap.P50)
	return all
}

// trend is a straight one through samples, by least squares.
type trend struct {
	slope, err float64       // An hour; err is the standard error of slope.
	mean       float64       // Of the samples.
	over       time.Duration // From the first to the last.
}

// trendOf fits one. Samples that follow each other are alike, so that they tell less than as many that are not: the error takes the first
// order of that into account. Fewer than three samples have no slope.
func trendOf(all []SoakSample, y func(Usage) float64) (l trend) {
	n := float64(len(all))
	if n < 3 {
		return l
	}
	hour := func(x SoakSample) float64 { return x.At / time.Hour.Seconds() }
	var mx, my float64
	for _, x := range all {
		mx, my = mx+hour(x)/n, my+y(x.Usage)/n
	}
	l.mean, l.over = my, time.Duration((all[len(all)-1].At-all[0].At)*float64(time.Second))
	var xx, xy float64
	for _, x := range all {
		xx, xy = xx+(hour(x)-mx)*(hour(x)-mx), xy+(hour(x)-mx)*(y(x.Usage)-my)
	}
	if xx == 0 {
		return l
	}
	l.slope = xy / xx
	var square, beside, last float64
	for i, x := range all {
		off := y(x.Usage) - my - l.slope*(hour(x)-mx)
		square += off * off
		if i > 0 {
			beside += off * last
		}
		last = off
	}
	if square == 0 {
		return l
	}
	alike := max(0, min(0.99, beside/square))
	l.err = math.Sqrt(square/(n-2)/xx) * math.Sqrt((1+alike)/(1-alike))
	return l
}
