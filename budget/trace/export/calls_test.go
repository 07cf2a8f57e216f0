package export

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Each line has as many fields as the first, and what others have chosen is no formula.
func TestCallsCSV(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	answered := began.Add(time.Second)
	calls := []trace.Call{
		{ID: "tel_a", Began: began, Ended: began.Add(90 * time.Second), Route: "sales", Wire: "twilio", Reason: trace.Agent, Turns: 3, Record: &trace.Record{
			From: "+493012345", To: "=1+1", Line: "-x", Answered: &answered, Verdicts: trace.Verdicts{budget.Met: 2, budget.Over: 1}, Cost: 0.25, Currency: "EUR", Note: "+1*2",
		}},
		{ID: "sess_b", Began: began},
	}
	var b strings.Builder
	err := CallsCSV(&b, func(yield func(trace.Call, error) bool) {
		for _, c := range calls {
			if !yield(c, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%v, %d lines", err, len(lines))
	}
	field := func(line int, name string) string { return lines[line][slices.Index(lines[0], name)] }
	for name, want := range map[string]string{
		"from": "+493012345", "to": "'=1+1", "line": "'-x", "note": "'+1*2", "length_s": "90.000", "met": "2", "over": "1", "cost": "0.25", "ended_by": "agent",
		"answered": "2026-11-30T12:00:01.000Z", "ended": "2026-11-30T12:01:30.000Z",
	} {
		if got := field(1, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if field(2, "ended") != "" || field(2, "length_s") != "" || field(2, "id") != "sess_b" {
		t.Errorf("a call that goes on: %v", lines[2])
	}
}
