package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"riposte/budget"
	"riposte/budget/trace"
)

// CSV writes a line for each turn, below a line with the columns' names. Times are milliseconds; what is not known is empty. It ends
// with the first error.
func CSV(out io.Writer, turns iter.Seq2[trace.Turn, error]) error {
	w := csv.NewWriter(out)
	names := []string{"id", "call", "number", "speech_end", "route", "version", "status", "reason", "verdict", "blame", "plan_ms", "gap_ms"}
	for _, s := range budget.Stages {
		names = append(names, string(s)+"_ms", string(s)+"_model", string(s)+"_runs", string(s)+"_waited_ms", string(s)+"_ran_ms")
	}
	for _, m := range marks {
		names = append(names, string(m)+"_at_ms")
	}
	names = append(names, "tokens_input", "tokens_cached", "tokens_output", "guesses", "guess_stood", "guess_tokens_wasted", "actions", "events", "tools", "said", "answer")
	if err := w.Write(names); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for t, err := range turns {
		if err != nil {
			return err
		}
		if err := w.Write(line(t)); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// line returns a turn's fields.
func line(t trace.Turn) []string {
	r := t.Report
	end := ""
	if !r.SpeechEnd.IsZero() {
		end = r.SpeechEnd.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	gap := ""
	if r.Total != 0 {
		gap = millis(r.Total)
	}
	out := []string{
		t.ID, t.Call, strconv.Itoa(t.Number), end, t.Route, t.Version, t.Status, t.Reason, string(r.Verdict), string(r.Blame), millis(r.Plan.Total()), gap,
	}
	for _, s := range budget.Stages {
		took := ""
		if d, ok := r.Stages[s]; ok {
			took = millis(d)
		}
		out = append(out, took, t.Models[s])
		if w, ok := t.Work[s]; ok {
			out = append(out, strconv.Itoa(w.Runs), millis(w.Waited), millis(w.Ran))
		} else {
			out = append(out, "", "", "")
		}
	}
	for _, m := range marks {
		at := ""
		if d, ok := r.Marks[m]; ok {
			at = millis(d)
		}
		out = append(out, at)
	}
	var actions, events []string
	for _, a := range r.Actions {
		actions = append(actions, fmt.Sprintf("%s:%s@%s", a.Stage, a.Kind, millis(a.At)))
	}
	for _, e := range t.Events {
		events = append(events, fmt.Sprintf("%s@%s", e.Kind, millis(e.At)))
	}
	return append(out, strconv.Itoa(t.Tokens.Input), strconv.Itoa(t.Tokens.Cached), strconv.Itoa(t.Tokens.Output), strconv.Itoa(t.Guesses.Tries),
		strconv.FormatBool(t.Guesses.Stood), strconv.Itoa(t.Guesses.Wasted), strings.Join(actions, " "), strings.Join(events, " "), strings.Join(t.Tools, " "),
		t.Said, t.Answer)
}
