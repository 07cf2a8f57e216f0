package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// traceShowCmd shows one turn, or one call.
type traceShowCmd struct {
	ID   string `arg:"" help:"A turn's ID, the beginning of one, CALL/NUMBER, or a call's ID."`
	JSON bool   `name:"json" help:"Print JSON instead: one object for a turn, a list for a call."`
	traceFile
}

// Help says how to read what it prints.
func (c *traceShowCmd) Help() string {
	return "Times are milliseconds since the caller's last voiced sample. Bars are the stages, light where they are beyond their share; the dotted line is " +
		"where the budget ends. Of the words that were heard so far, those before | did not change any more."
}

// Run finds and prints.
func (c *traceShowCmd) Run(ctx context.Context, k *kong.Context) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	turns, err := c.turns(ctx, s)
	if err != nil {
		return err
	}
	var objects []tracedObject
	on := canvasOn(k.Stdout)
	for i, t := range turns {
		_, err := s.Sound(ctx, fmt.Sprintf("%s/%d", t.Call, t.Number))
		if err != nil && !errors.Is(err, store.ErrNoSound) {
			return err
		}
		if objects = append(objects, tracedObjectOf(t, err == nil)); c.JSON {
			continue
		}
		if i > 0 {
			fmt.Fprintln(k.Stdout)
		}
		if err := showTraced(on, t, err == nil); err != nil {
			return err
		}
	}
	switch {
	case !c.JSON:
		return nil
	case len(objects) == 1 && objects[0].Call != c.ID:
		return json.NewEncoder(k.Stdout).Encode(objects[0])
	}
	return json.NewEncoder(k.Stdout).Encode(objects)
}

