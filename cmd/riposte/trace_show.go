package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// traceShowCmd shows one turn, or one call.
type traceShowCmd struct {
	ID   string `arg:"" help:"A turn's ID, the beginning of one, CALL/NUMBER, or a call's ID. resp_ and sess_ may be left out."`
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
	var objects []object.Turn
	on := canvasOn(k.Stdout)
	for i, t := range turns {
		_, err := s.Sound(ctx, fmt.Sprintf("%s/%d", t.Call, t.Number))
		if err != nil && !errors.Is(err, store.ErrNoSound) {
			return err
		}
		if objects = append(objects, object.TurnOf(t, err == nil)); c.JSON {
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
	case len(objects) == 1 && bare(objects[0].Call) != bare(c.ID):
		return json.NewEncoder(escaped{k.Stdout}).Encode(objects[0])
	}
	return json.NewEncoder(escaped{k.Stdout}).Encode(objects)
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
		if len(unknown.Nearest) == 0 || nearness(other, c.ID) > nearness(unknown, c.ID) {
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

// bare returns an ID without what all of its kind begin with.
func bare(id string) string {
	if _, rest, ok := strings.Cut(id, "_"); ok {
		return rest
	}
	return id
}

// nearness returns how much of the beginning of id the nearest of others shares.
func nearness(u *store.UnknownError, id string) int {
	best := 0
	for _, other := range u.Nearest {
		n := 0
		for a, b := bare(id), bare(other); n < len(a) && n < len(b) && a[n] == b[n]; {
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
	paragraph(c, "said", orNothing(saidOf(t.Origin, t.Said)))
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
	if r.Total > 0 && r.Verdict == "" {
		text = fmt.Sprintf("none, since nobody asked aloud; heard after %s", inMS(r.Total))
	} else if r.Total > 0 {
		diff := r.Total - r.Plan.Total()
		how := fmt.Sprintf(", %s to spare", inMS(-diff))
		if diff > 0 {
			how = fmt.Sprintf(", %s too long", inMS(diff))
		}
		text += fmt.Sprintf(", %s of %s", inMS(r.Total), inMS(r.Plan.Total())) + how
	}
	text = c.in(verdictStyles[r.Verdict], text)
	if t.Status != "" {
		text += "; " + plain(t.Status)
	}
	if t.Reason != "" {
		text += " (" + plain(t.Reason) + ")"
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
