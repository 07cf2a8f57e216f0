package trace

import (
	"testing"
	"time"
)

// A call costs what its route's prices say of each of its parts.
func TestCost(t *testing.T) {
	r := Record{Heard: 90, Characters: 2500, Input: 4000, Output: 500}
	for _, tt := range []struct {
		p    Prices
		want float64
	}{
		{Prices{}, 0},
		{Prices{Call: 0.05, Minute: 0.01}, 0.07},
		{Prices{Heard: 0.006}, 0.009},
		{Prices{Spoken: 0.016}, 0.04},
		{Prices{Input: 0.00015, Output: 0.0006}, 0.0009},
		{Prices{Output: 1e-9}, 0},
	} {
		if got := tt.p.Of(r, 2*time.Minute); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.p, got, tt.want)
		}
	}
}

// Percentiles are gaps that there were.
func TestGaps(t *testing.T) {
	var r Record
	if r.Gaps(nil); r.GapP50 != 0 || r.GapP95 != 0 {
		t.Errorf("of no gaps: %v, %v", r.GapP50, r.GapP95)
	}
	var gaps []time.Duration
	for i := 20; i > 0; i-- {
		gaps = append(gaps, time.Duration(i)*100*time.Millisecond)
	}
	if r.Gaps(gaps); r.GapP50 != 1000 || r.GapP95 != 1900 {
		t.Errorf("%v and %v, want 1000 and 1900", r.GapP50, r.GapP95)
	}
}

// Somebody ends each call, whatever the reason.
func TestEndedBy(t *testing.T) {
	for reason, want := range map[string]string{
		"": "", HungUp: ByCaller, Agent: ByAgent, Transferred: ByAgent, Silent: ByService, Expired: ByService, Shutdown: ByService, Failed: ByService,
		Ended: ByService, Idle: ByLine, Lost: ByLine, SlowReader: ByLine,
	} {
		if got := EndedBy(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// A masked number has its beginning and its end, and a short one nothing.
func TestMasked(t *testing.T) {
	for number, want := range map[string]string{"+493012345678": "+49xxxxxxxx78", "100": "xxx", "": "", "1234567": "xxxxxxx"} {
		if got := Masked(number); got != want {
			t.Errorf("%q became %q, want %q", number, got, want)
		}
	}
}
