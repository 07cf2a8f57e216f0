package budget

import (
	"testing"
	"time"
)

// An opener is blamed on the stage that has taken the time, and not on the one that happens to keep the caller waiting then; what else
// was done, on the stage for which it was.
func TestMaskedBlame(t *testing.T) {
	const ms = time.Millisecond
	type marks map[Mark]time.Duration
	for _, c := range []struct {
		name  string
		marks marks
		acts  []Action
		want  Stage
	}{
		{
			"a late recogniser, and then a model that needs no more than its share",
			marks{Received: 20 * ms, Final: 560 * ms, FirstClause: 900 * ms, Answered: 960 * ms, FirstAudible: 850 * ms},
			[]Action{{STT, BestHypothesis, 560 * ms}, {LLM, Opener, 850 * ms}}, STT,
		},
		{
			"a late model behind a recogniser that was a little late",
			marks{Received: 20 * ms, Final: 460 * ms, FirstClause: 2100 * ms, Answered: 2160 * ms, FirstAudible: 850 * ms},
			[]Action{{LLM, Opener, 850 * ms}}, LLM,
		},
		{
			"a late voice", marks{Received: 20 * ms, Final: 360 * ms, FirstClause: 500 * ms, Answered: 2000 * ms, FirstAudible: 850 * ms},
			[]Action{{TTS, CachedClause, 850 * ms}}, TTS,
		},
		{
			"a hedge that was in time, behind a recogniser that was a little late",
			marks{Received: 20 * ms, Final: 460 * ms, FirstClause: 700 * ms, Answered: 780 * ms, FirstAudible: 780 * ms},
			[]Action{{LLM, Hedge, 640 * ms}}, LLM,
		},
		{
			"an answer that never came", marks{Received: 20 * ms, Final: 300 * ms, FirstAudible: 850 * ms},
			[]Action{{LLM, Opener, 850 * ms}}, LLM,
		},
	} {
		begin := time.Unix(1, 0)
		turn := NewTurn(begin)
		for m, at := range c.marks {
			turn.Mark(m, begin.Add(at))
		}
		for _, a := range c.acts {
			turn.Act(a.Stage, a.Kind, begin.Add(a.At))
		}
		if r := turn.Report(DefaultPlan); r.Verdict != Masked || r.Blame != c.want {
			t.Errorf("%s: %s, blame %s, want %s", c.name, r.Verdict, r.Blame, c.want)
		}
	}
}
