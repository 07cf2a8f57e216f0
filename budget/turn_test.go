package budget

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

func TestReport(t *testing.T) {
	type marks map[Mark]time.Duration
	tests := []struct {
		name    string
		marks   marks
		stages  map[Stage]time.Duration
		total   time.Duration
		verdict Verdict
		blame   Stage
	}{
		{
			name:    "within every share",
			marks:   marks{Received: 20 * ms, Decided: 250 * ms, Final: 300 * ms, FirstClause: 600 * ms, FirstAudible: 700 * ms, Answered: 700 * ms},
			stages:  map[Stage]time.Duration{Mic: 20 * ms, STT: 280 * ms, LLM: 300 * ms, TTS: 100 * ms},
			total:   700 * ms,
			verdict: Met,
		},
		{
			name:    "what one stage saves another may use",
			marks:   marks{Received: 20 * ms, Final: 500 * ms, FirstClause: 600 * ms, FirstAudible: 890 * ms, Answered: 890 * ms},
			stages:  map[Stage]time.Duration{Mic: 20 * ms, STT: 480 * ms, LLM: 100 * ms, TTS: 290 * ms},
			total:   890 * ms,
			verdict: Met,
		},
		{
			name:    "late, and the one that overran most is to blame",
			marks:   marks{Received: 20 * ms, Final: 350 * ms, FirstClause: 1400 * ms, FirstAudible: 1600 * ms, Answered: 1600 * ms},
			stages:  map[Stage]time.Duration{Mic: 20 * ms, STT: 330 * ms, LLM: 1050 * ms, TTS: 200 * ms},
			total:   1600 * ms,
			verdict: Over,
			blame:   LLM,
		},
		{
			name:   "no sound, no verdict",
			marks:  marks{Received: 20 * ms, Final: 350 * ms},
			stages: map[Stage]time.Duration{Mic: 20 * ms, STT: 330 * ms},
		},
		{
			name:    "a stage that ran ahead took no time of its own",
			marks:   marks{Received: 20 * ms, Final: 500 * ms, FirstClause: 400 * ms, FirstAudible: 510 * ms, Answered: 510 * ms},
			stages:  map[Stage]time.Duration{Mic: 20 * ms, STT: 480 * ms, LLM: 0, TTS: 10 * ms},
			total:   510 * ms,
			verdict: Met,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			turn := NewTurn(zero)
			for m, d := range tt.marks {
				turn.Mark(m, zero.Add(d))
				turn.Mark(m, zero.Add(d+time.Hour)) // only the first counts
			}
			r := turn.Report(DefaultPlan)
			if diff := cmp.Diff(tt.stages, r.Stages); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			if r.Total != tt.total || r.Verdict != tt.verdict || r.Blame != tt.blame {
				t.Errorf("got %v %q blame %q, want %v %q blame %q", r.Total, r.Verdict, r.Blame, tt.total, tt.verdict, tt.blame)
			}
			var sum time.Duration
			for _, d := range r.Stages {
				sum += d
			}
			if r.Verdict != "" && sum != r.Total {
				t.Errorf("the stages add up to %v, the total is %v", sum, r.Total)
			}
		})
	}
}

func TestDefaultPlan(t *testing.T) {
	if got := DefaultPlan.Total(); got != 890*ms {
		t.Errorf("the default plan's total is %v, want 890 ms", got)
	}
	if err := DefaultPlan.Validate(); err != nil {
		t.Error(err)
	}
	if err := (Plan{Mic: 1}).Validate(); err == nil {
		t.Error("a plan without shares was accepted")
	}
}
