package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"riposte/budget"
	"riposte/caller"
)

// showTurn prints a turn for people. Of a turn that failed it prints what there is; the error itself is for whoever asked.
func showTurn(out io.Writer, file string, turn caller.Turn, failed error) error {
	fmt.Fprintf(out, "%s\n  heard   %s\n  answer  %s\n", file, orNothing(turn.Transcript), orNothing(strings.Join(strings.Fields(turn.Answer), " ")))
	if turn.Cutoffs > 0 {
		fmt.Fprintf(out, "  answers begun too early and given up: %d\n", turn.Cutoffs)
	}
	if r := turn.Report; r != nil {
		showStages(out, r)
	} else if failed == nil {
		fmt.Fprintln(out, "  the server does not say how long its stages took")
	}
	if turn.Audible > 0 {
		fmt.Fprintf(out, "  at the caller: the answer began %v after the last voiced sample and sounded for %.1f s\n",
			turn.Gap.Round(time.Millisecond), turn.Audible.Seconds())
	}
	_, err := fmt.Fprintln(out)
	return err
}

// showStages prints the table of the stages against their shares.
func showStages(out io.Writer, r *caller.Report) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tstage\ttook\tshare\t")
	var total time.Duration
	for _, s := range budget.Stages {
		share, ok := r.Shares[string(s)]
		if !ok {
			share = budget.DefaultPlan.Share(s)
		}
		total += share
		took, ok := r.Stages[string(s)]
		if !ok {
			fmt.Fprintf(w, "\t%s\t-\t%s\t\n", s, inMS(share))
			continue
		}
		over := ""
		if took > share {
			over = "  +" + inMS(took-share)
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\n", s, inMS(took), inMS(share), over)
	}
	verdict := r.Verdict
	if r.Blame != "" {
		verdict += ": " + r.Blame
	}
	fmt.Fprintf(w, "\ttotal\t%s\t%s\t  %s\n", inMS(r.Total), inMS(total), verdict)
	w.Flush()
}

// turnObject is a turn as --json prints it. Times are milliseconds.
type turnObject struct {
	File       string             `json:"file"`
	Transcript string             `json:"transcript"`
	Answer     string             `json:"answer"`
	Gap        *float64           `json:"gap_ms"` // null when nothing could be heard.
	Audible    float64            `json:"answer_audible_ms"`
	Stages     map[string]float64 `json:"stages_ms"`
	Total      *float64           `json:"total_ms"` // null when the server does not tell.
	Verdict    string             `json:"verdict"`
	Blame      string             `json:"blame"`
	Marks      map[string]float64 `json:"marks_ms,omitempty"`
	Cutoffs    int                `json:"cutoffs"`
	Error      string             `json:"error,omitempty"`
}

// showTurnJSON prints a turn for programs, on one line.
func showTurnJSON(out io.Writer, file string, turn caller.Turn, failed error) error {
	o := turnObject{
		File: file, Transcript: turn.Transcript, Answer: turn.Answer, Audible: float(turn.Audible), Cutoffs: turn.Cutoffs,
		Stages: map[string]float64{},
	}
	if turn.Audible > 0 {
		gap := float(turn.Gap)
		o.Gap = &gap
	}
	if r := turn.Report; r != nil {
		total := float(r.Total)
		o.Total, o.Verdict, o.Blame = &total, r.Verdict, r.Blame
		o.Stages, o.Marks = floats(r.Stages), floats(r.Marks)
	}
	if failed != nil {
		o.Error = failed.Error()
	}
	return json.NewEncoder(out).Encode(o)
}

// orNothing returns s, or what people read as its absence.
func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

func inMS(d time.Duration) string { return fmt.Sprintf("%.0f ms", float(d)) }

// float returns d in milliseconds.
func float(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// floats returns times in milliseconds.
func floats(times map[string]time.Duration) map[string]float64 {
	out := make(map[string]float64, len(times))
	for name, d := range times {
		out[name] = float(d)
	}
	return out
}
