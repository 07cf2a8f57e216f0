package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// CallsCSV writes a line for each call, below a line with the columns' names, which have their units. What is not known is empty. It ends with
// the first error.
func CallsCSV(out io.Writer, calls iter.Seq2[trace.Call, error]) error {
	w := csv.NewWriter(out)
	err := w.Write([]string{
		"id", "began", "answered", "ended", "length_s", "route", "wire", "version", "from", "to", "line", "reason", "ended_by", "transferred_to", "why", "turns",
		"met", "masked", "over", "failed", "gap_p50_ms", "gap_p95_ms", "interruptions", "heard_s", "spoken_s", "words", "characters_spoken",
		"tokens_input", "tokens_cached", "tokens_output", "tool_calls", "cost", "currency", "recorded", "recording", "consent", "note", "answered_by",
	})
	if err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for c, err := range calls {
		if err != nil {
			return err
		}
		if err := w.Write(callLine(c)); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// callLine returns a call's fields.
func callLine(c trace.Call) []string {
	r := trace.Record{}
	if c.Record != nil {
		r = *c.Record
	}
	var answered time.Time
	if r.Answered != nil {
		answered = *r.Answered
	}
	length := ""
	if !c.Ended.IsZero() {
		length = number(c.Ended.Sub(c.Began).Seconds())
	}
	out := []string{
		c.ID, moment(c.Began), moment(answered), moment(c.Ended), length, c.Route, c.Wire, c.Version, text(r.From), text(r.To), text(r.Line), c.Reason, trace.EndedBy(c.Reason),
		text(r.Transferred), text(r.Why), strconv.Itoa(c.Turns),
	}
	for _, v := range []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed} {
		out = append(out, strconv.Itoa(r.Verdicts[v]))
	}
	return append(out, number(r.GapP50), number(r.GapP95), strconv.Itoa(r.Interrupted), number(r.Heard), number(r.Spoken), strconv.Itoa(r.Words), strconv.Itoa(r.Characters),
		strconv.Itoa(r.Input), strconv.Itoa(r.Cached), strconv.Itoa(r.Output), strconv.Itoa(r.Tools), strconv.FormatFloat(r.Cost, 'f', -1, 64), r.Currency,
		strconv.FormatBool(r.Recorded), r.Recording, string(r.Consent), text(r.Note), r.AnsweredBy)
}

// text returns what somebody else has chosen, so that programs for tables do not take it for a formula: a number keeps its +.
func text(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '@', '\t', '\r', '-':
		return "'" + s
	case '+':
		for _, r := range s[1:] {
			if (r < '0' || r > '9') && r != 'x' {
				return "'" + s
			}
		}
	}
	return s
}

// moment writes a time in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// number writes a number to the thousandth.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
