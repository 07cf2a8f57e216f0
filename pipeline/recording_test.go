package pipeline

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// sounding is a recording of so much.
func sounding(id string, length time.Duration) transport.Recording {
	return transport.Recording{Ref: id, Item: transport.Item{ID: id, Role: llm.User}, PCM: make(audio.PCM, audio.Samples(length, rate)), Rate: rate}
}

// What was said elsewhere is told of as speech, recognised in its place, and answered when that is asked for, with its words.
func TestRecording(t *testing.T) {
	e := quick()
	e.stt, e.hears = 2*time.Second, []string{"what time is it"}
	session(t, e, func(s *Session) { s.Settings.Detection = nil }, func(l *line) {
		l.in <- sounding("a", time.Second)
		l.in <- transport.Look{Item: "a"}
		l.in <- transport.Respond{}
		time.Sleep(10 * time.Second)
		added, found, heard := told[transport.Added](l), told[transport.Found](l), told[transport.Transcribed](l)
		if len(added) != 1 || !added[0].Aloud || added[0].Item.ID != "a" || len(found) != 1 || !found[0].Aloud || found[0].Item.Text != "" {
			t.Errorf("added %+v, found %+v", added, found)
		}
		if len(heard) != 1 || heard[0].Item != "a" || heard[0].Text != "what time is it" || heard[0].Speech != time.Second {
			t.Errorf("transcribed %+v", heard)
		}
		want := []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "what time is it"}}
		if len(e.prompts) != 1 || !cmp.Equal(e.prompts[0], want) {
			t.Errorf("the model read %v", e.prompts)
		}
		if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Transcript != "what time is it" || r[0].Report.Verdict != "" {
			t.Errorf("reports %+v", r)
		}
	})
}

// A recording that cannot be taken is refused with what it is about; one that cannot be understood is said to be so, and one that is taken out
// in the meantime is not told of any more.
func TestRecordingRefused(t *testing.T) {
	e := quick()
	e.fail = map[string]error{"stt": errors.New("broken")}
	session(t, e, func(s *Session) { s.Limits.Utterance = 3 * time.Second }, func(l *line) {
		l.in <- sounding("long", 4*time.Second)
		l.in <- sounding("short", 90*ms)
		l.in <- sounding("a", time.Second)
		l.in <- sounding("a", time.Second)
		behind := sounding("b", time.Second)
		behind.Item.After = "nothing"
		l.in <- behind
		time.Sleep(time.Second)
		e.mu.Lock()
		e.fail = nil
		e.mu.Unlock()
		l.in <- sounding("c", time.Second)
		l.in <- transport.Remove{Item: "c"}
		time.Sleep(5 * time.Second)
		var faults []string
		for _, f := range told[transport.Fault](l) {
			faults = append(faults, f.Ref+" "+string(f.Part))
		}
		if want := []string{"long content", "short content", "a item", "b after"}; !slices.Equal(faults, want) {
			t.Errorf("faults %v, want %v", faults, want)
		}
		if failed := told[transport.TranscriptionFailed](l); len(failed) != 1 || failed[0].Item != "a" {
			t.Errorf("failed %+v", failed)
		}
		if heard := told[transport.Transcribed](l); len(heard) != 0 || len(told[transport.ResponseStarted](l)) != 0 {
			t.Errorf("transcribed %+v", heard)
		}
	})
}

// A conversation is not filled without end by what was said elsewhere.
func TestRecordingsAreBounded(t *testing.T) {
	var h history
	for i := range maxItems {
		if _, err := h.addRecording(transport.Item{ID: newID("item")}); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := h.addRecording(transport.Item{ID: "more"}); err == nil {
		t.Error("it was taken")
	}
}
