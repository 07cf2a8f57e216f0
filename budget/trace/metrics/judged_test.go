package metrics

import (
	"math"
	"testing"

	"riposte/budget"
	"riposte/budget/trace"
)

// What callers' sides say of when they heard an answer is counted once, be it said before the turn's end or after it.
func TestMouthToEar(t *testing.T) {
	m := &Metrics{}
	m.Open()
	heard := turn(500 * msec)
	heard.Events = append(heard.Events, trace.Event{At: 600 * msec, Kind: trace.KindEar})
	m.TurnEnded(heard)
	later := turn(500 * msec)
	m.TurnEnded(later)
	later.Events = append(later.Events, trace.Event{At: 800 * msec, Kind: trace.KindEar})
	m.TurnChanged(later)
	ears := find(scrape(t, m, formats["text"])["riposte_mouth_to_ear_seconds"], "route=default").GetHistogram()
	if ears.GetSampleCount() != 2 || math.Abs(ears.GetSampleSum()-1.4) > 1e-9 {
		t.Errorf("the answers were heard as %v", ears)
	}
}

// What nobody asked for aloud is in no histogram and in no share: it counts as none. What failed is judged, and its gap is one.
func TestUnasked(t *testing.T) {
	m := &Metrics{}
	m.Open()
	m.TurnEnded(turn(700 * msec))
	failed := turn(500 * msec)
	failed.Status, failed.Report.Verdict = "failed", budget.Failed
	m.TurnEnded(failed)
	for _, origin := range []trace.Origin{trace.Greeting, trace.Prompt, trace.Written} {
		unasked := turn(83 * msec)
		unasked.Origin, unasked.Report.Verdict, unasked.Report.Blame = origin, "", ""
		m.TurnEnded(unasked)
	}
	all := scrape(t, m, formats["text"])
	if got := find(all["riposte_turns_total"], "route=default", "verdict=none").GetCounter().GetValue(); got != 3 {
		t.Errorf("%v turns have no verdict, want 3", got)
	}
	gap := find(all["riposte_turn_gap_seconds"], "model=llama", "route=default").GetHistogram()
	if gap.GetSampleCount() != 2 || gap.GetSampleSum() != 1.2 {
		t.Errorf("the gaps are %v", gap)
	}
	if llm := find(all["riposte_stage_duration_seconds"], "model=llama", "route=default", "stage=llm").GetHistogram(); llm.GetSampleCount() != 2 {
		t.Errorf("the model's times are %v", llm)
	}
}
