package object

import (
	"riposte/budget"
	"riposte/budget/trace"
)

// Turn is a turn, whole.
type Turn struct {
	Row
	Shares  map[string]float64 `json:"shares_ms"`
	Marks   map[string]float64 `json:"marks_ms"`
	Actions []Moment           `json:"actions"`
	Words   []Words            `json:"words"`
	Events  []Moment           `json:"events"`
	Tokens  Tokens             `json:"tokens"`
	Work    map[string]Work    `json:"work"`
	Guesses Guesses            `json:"guesses"`
	Reason  string             `json:"reason"`
	Tools   []string           `json:"tools"`
}

// Moment is something that happened: an event, or that the budget acted.
type Moment struct {
	At     float64 `json:"at_ms"`
	Kind   string  `json:"kind"`
	Stage  string  `json:"stage,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// Words are what the recogniser thought. Stable is how many bytes of them will not change any more.
type Words struct {
	At     float64 `json:"at_ms"`
	Text   string  `json:"text"`
	Stable int     `json:"stable"`
}

// Tokens are what the model read and wrote.
type Tokens struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

// Work is what a stage's engine did.
type Work struct {
	Runs   int     `json:"runs"`
	Waited float64 `json:"waited_ms"`
	Ran    float64 `json:"ran_ms"`
}

// Guesses are the answers that were begun before the turn was decided.
type Guesses struct {
	Tries  int  `json:"tries"`
	Stood  bool `json:"stood"`
	Wasted int  `json:"wasted"`
}

// TurnOf returns the object of a turn, and of whether its sound was recorded.
func TurnOf(t trace.Turn, recorded bool) Turn {
	r := t.Report
	o := Turn{
		Row: rowOf(t, recorded), Shares: SharesOf(r.Plan), Marks: AllMillis(r.Marks), Actions: []Moment{}, Words: []Words{}, Events: []Moment{},
		Tokens: Tokens(t.Tokens), Work: map[string]Work{}, Guesses: Guesses(t.Guesses), Reason: t.Reason, Tools: append([]string{}, t.Tools...),
	}
	for _, a := range r.Actions {
		o.Actions = append(o.Actions, Moment{At: Millis(a.At), Kind: string(a.Kind), Stage: string(a.Stage)})
	}
	for _, w := range t.Words {
		o.Words = append(o.Words, Words{Millis(w.At), w.Text, w.Stable})
	}
	for _, e := range t.Events {
		o.Events = append(o.Events, Moment{At: Millis(e.At), Kind: e.Kind, Detail: e.Detail})
	}
	for stage, w := range t.Work {
		o.Work[string(stage)] = Work{w.Runs, Millis(w.Waited), Millis(w.Ran)}
	}
	return o
}

// SharesOf returns the shares of a plan, by stage.
func SharesOf(p budget.Plan) map[string]float64 {
	out := map[string]float64{}
	for _, stage := range budget.Stages {
		out[string(stage)] = Millis(p.Share(stage))
	}
	return out
}
