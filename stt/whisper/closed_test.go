//go:build cgo

package whisper

import (
	"testing"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

// A sentence that has come to its end is closed more surely than one that was left in its middle, however it is heard: at once,
// or while it is spoken, and so with the words of a hypothesis.
func TestClosed(t *testing.T) {
	e := common(t)
	speech := jfk(t)
	closed := func(samples int) float32 {
		got, err := stt.Transcribe(t.Context(), e, speech[:samples], stt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Closed
	}
	middle, end := closed(45*audio.SpeechRate/10), closed(11*audio.SpeechRate) // "… ask not", "… for your country"
	if middle > 0.6 || end < 0.8 {
		t.Errorf("closed with %.3f in the middle of a sentence and %.3f at its end", middle, end)
	}

	var d diary
	s := e.Listen(stt.Options{Heard: d.note})
	defer s.Close()
	tell(s, speech[7*audio.SpeechRate:])
	got, err := s.Finish(t.Context(), budget.Urgency{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Closed < 0.8 {
		t.Errorf("heard while it was spoken, the last one is closed with %.3f", got.Closed)
	}
	silence, err := stt.Transcribe(t.Context(), e, make(audio.PCM, audio.SpeechRate), stt.Options{})
	if err != nil || silence.Closed != 0 {
		t.Errorf("silence is closed with %v, %v", silence.Closed, err)
	}
}

func TestLastWord(t *testing.T) {
	for _, test := range []struct {
		tokens []string
		want   int
	}{
		{nil, -1},
		{[]string{"."}, -1},
		{[]string{" I", " do", "."}, 1},
		{[]string{" I", " do", "..", "\""}, 1},
		{[]string{" in", " 19", "84"}, 2},
		{[]string{"\xe4\xbd", "\xa0"}, 1}, // half a letter each
	} {
		var tokens []token
		for _, text := range test.tokens {
			tokens = append(tokens, token{text: text})
		}
		if got := lastWord(tokens); got != test.want {
			t.Errorf("%q: %d, want %d", test.tokens, got, test.want)
		}
	}
}
