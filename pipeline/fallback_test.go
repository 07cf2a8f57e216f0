package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

// Where one engine is late, hangs or fails, another one answers in its place within the budget: the caller hears the answer and no apology,
// and the turn is masked, with the stage to blame and the reason in its trace.
func TestFallbacks(t *testing.T) {
	hears := stt.Whole(func(ctx context.Context, speech audio.PCM, _ stt.Options) (stt.Transcript, error) {
		return stt.Transcript{Text: "what time is it", Speech: speech.Duration(audio.SpeechRate)}, elapse(ctx, 60*ms)
	})
	for _, tt := range []struct {
		stage budget.Stage
		fault string
		takes time.Duration
		want  budget.Verdict
		act   budget.ActionKind
	}{
		{budget.STT, "", 40 * ms, budget.Met, ""},
		{budget.STT, "fails", 50 * ms, budget.Masked, budget.Substitute},
		{budget.STT, "hangs", 50 * ms, budget.Masked, budget.Substitute},
		{budget.TTS, "", 60 * ms, budget.Met, ""},
		{budget.TTS, "fails", 50 * ms, budget.Masked, budget.FasterVoice},
		{budget.TTS, "hangs", 50 * ms, budget.Masked, budget.FasterVoice},
		{budget.TTS, "", time.Minute, budget.Masked, budget.FasterVoice},
	} {
		t.Run(fmt.Sprint(tt.stage, " ", tt.fault, " ", tt.takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, spare := newCast(), newCast()
				p := map[budget.Stage]*part{budget.STT: &c.stt, budget.TTS: &c.tts}[tt.stage]
				c.stt.takes = 40 * ms
				p.fault, p.takes = tt.fault, tt.takes
				spare.tts.takes = 40 * ms
				l := newLine(t)
				s := enforcing(l, c)
				s.Limits.Guesses = -1 // else the answer is begun before the turn is decided, with all the time of the world
				s.Apology = "Sorry."
				s.STT = &stt.Fallback{First: c, Second: hears, Late: 100 * ms}
				s.TTS = &tts.Fallback{First: c.voice(), Second: spare.voice(), Late: 100 * ms}
				var traced []trace.Turn
				s.Trace = func(t trace.Turn) { traced = append(traced, t) }
				done := make(chan error)
				go func() { done <- s.Run(t.Context()) }()
				c.tell(l, "what time is it", 9*time.Second)
				close(l.hang)
				if err := <-done; !errors.Is(err, transport.ErrHungUp) {
					t.Fatal(err)
				}
				r := told[transport.TurnReport](l)
				if len(r) != 1 || r[0].Report.Verdict != tt.want || tt.want != budget.Met && r[0].Report.Blame != tt.stage {
					t.Fatalf("got %+v, want %s", r, tt.want)
				}
				if r[0].Answer != c.says {
					t.Errorf("the caller heard %q", r[0].Answer)
				}
				acted := slices.ContainsFunc(r[0].Report.Actions, func(a budget.Action) bool { return a.Kind == tt.act })
				if tt.act != "" && !acted {
					t.Errorf("it did %+v", r[0].Report.Actions)
				}
				told := slices.ContainsFunc(traced[0].Events, func(e trace.Event) bool { return e.Kind == trace.KindRedial && strings.Contains(e.Detail, "is asked") })
				if told != (tt.act != "") {
					t.Errorf("its trace has %+v", traced[0].Events)
				}
			})
		})
	}
}
