package traces

import (
	"strconv"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// The objects are what questions are answered with, as JSON. What riposte trace --json prints as well is in package object.

// rowsObject is a list of turns. The cursor is text, since JavaScript's numbers do not hold it exactly for ever.
type rowsObject struct {
	Turns []object.Row `json:"turns"`
	Next  string       `json:"next,omitempty"`
}

// callsObject is a list of calls.
type callsObject struct {
	Calls []object.Call `json:"calls"`
	Next  string        `json:"next,omitempty"`
}

// turnObject is a turn, whole, with what only the page shows of it.
type turnObject struct {
	object.Turn
	Observed bool            `json:"observed"` // The budget did not act.
	Words    []wordsObject   `json:"words"`    // In the place of the turn's.
	Sound    *soundObject    `json:"sound"`    // null where nothing was recorded.
	Siblings []siblingObject `json:"call_turns"`
}

// wordsObject is what the recogniser thought. Sure is its part that will not change any more.
type wordsObject struct {
	At   float64 `json:"at_ms"`
	Text string  `json:"text"`
	Sure string  `json:"sure"`
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
	Origin  string             `json:"origin"`
	Said    string             `json:"said"`
}

func siblingOf(t trace.Turn) siblingObject {
	r := t.Report
	return siblingObject{t.ID, t.Number, string(r.Verdict), string(r.Blame), object.Millis(r.Plan.Total()), object.Millis(r.Total), object.AllMillis(r.Stages), string(t.Origin), t.Said}
}

func turnObjectOf(t trace.Turn, sound *trace.Sound) turnObject {
	o := turnObject{Turn: object.TurnOf(t, sound != nil), Observed: t.Report.Plan.Observe, Words: []wordsObject{}, Siblings: []siblingObject{}}
	for _, w := range t.Words {
		o.Words = append(o.Words, wordsObject{object.Millis(w.At), w.Text, w.Text[:min(max(w.Stable, 0), len(w.Text))]})
	}
	if sound != nil {
		o.Sound = &soundObject{Begins: object.Millis(begins(sound, t.Report)), Length: object.Millis(length(sound)), Rate: sound.Rate}
	}
	return o
}

// statsObject is statistics.
type statsObject struct {
	Groups []object.Group `json:"groups"`
	Every  float64        `json:"every_s"` // Length of a span; 0 where all time is one.
	First  *time.Time     `json:"first,omitempty"`
	Last   *time.Time     `json:"last,omitempty"`
	budgetsObject
}

// budgetsObject is by what turns were judged.
type budgetsObject struct {
	Plans []float64          `json:"plans_ms"`  // What their gaps might be, each once, the least first.
	Plan  map[string]float64 `json:"shares_ms"` // null where they differ, or where nobody knows.
}

// comparisonObject is two sets.
type comparisonObject struct {
	A object.Group `json:"a"`
	B object.Group `json:"b"`
	budgetsObject
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

func cursor(c store.Cursor) string {
	if c == 0 {
		return ""
	}
	return strconv.FormatInt(int64(c), 10)
}
