package realtime

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/budget"
)

const msec = time.Millisecond

// A client changes the shares that it names, and has the others as they were.
func TestSessionPlan(t *testing.T) {
	own := defaults()
	own.Plan = budget.Plan{Mic: 50 * msec, STT: 250 * msec, LLM: 90 * time.Second, TTS: 100 * msec} // one that no client may ask for
	s := newSession(talks, "sess_1", "m", "joe", own)
	for _, tt := range []struct {
		name, patch string
		want        budget.Plan
	}{
		{"nothing", `{"instructions": "Be kind."}`, own.Plan},
		{"one share", `{"riposte": {"budget": {"llm_ms": 800}}}`, budget.Plan{Mic: 50 * msec, STT: 250 * msec, LLM: 800 * msec, TTS: 100 * msec}},
		{"the mode", `{"riposte": {"budget": {"mode": "observe"}}}`, budget.Plan{Mic: 50 * msec, STT: 250 * msec, LLM: 800 * msec, TTS: 100 * msec, Observe: true}},
		{"part of a millisecond", `{"riposte": {"budget": {"mic_ms": 12.5}}}`, budget.Plan{Mic: 12500 * time.Microsecond, STT: 250 * msec, LLM: 800 * msec, TTS: 100 * msec, Observe: true}},
		{"something else", `{"output_modalities": ["text"], "riposte": {}}`, budget.Plan{Mic: 12500 * time.Microsecond, STT: 250 * msec, LLM: 800 * msec, TTS: 100 * msec, Observe: true}},
		{"a share of the service's own", `{"riposte": {"budget": {"mic_ms": null}}}`, budget.Plan{Mic: 50 * msec, STT: 250 * msec, LLM: 800 * msec, TTS: 100 * msec, Observe: true}},
		{"the service's own", `{"riposte": {"budget": null}}`, own.Plan},
		{"everything", `{"riposte": {"budget": {"mode": "enforce", "mic_ms": 1, "stt_ms": 60000, "llm_ms": 2, "tts_ms": 3}}}`, budget.Plan{Mic: msec, STT: time.Minute, LLM: 2 * msec, TTS: 3 * msec}},
		{"no extension", `{"riposte": null}`, own.Plan},
	} {
		next, err := s.update(json.RawMessage(tt.patch), own, "joe")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		s = next
		if diff := cmp.Diff(tt.want, s.settings(own).Plan); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	b, err := json.Marshal(s.Riposte)
	if want := `{"budget":{"mode":"enforce","mic_ms":50,"stt_ms":250,"llm_ms":90000,"tts_ms":100}}`; err != nil || string(b) != want {
		t.Errorf("the client is told %s, %v, want %s", b, err, want)
	}
}

func TestWrongSessionPlan(t *testing.T) {
	s := newSession(talks, "sess_1", "m", "joe", defaults())
	for _, tt := range []struct{ patch, param, code string }{
		{`{"riposte": {"budget": {"mode": "strict"}}}`, "session.riposte.budget.mode", "invalid_value"},
		{`{"riposte": {"budget": {"mic_ms": 0}}}`, "session.riposte.budget.mic_ms", "invalid_value"},
		{`{"riposte": {"budget": {"stt_ms": -300}}}`, "session.riposte.budget.stt_ms", "invalid_value"},
		{`{"riposte": {"budget": {"llm_ms": 60000.5}}}`, "session.riposte.budget.llm_ms", "invalid_value"},
		{`{"riposte": {"budget": {"tts_ms": 1e300}}}`, "session.riposte.budget.tts_ms", "invalid_value"},
		{`{"riposte": {"budget": {"tts_ms": "150"}}}`, "session.riposte.budget.tts_ms", "invalid_type"},
		{`{"riposte": {"budget": 890}}`, "session.riposte.budget", "invalid_type"},
		{`{"riposte": {"budget": {"total_ms": 890}}}`, "session.riposte.budget.total_ms", "unknown_parameter"},
		{`{"riposte": {"turns": true}}`, "session.riposte.turns", "unknown_parameter"},
	} {
		next, err := s.update(json.RawMessage(tt.patch), defaults(), "joe")
		var wrong *wireError
		if !errors.As(err, &wrong) || wrong.param != tt.param || wrong.code != tt.code || wrong.message == "" {
			t.Errorf("%s: %#v, want %s of %s", tt.patch, err, tt.code, tt.param)
		}
		if got := next.settings(defaults()).Plan; got != budget.DefaultPlan {
			t.Errorf("%s left the plan %+v", tt.patch, got)
		}
	}
}

// What the voice's own pace is the service's settings say, as long as the client does not.
func TestSessionSpeed(t *testing.T) {
	own := defaults()
	own.Speed = 2
	s := newSession(talks, "sess_1", "m", "joe", own)
	for _, tt := range []struct {
		patch string
		want  float32
	}{{`{}`, 2}, {`{"audio": {"output": {"speed": 1.25}}}`, 1.25}} {
		next, err := s.update(json.RawMessage(tt.patch), own, "joe")
		if err != nil || next.settings(own).Speed != tt.want {
			t.Errorf("%s: speed %v, %v", tt.patch, next.settings(own).Speed, err)
		}
	}
	if _, err := s.update(json.RawMessage(`{"audio": {"output": {"speed": 1.6}}}`), own, "joe"); err == nil {
		t.Error("a speed that no client may have was taken")
	}
}

// Whatever a client asks for, the turns have a plan that can be kept to, and what the client is told of it means the same.
func FuzzSessionUpdate(f *testing.F) {
	for _, patch := range []string{
		`{"riposte": {"budget": {"mode": "observe", "llm_ms": 800.125}}}`, `{"riposte": {"budget": {"mic_ms": 1, "stt_ms": 60000, "tts_ms": null}}}`,
		`{"riposte": null, "audio": {"output": {"speed": 1.5}}}`, `{"riposte": {"budget": {"tts_ms": 1e-9}}}`, `{"RIPOSTE": {"Budget": {"TTS_MS": 2}}}`,
	} {
		f.Add(patch)
	}
	own := defaults()
	begun := newSession(talks, "sess_1", "m", "joe", own)
	f.Fuzz(func(t *testing.T, patch string) {
		s, err := begun.update(json.RawMessage(patch), own, "joe")
		if err != nil {
			return
		}
		plan := s.settings(own).Plan
		if err := plan.Validate(); err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		told, err := json.Marshal(map[string]any{"riposte": s.Riposte})
		if err != nil {
			t.Fatal(err)
		}
		again, err := begun.update(told, own, "joe")
		if err != nil || again.settings(own).Plan != plan {
			t.Fatalf("%s became %+v, %v, which was %+v", patch, again.settings(own).Plan, err, plan)
		}
	})
}
