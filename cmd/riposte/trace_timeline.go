package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// moment is something that happened in a turn.
type moment struct {
	at         time.Duration
	kind, text string
	look       style
}

// markTexts say what marks mean.
var markTexts = map[budget.Mark]string{
	budget.SpeechEnd: "the caller's last voiced sample", budget.Received: "it has reached the recogniser", budget.Decided: "the turn was found to be over",
	budget.Final: "the text is final", budget.FirstToken: "the model begins to answer", budget.FirstClause: "there is something to speak",
	budget.FirstAudio: "the voice has made sound", budget.FirstAudible: "something audible is on its way", budget.Answered: "the answer itself is", budget.Done: "the answer's last sound has left",
}

// timeline prints marks, words and events in the order of time.
func timeline(c canvas, t trace.Turn) error {
	var all []moment
	for m, at := range t.Report.Marks {
		all = append(all, moment{at, string(m), markTexts[m], bold})
	}
	for _, w := range t.Words {
		stable := min(max(w.Stable, 0), len(w.Text))
		all = append(all, moment{w.At, "words", w.Text[:stable] + "|" + w.Text[stable:], ""})
	}
	for _, a := range t.Report.Actions {
		all = append(all, moment{a.At, "action", string(a.Stage) + ": " + string(a.Kind), yellow})
	}
	for _, e := range t.Events {
		if e.Kind != trace.KindAction || len(t.Report.Actions) == 0 {
			all = append(all, moment{e.At, e.Kind, e.Detail, yellow})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	for _, m := range all {
		fmt.Fprintf(c.out, "  %7.0f  %s %s\n", float(m.at), c.in(m.look, pad(m.kind, 13)), clip(m.text, c.width-26))
	}
	for _, s := range budget.Stages {
		if w, ok := t.Work[s]; ok {
			fmt.Fprintln(c.out, c.in(faint, fmt.Sprintf("  %7s  %-13s %s", "", "executor",
				clip(fmt.Sprintf("%s: %d runs, %s in the queue, %s at work", s, w.Runs, inMS(w.Waited), inMS(w.Ran)), c.width-26))))
		}
	}
	return nil
}
