package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/export"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// callsCmd is what can be asked about the records of calls.
type callsCmd struct {
	Ls     callsLsCmd     `cmd:"" name:"ls" default:"withargs" help:"List calls, the newest first."`
	Show   callsShowCmd   `cmd:"" help:"Show the record of one call."`
	Export callsExportCmd `cmd:"" help:"Write records of calls for other programs."`
}

// callsLsCmd lists.
type callsLsCmd struct{ listing }

// Run lists and prints.
func (c *callsLsCmd) Run(ctx context.Context, k *kong.Context) error {
	return c.calls(ctx, k, showRecords)
}

// showRecords prints a list of what calls came to.
func showRecords(c canvas, page store.CallPage) error {
	if len(page.Calls) == 0 {
		_, err := fmt.Fprintln(c.out, "No call is like that.")
		return err
	}
	fmt.Fprintln(c.out, c.in(faint, fmt.Sprintf("%-19s  %9s  %-14s  %-14s  %-10s  %-12s  %5s  %10s  %s", "BEGAN", "LENGTH", "FROM", "TO", "ROUTE", "ENDED", "TURNS", "COST", "CALL")))
	for _, call := range page.Calls {
		r := recordOf(call.Call)
		cost := "-"
		if r.Cost > 0 {
			cost = fmt.Sprintf("%.4f", r.Cost)
		}
		fmt.Fprintf(c.out, "%s  %9s  %s  %s  %s  %s  %5d  %10s  %s\n", call.Began.Format(time.DateTime), lengthOf(call.Call),
			pad(clip(plain(r.From), 14), 14), pad(clip(plain(r.To), 14), 14), pad(clip(call.Route, 10), 10), pad(plain(call.Reason), 12), call.Turns, cost, call.ID)
	}
	return showNext(c, page.Next)
}

// recordOf returns what a call came to, which is nothing where nobody counted.
func recordOf(c trace.Call) trace.Record {
	if c.Record == nil {
		return trace.Record{}
	}
	return *c.Record
}

// lengthOf says how long a call was.
func lengthOf(c trace.Call) string {
	if c.Ended.IsZero() {
		return "goes on"
	}
	return c.Ended.Sub(c.Began).Round(time.Second).String()
}

// callsShowCmd shows one record.
type callsShowCmd struct {
	ID   string `arg:"" help:"A call's ID, or the beginning of one."`
	JSON bool   `name:"json" help:"Print JSON instead, as the webhook gets it."`
	traceFile
}

// Run finds and prints.
func (c *callsShowCmd) Run(ctx context.Context, k *kong.Context) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	call, err := s.Call(ctx, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(escaped{k.Stdout}).Encode(object.CallOf(call))
	}
	return showRecord(canvasOn(k.Stdout), call)
}

// showRecord prints what one call came to, a line for each thing that is known.
func showRecord(c canvas, call trace.Call) error {
	r := recordOf(call)
	ended := "goes on"
	if !call.Ended.IsZero() {
		ended = fmt.Sprintf("%s, %s, by the %s", call.Ended.Format(time.DateTime), plain(call.Reason), trace.EndedBy(call.Reason))
	}
	answered := ""
	if r.Answered != nil {
		answered = fmt.Sprintf("after %v", r.Answered.Sub(call.Began).Round(time.Millisecond))
	}
	kept := ""
	switch {
	case r.Recording != "":
		kept = r.Recording
	case r.Recorded:
		kept = "the sound of its turns"
	}
	for _, line := range [][2]string{
		{"call", call.ID}, {"from", r.From}, {"to", r.To}, {"line", r.Line}, {"route", call.Route + ", " + call.Wire}, {"began", call.Began.Format(time.DateTime)},
		{"answered", answered}, {"answered by", r.AnsweredBy}, {"ended", ended}, {"length", lengthOf(call)}, {"transferred to", r.Transferred}, {"why", r.Why}, {"note", r.Note},
		{"turns", fmt.Sprintf("%d: %d met, %d masked, %d over, %d failed", call.Turns, r.Verdicts[budget.Met], r.Verdicts[budget.Masked], r.Verdicts[budget.Over], r.Verdicts[budget.Failed])},
		{"gap", fmt.Sprintf("p50 %.0f ms, p95 %.0f ms", r.GapP50, r.GapP95)},
		{"sound", fmt.Sprintf("%.1f s heard, %.1f s spoken", r.Heard, r.Spoken)},
		{"words", fmt.Sprintf("%d recognised, %d characters spoken", r.Words, r.Characters)},
		{"tokens", fmt.Sprintf("%d read, %d of them cached, %d written", r.Input, r.Cached, r.Output)},
		{"tools", fmt.Sprintf("%d calls", r.Tools)}, {"interruptions", fmt.Sprint(r.Interrupted)},
		{"cost", fmt.Sprintf("%.6g %s", r.Cost, r.Currency)}, {"recording", kept}, {"consent", string(r.Consent)},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(c.out, "%s  %s\n", c.in(faint, pad(line[0], 14)), plain(line[1])); err != nil {
			return err
		}
	}
	return nil
}

// callsExportCmd writes records.
type callsExportCmd struct {
	Format string `default:"csv" enum:"csv,json" help:"csv, or json: an object on each line."`
	exporting
}

// Run writes.
func (c *callsExportCmd) Run(ctx context.Context, k *kong.Context) error {
	return c.export(ctx, k, c.write)
}

func (c *callsExportCmd) write(ctx context.Context, out io.Writer, s *store.Store, f store.Filter) error {
	calls := s.EachCall(ctx, f)
	if c.Format == "csv" {
		return export.CallsCSV(out, calls)
	}
	e := json.NewEncoder(out)
	for call, err := range calls {
		if err != nil {
			return err
		}
		if err := e.Encode(object.CallOf(call)); err != nil {
			return err
		}
	}
	return nil
}
