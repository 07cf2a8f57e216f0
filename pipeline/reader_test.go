package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// What the caller seems to say is told to the caller's side, and its stable part is read by the model before the turn ends.
func TestReadAhead(t *testing.T) {
	e := quick()
	e.hears = []string{"what time is it in Rome", "thank you very much"}
	e.read = 20 * ms
	session(t, e, func(s *Session) { s.STT = e }, func(l *line) {
		end := l.speak(2500*ms, 5000*ms)
		var texts []string
		for _, h := range told[transport.Hypothesis](l) {
			texts = append(texts, h.Text[:h.Stable]+"|"+h.Text[h.Stable:])
		}
		want := []string{"|what", "what| time", "what time| is", "what time is| it", "what time is it| in"}
		if diff := cmp.Diff(want, texts[:min(len(want), len(texts))]); diff != "" {
			t.Errorf("the caller was told (-want +got):\n%s", diff)
		}
		items := told[transport.Committed](l)
		if h := told[transport.Hypothesis](l); len(items) != 1 || h[0].Item != items[0].Item {
			t.Errorf("the hypotheses are of %q, the item became %+v", h[0].Item, items)
		}
		e.mu.Lock()
		reads := e.reads
		e.mu.Unlock()
		if len(reads) < 5 {
			t.Fatalf("the model read %d times, want the instructions and each stable part", len(reads))
		}
		if diff := cmp.Diff([]llm.Message{{Role: llm.System, Text: "Be brief."}}, reads[0].Messages); diff != "" {
			t.Errorf("first the model read (-want +got):\n%s", diff)
		}
		wantLast := []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "what time is it"}}
		if diff := cmp.Diff(wantLast, reads[4].Messages); diff != "" {
			t.Errorf("in the end the model read (-want +got):\n%s", diff)
		}
		if u := reads[4].Urgency; u.Class != budget.Partial || u.Deadline.IsZero() {
			t.Errorf("reading ahead is %+v, want partial, and dropped when it is late", u)
		}
		if got, want := e.asked[0].Urgency.Deadline.Sub(end), budget.DefaultPlan.Total()-budget.DefaultPlan.TTS; got < want || got > want+10*ms {
			t.Errorf("the first clause is due %v after the last voiced sample, want %v", got, want)
		}

		// While an answer can still be cut off nobody knows what will come before the caller's words.
		l.speak(1500*ms, 0)
		before := len(e.reads)
		l.speak(1500*ms, 6000*ms)
		if len(e.reads) == before {
			t.Error("the model read nothing more of the second turn")
		}
		for _, r := range e.reads[5:] {
			if n := len(r.Messages); n >= 3 && r.Messages[n-2].Role != llm.Assistant {
				t.Errorf("the model read %+v, without what was heard of the answer", r.Messages)
			}
		}
	})
}

// Reading ahead is stopped when the turn is decided: the model has the whole text to read.
func TestReadAheadStops(t *testing.T) {
	e := quick()
	e.read = time.Hour
	session(t, e, func(s *Session) { s.STT = e }, func(l *line) {
		l.speak(1200*ms, 5000*ms)
		if n := len(told[transport.TurnReport](l)); n != 1 {
			t.Errorf("%d turns", n)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.reads) != 2 || e.unread < 1 {
			t.Errorf("the model began to read %d times and was stopped %d times", len(e.reads), e.unread)
		}
	})
}

// A client that commits its turns itself is heard from the first sound on as well.
func TestPushToTalkStreams(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.STT, s.Settings.Detection = e, nil }, func(l *line) {
		l.speak(1200*ms, 0)
		if n := len(told[transport.Hypothesis](l)); n != 2 {
			t.Errorf("%d hypotheses, want 2", n)
		}
		l.in <- transport.Commit{}
		l.in <- transport.Respond{}
		time.Sleep(6 * time.Second)
		r := told[transport.TurnReport](l)
		if len(r) != 1 || r[0].Transcript != "what time is it" {
			t.Errorf("the turns were reported as %+v", r)
		}
		if got := told[transport.Transcribed](l)[0].Speech; got != 1200*ms {
			t.Errorf("heard %v of 1.2 s", got)
		}
	})
}
