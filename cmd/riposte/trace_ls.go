package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// traceLsCmd lists.
type traceLsCmd struct {
	Calls bool `help:"List calls instead of turns."`
	listing
}

// Run lists and prints.
func (c *traceLsCmd) Run(ctx context.Context, k *kong.Context) error {
	if c.Calls {
		return c.calls(ctx, k, showCalls)
	}
	s, f, err := c.opened(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	page, err := s.Turns(ctx, f, store.Cursor(c.From), c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(escaped{k.Stdout}).Encode(rowsObject{object.RowsOf(page), page.Next})
	}
	return showRows(canvasOn(k.Stdout), page)
}

// showRows prints a list of turns.
func showRows(c canvas, page store.TurnPage) error {
	if len(page.Turns) == 0 {
		_, err := fmt.Fprintln(c.out, "No turn is like that.")
		return err
	}
	id := 4
	for _, r := range page.Turns {
		id = max(id, len(r.ID))
	}
	fmt.Fprintln(c.out, c.in(faint, fmt.Sprintf("%-19s  %5s  %4s %5s %5s %5s  %-11s  %s  %s", "WHEN", "GAP", "MIC", "STT", "LLM", "TTS", "VERDICT", pad("TURN", id), "SAID")))
	rest := c.width - 19 - 2 - 5 - 2 - 4 - 3*6 - 2 - 11 - 2 - id - 2
	for _, r := range page.Turns {
		fmt.Fprintf(c.out, "%s  %s  %s %s %s %s  %s  %s  %s\n", r.At.Format(time.DateTime), c.in(bold, whole(r.Gap, r.Gap > 0, 5)),
			took(r, budget.Mic, 4), took(r, budget.STT, 5), took(r, budget.LLM, 5), took(r, budget.TTS, 5),
			c.in(verdictStyles[r.Verdict], pad(judged(r.Verdict, r.Blame), 11)), pad(r.ID, id), clip(saidOf(r.Origin, r.Said), rest))
	}
	return showNext(c, page.Next)
}

// took returns how long a stage took, in so many characters.
func took(r store.Row, stage budget.Stage, width int) string {
	d, ok := r.Stages[stage]
	return whole(d, ok, width)
}

// whole returns a time in milliseconds, or a dash for none, in so many characters.
func whole(d time.Duration, ok bool, width int) string {
	if !ok {
		return fmt.Sprintf("%*s", width, "-")
	}
	return fmt.Sprintf("%*.0f", width, float(d))
}

// judged returns a verdict and whom it blames.
func judged(v budget.Verdict, blame budget.Stage) string {
	switch {
	case v == "":
		return "-"
	case blame != "":
		return string(v) + ": " + string(blame)
	}
	return string(v)
}

// showCalls prints a list of calls.
func showCalls(c canvas, page store.CallPage) error {
	if len(page.Calls) == 0 {
		_, err := fmt.Fprintln(c.out, "No call is like that.")
		return err
	}
	id := 4
	for _, call := range page.Calls {
		id = max(id, len(call.ID))
	}
	fmt.Fprintln(c.out, c.in(faint, fmt.Sprintf("%-19s  %9s  %5s  %5s %6s %5s %6s  %5s  %-10s  %-10s  %s  %s",
		"BEGAN", "LENGTH", "TURNS", "MET", "MASKED", "OVER", "FAILED", "WORST", "ROUTE", "WIRE", pad("CALL", id), "ENDED")))
	for _, call := range page.Calls {
		v := call.Verdicts
		fmt.Fprintf(c.out, "%s  %9s  %5d  %5d %6d %5d %6d  %s  %-10s  %-10s  %s  %s\n", call.Began.Format(time.DateTime), lengthOf(call.Call), call.Kept,
			v[budget.Met], v[budget.Masked], v[budget.Over], v[budget.Failed], whole(call.Worst, call.Worst > 0, 5),
			clip(call.Route, 10), clip(call.Wire, 10), pad(call.ID, id), plain(call.Reason))
	}
	return showNext(c, page.Next)
}

// showNext says how the list goes on.
func showNext(c canvas, next store.Cursor) error {
	if next == 0 {
		return nil
	}
	_, err := fmt.Fprintln(c.out, c.in(faint, fmt.Sprintf("older ones: --from=%d", next)))
	return err
}