// turns returns the turn that the ID names, or those of the call.
func (c *traceShowCmd) turns(ctx context.Context, s *store.Store) ([]trace.Turn, error) {
	turn, missing := s.Turn(ctx, c.ID)
	if missing == nil {
		return []trace.Turn{turn}, nil
	}
	unknown, ok := errors.AsType[*store.UnknownError](missing)
	if !ok {
		return nil, missing
	}
	call, err := s.Call(ctx, c.ID)
	if other, ok := errors.AsType[*store.UnknownError](err); ok {
		// Whichever kind of ID shares more of its beginning is what was meant.
		if nearness(other, c.ID) > nearness(unknown, c.ID) {
			return nil, other
		}
		return nil, unknown
	} else if err != nil {
		return nil, err
	}
	var turns []trace.Turn
	for t, err := range s.OfCall(ctx, call.ID) {
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	if len(turns) == 0 {
		return nil, fmt.Errorf("no turn of call %s is kept", call.ID)
	}
	return turns, nil
}

// nearness returns how much of the beginning of id the nearest of others shares.
func nearness(u *store.UnknownError, id string) int {
	best := 0
	for _, other := range u.Nearest {
		n := 0
		for n < len(id) && n < len(other) && id[n] == other[n] {
			n++
		}
		best = max(best, n)
	}
	return best
}

// showTraced prints a turn: what was said, its stages against the budget, and what happened, in the order of time.
func showTraced(c canvas, t trace.Turn, recorded bool) error {
	r := t.Report
	about := []string{t.ID, fmt.Sprintf("turn %d of %s", t.Number, t.Call)}
	for _, s := range []string{t.Route, t.Version} {
		if s != "" {
			about = append(about, s)
		}
	}
	if !r.SpeechEnd.IsZero() {
		about = append(about, r.SpeechEnd.Format("2006-01-02 15:04:05.000"))
	}
	fmt.Fprintln(c.out, c.in(bold, about[0])+c.in(faint, "  "+strings.Join(about[1:], " · ")))
	paragraph(c, "said", orNothing(t.Said))
	paragraph(c, "answer", orNothing(t.Answer))
	fmt.Fprintf(c.out, "  %-8s %s\n", "verdict", sentence(c, t))
	if models := modelsOf(t); models != "" {
		paragraph(c, "models", models)
	}
	paragraph(c, "tokens", fmt.Sprintf("%d read, %d of them known already; %d written", t.Tokens.Input, t.Tokens.Cached, t.Tokens.Output))
	if t.Guesses.Tries > 0 {
		what := "none of which was given"
		if t.Guesses.Stood {
			what = "of which one was given"
		}
		paragraph(c, "guesses", fmt.Sprintf("%d, %s; %d tokens thrown away", t.Guesses.Tries, what, t.Guesses.Wasted))
	}
	if len(t.Tools) > 0 {
		paragraph(c, "tools", strings.Join(t.Tools, ", "))
	}
	if recorded {
		paragraph(c, "sound", "recorded")
	}
	fmt.Fprintln(c.out)
	waterfall(c, t)
	fmt.Fprintln(c.out)
	return timeline(c, t)
}

// paragraph prints text under a name.
func paragraph(c canvas, name, text string) {
	for i, line := range wrap(text, c.width-11) {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(c.out, "  %s %s\n", c.in(faint, pad(name, 8)), line)
	}
}

// sentence says how the turn went.
func sentence(c canvas, t trace.Turn) string {
	r := t.Report
	text := judged(r.Verdict, r.Blame)
	if r.Total > 0 {
		diff := r.Total - r.Plan.Total()
		how := fmt.Sprintf(", %s to spare", inMS(-diff))
		if diff > 0 {
			how = fmt.Sprintf(", %s too long", inMS(diff))
		}
		text += fmt.Sprintf(", %s of %s", inMS(r.Total), inMS(r.Plan.Total())) + how
	}
	text = c.in(verdictStyles[r.Verdict], text)
	if t.Status != "" {
		text += "; " + t.Status
	}
	if t.Reason != "" {
		text += " (" + t.Reason + ")"
	}
	return text
}

// modelsOf lists the models with their stages.
func modelsOf(t trace.Turn) string {
	var list []string
	for _, s := range budget.Stages {
		if m := t.Models[s]; m != "" {
			list = append(list, string(s)+" "+m)
		}
	}
	return strings.Join(list, ", ")
}

// waterfall draws the stages below each other, from the end of speech to the right, against the line where the budget ends.
func waterfall(c canvas, t trace.Turn) {
	r := t.Report
	const left = 30 // Stage, time, share, excess.
	width := max(c.width-left-1, 20)
	total := max(r.Total, r.Plan.Total())
	if total <= 0 {
		return
	}
	scale := float64(width) / (1.04 * float64(total))
	at := func(d time.Duration) int { return min(max(int(math.Round(float64(d)*scale)), 0), width) }
	line := min(at(r.Plan.Total()), width-1)

	fmt.Fprintf(c.out, "  %s\n", c.in(faint, fmt.Sprintf("%-5s %5s %5s %6s    %s", "ms", "took", "share", "over", ruler(width, total, at))))
	var begin time.Duration
	for _, s := range budget.Stages {
		d, ok := r.Stages[s]
		from, to := at(begin), at(begin+d)
		if ok && d > 0 && to == from {
			to = min(from+1, width)
		}
		// What a stage took beyond its share is marked.
		share := max(min(at(begin+r.Plan.Share(s)), to), from)
		over := ""
		if excess := d - r.Plan.Share(s); ok && excess > 0 {
			over = fmt.Sprintf("+%.0f", float(excess))
		}
		bar := []rune(strings.Repeat(" ", from) + strings.Repeat("█", share-from) + strings.Repeat("▓", to-share) + strings.Repeat(" ", width-to))
		fmt.Fprintf(c.out, "  %-5s %s %s %s    %s\n", s, whole(d, ok, 5), whole(r.Plan.Share(s), true, 5), c.in(red, fmt.Sprintf("%6s", over)), c.bar(bar, line, stageStyles[s]))
		begin += d
	}
	over := ""
	if r.Total > r.Plan.Total() {
		over = fmt.Sprintf("+%.0f", float(r.Total-r.Plan.Total()))
	}
	const label = "budget "
	fmt.Fprintf(c.out, "  %-5s %s %s %s    %s%s\n", "gap", c.in(bold, whole(r.Total, r.Total > 0, 5)), whole(r.Plan.Total(), true, 5), c.in(red, fmt.Sprintf("%6s", over)),
		c.in(faint, fmt.Sprintf("%*s", line, label)), c.in(yellow, "┊"))
}

// bar returns a bar with the budget's line across it: what is full in a style, what is beyond in red.
func (c canvas) bar(bar []rune, line int, s style) string {
	var b strings.Builder
	for i := 0; i < len(bar); {
		r, end := bar[i], i+1
		if i == line && r == ' ' {
			b.WriteString(c.in(yellow, "┊"))
			i = end
			continue
		}
		for end < len(bar) && bar[end] == r && (end != line || r != ' ') {
			end++
		}
		look := style("")
		switch r {
		case '█':
			look = s
		case '▓':
			look = red
		}
		b.WriteString(c.in(look, string(bar[i:end])))
		i = end
	}
	return strings.TrimRight(b.String(), " ")
}

// ruler returns a scale of milliseconds.
func ruler(width int, total time.Duration, at func(time.Duration) int) string {
	step := 100 * time.Millisecond
	for _, factor := range []time.Duration{2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if at(step) >= 8 {
			break
		}
		step = factor * 100 * time.Millisecond
	}
	line := []rune(strings.Repeat(" ", width))
	for d := time.Duration(0); d <= total; d += step {
		label := []rune(fmt.Sprintf("%.0f", float(d)))
		if i := at(d); i+len(label) < width {
			copy(line[i:], label)
		}
	}
	return strings.TrimRight(string(line), " ")
}

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
	budget.FirstAudio: "the voice has made sound", budget.FirstAudible: "it is audible and on its way", budget.Done: "the answer's last sound has left",
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
