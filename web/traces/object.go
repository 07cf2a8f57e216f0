package traces

import (
	"strconv"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// The objects are what questions are answered with, as JSON. Their keys are those of riposte trace --json. Times are milliseconds, to the
// microsecond.

// rowObject is a turn in a list.
type rowObject struct {
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
	Said     string             `json:"said"`
	Answer   string             `json:"answer"`
	Recorded bool               `json:"recorded"`
}

func rowObjectOf(r store.Row) rowObject {
	o := rowObject{
		ID: r.ID, Call: r.Call, Number: r.Number, At: r.At, Route: r.Route, Version: r.Version, Models: plain(r.Models), Status: r.Status,
		Verdict: string(r.Verdict), Blame: string(r.Blame), Plan: millis(r.Plan), Stages: allMillis(r.Stages), Said: r.Said, Answer: r.Answer, Recorded: r.Recorded,
	}
	if r.Gap > 0 {
		gap := millis(r.Gap)
		o.Gap = &gap
	}
	return o
}

// rowsObject is a list of turns. The cursor is text, since JavaScript's numbers do not hold it exactly for ever.
type rowsObject struct {
	Turns []rowObject `json:"turns"`
	Next  string      `json:"next,omitempty"`
}

func rowsOfPage(page store.TurnPage) rowsObject {
	o := rowsObject{Turns: []rowObject{}, Next: cursor(page.Next)}
	for _, r := range page.Turns {
		o.Turns = append(o.Turns, rowObjectOf(r))
	}
	return o
}

// callObject is a call in a list.
type callObject struct {
	ID       string         `json:"id"`
	Route    string         `json:"route"`
	Wire     string         `json:"wire"`
	Version  string         `json:"version"`
	Parent   string         `json:"traceparent,omitempty"`
	Began    time.Time      `json:"began"`
	Ended    *time.Time     `json:"ended"` // null while it goes on.
	Reason   string         `json:"reason"`
	Kept     int            `json:"turns"`
	Worst    float64        `json:"worst_gap_ms"`
	Verdicts map[string]int `json:"verdicts"`
}

// callsObject is a list of calls.
type callsObject struct {
	Calls []callObject `json:"calls"`
	Next  string       `json:"next,omitempty"`
}

func callsOfPage(page store.CallPage) callsObject {
	o := callsObject{Calls: []callObject{}, Next: cursor(page.Next)}
	for _, c := range page.Calls {
		call := callObject{
			ID: c.ID, Route: c.Route, Wire: c.Wire, Version: c.Version, Parent: c.Parent, Began: c.Began, Reason: c.Reason, Kept: c.Kept, Worst: millis(c.Worst),
			Verdicts: plain(c.Verdicts),
		}
		if !c.Ended.IsZero() {
			call.Ended = &c.Ended
		}
		o.Calls = append(o.Calls, call)
	}
	return o
}

// turnObject is a turn, whole.
type turnObject struct {
	rowObject
	Shares   map[string]float64    `json:"shares_ms"`
	Observed bool                  `json:"observed"` // The budget did not act.
	Marks    map[string]float64    `json:"marks_ms"`
	Actions  []momentObject        `json:"actions"`
	Words    []wordsObject         `json:"words"`
	Events   []momentObject        `json:"events"`
	Tokens   tokensObject          `json:"tokens"`
	Work     map[string]workObject `json:"work"`
	Guesses  guessesObject         `json:"guesses"`
	Reason   string                `json:"reason"`
	Tools    []string              `json:"tools"`
	Sound    *soundObject          `json:"sound"` // null where nothing was recorded.
	Siblings []siblingObject       `json:"call_turns"`
}

type momentObject struct {
	At     float64 `json:"at_ms"`
	Kind   string  `json:"kind"`
	Stage  string  `json:"stage,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// wordsObject is what the recogniser thought. Sure is its part that will not change any more.
type wordsObject struct {
	At   float64 `json:"at_ms"`
	Text string  `json:"text"`
	Sure string  `json:"sure"`
}

type tokensObject struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

type workObject struct {
	Runs   int     `json:"runs"`
	Waited float64 `json:"waited_ms"`
	Ran    float64 `json:"ran_ms"`
}

type guessesObject struct {
	Tries  int  `json:"tries"`
	Stood  bool `json:"stood"`
	Wasted int  `json:"wasted"`
}

// soundObject says when what was recorded begins and how long it is.
type soundObject struct {
	Begins float64 `json:"begins_ms"` // Since the end of speech: negative.
	Length float64 `json:"length_ms"`
	Rate   int     `json:"rate"`
}

// siblingObject is another turn of the same call, or the turn itself.
type siblingObject struct {
	ID      string             `json:"id"`
	Number  int                `json:"number"`
	Verdict string             `json:"verdict"`
	Blame   string             `json:"blame"`
	Plan    float64            `json:"plan_ms"`
	Gap     float64            `json:"gap_ms"`
	Stages  map[string]float64 `json:"stages_ms"`
	Said    string             `json:"said"`
}

func siblingOf(t trace.Turn) siblingObject {
	r := t.Report
	return siblingObject{t.ID, t.Number, string(r.Verdict), string(r.Blame), millis(r.Plan.Total()), millis(r.Total), allMillis(r.Stages), t.Said}
}

func turnObjectOf(t trace.Turn, sound *trace.Sound) turnObject {
	r := t.Report
	o := turnObject{
		rowObject: rowObjectOf(store.Row{
			ID: t.ID, Call: t.Call, Number: t.Number, At: r.SpeechEnd, Route: t.Route, Version: t.Version, Models: t.Models, Status: t.Status, Verdict: r.Verdict,
			Blame: r.Blame, Plan: r.Plan.Total(), Gap: r.Total, Stages: r.Stages, Said: t.Said, Answer: t.Answer, Recorded: sound != nil,
		}),
		Shares: planOf(r.Plan), Observed: r.Plan.Observe, Marks: allMillis(r.Marks), Actions: []momentObject{}, Words: []wordsObject{}, Events: []momentObject{},
		Tokens: tokensObject(t.Tokens), Work: map[string]workObject{}, Guesses: guessesObject(t.Guesses), Reason: t.Reason, Tools: orEmpty(t.Tools),
		Siblings: []siblingObject{},
	}
	for _, a := range r.Actions {
		o.Actions = append(o.Actions, momentObject{At: millis(a.At), Kind: string(a.Kind), Stage: string(a.Stage)})
	}
	for _, w := range t.Words {
		o.Words = append(o.Words, wordsObject{millis(w.At), w.Text, w.Text[:min(max(w.Stable, 0), len(w.Text))]})
	}
	for _, e := range t.Events {
		o.Events = append(o.Events, momentObject{At: millis(e.At), Kind: e.Kind, Detail: e.Detail})
	}
	for stage, w := range t.Work {
		o.Work[string(stage)] = workObject{w.Runs, millis(w.Waited), millis(w.Ran)}
	}
	if sound != nil {
		o.Sound = &soundObject{Begins: millis(begins(sound, r)), Length: millis(length(sound)), Rate: sound.Rate}
	}
	return o
}

// percentilesObject are exact percentiles.
type percentilesObject struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// groupObject is the statistics of a set of turns.
type groupObject struct {
	At       *time.Time                   `json:"at,omitempty"`
	Name     string                       `json:"name"`
	Turns    int                          `json:"turns"`
	Verdicts map[string]int               `json:"verdicts"`
	Blamed   map[string]int               `json:"blamed"`
	Gap      percentilesObject            `json:"gap_ms"`
	Stages   map[string]percentilesObject `json:"stages_ms"`
}

func groupObjectOf(g store.Group) groupObject {
	of := func(p store.Percentiles) percentilesObject {
		return percentilesObject{p.N, millis(p.P50), millis(p.P90), millis(p.P95), millis(p.P99)}
	}
	o := groupObject{
		Name: g.Name, Turns: g.Turns, Verdicts: plain(g.Verdicts), Blamed: plain(g.Blamed), Gap: of(g.Gap), Stages: map[string]percentilesObject{},
	}
	if !g.At.IsZero() {
		o.At = &g.At
	}
	for stage, p := range g.Stages {
		o.Stages[string(stage)] = of(p)
	}
	return o
}

// statsObject is statistics.
type statsObject struct {
	Groups []groupObject      `json:"groups"`
	Every  float64            `json:"every_s"` // Length of a span; 0 where all time is one.
	First  *time.Time         `json:"first,omitempty"`
	Last   *time.Time         `json:"last,omitempty"`
	Plan   map[string]float64 `json:"shares_ms"`
}

// comparisonObject is two sets.
type comparisonObject struct {
	A    groupObject        `json:"a"`
	B    groupObject        `json:"b"`
	Plan map[string]float64 `json:"shares_ms"`
}

// namesObject is what filters can name, and what the page can do.
type namesObject struct {
	Routes   []string           `json:"routes"`
	Versions []string           `json:"versions"`
	Models   []string           `json:"models"`
	Statuses []string           `json:"statuses"`
	Verdicts []budget.Verdict   `json:"verdicts"`
	Stages   []budget.Stage     `json:"stages"`
	Plan     map[string]float64 `json:"shares_ms"`
	Service  string             `json:"service"`
	Exports  []string           `json:"exports"`
}

// planOf returns the shares of a plan.
func planOf(p budget.Plan) map[string]float64 {
	out := map[string]float64{}
	for _, stage := range budget.Stages {
		out[string(stage)] = millis(p.Share(stage))
	}
	return out
}

// plain returns a map with plain text for keys.
func plain[K ~string, V any](m map[K]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[string(k)] = v
	}
	return out
}

// allMillis returns times as milliseconds.
func allMillis[K ~string](m map[K]time.Duration) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		out[string(k)] = millis(v)
	}
	return out
}

// millis returns a time as milliseconds.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func cursor(c store.Cursor) string {
	if c == 0 {
		return ""
	}
	return strconv.FormatInt(int64(c), 10)
}
