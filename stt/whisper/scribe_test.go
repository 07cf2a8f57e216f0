//go:build cgo

package whisper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

// A recording is written down in sentences, and its words lie where they are said: in their order, within the sound, and not in its pauses.
func TestScribe(t *testing.T) {
	e := common(t)
	once := jfk(t)
	speech := append(append(append(audio.PCM(nil), once...), make(audio.PCM, 40*audio.SpeechRate)...), once...)
	var text []string
	var last, pause time.Duration
	for s, err := range e.Scribe(t.Context(), speech, stt.Recording{Words: true, Urgency: budget.Urgency{Class: budget.Background}}) {
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, s.Text)
		if s.From < last || s.To <= s.From || s.LogProb >= 0 || s.LogProb < -1 || s.Language != "en" || len(s.Tokens) == 0 {
			t.Errorf("behind %v came %+v", last, s)
		}
		pause = max(pause, s.From-last)
		var pieces strings.Builder
		var sum float32
		for _, p := range s.Pieces {
			pieces.WriteString(p.Text)
			sum += p.LogProb
		}
		if strings.TrimSpace(pieces.String()) != s.Text || len(s.Pieces) != len(s.Tokens) || sum/float32(len(s.Pieces)) != s.LogProb {
			t.Errorf("%q is made of %+v", s.Text, s.Pieces)
		}
		var said []string
		for _, w := range s.Words {
			if w.From < last || w.To <= w.From || w.To > s.To {
				t.Errorf("behind %v came %+v", last, w)
			}
			said, last = append(said, w.Text), w.To
		}
		if got := strings.Join(said, " "); got != s.Text {
			t.Errorf("the words %q are those of %q", got, s.Text)
		}
	}
	if got := strings.Join(text, " "); !sameWords(got, jfkWords+" "+jfkWords) {
		t.Errorf("wrote %q", got)
	}
	if pause < 40*time.Second || last > audio.Duration(len(speech), audio.SpeechRate) {
		t.Errorf("the pause of 40 s is %v, and the last word ends at %v", pause, last)
	}
}

func TestScribeStops(t *testing.T) {
	e := common(t)
	if _, err := first(e.Scribe(t.Context(), jfk(t), stt.Recording{Translate: true})); !errors.Is(err, stt.ErrTranslate) {
		t.Errorf("an English model translates: %v", err)
	}
	if _, err := first(e.Scribe(t.Context(), jfk(t), stt.Recording{Language: "de"})); !errors.Is(err, ErrLanguage) {
		t.Errorf("an English model hears German: %v", err)
	}
	why := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := first(e.Scribe(ctx, jfk(t), stt.Recording{})); !errors.Is(err, why) {
		t.Errorf("for nobody: %v", err)
	}
	for s, err := range e.Scribe(t.Context(), make(audio.PCM, audio.SpeechRate), stt.Recording{}) {
		t.Errorf("in silence: %+v, %v", s, err)
	}
	if _, err := first((&Engine{}).Scribe(t.Context(), nil, stt.Recording{})); !errors.Is(err, ErrClosed) {
		t.Errorf("not open: %v", err)
	}
}

// first returns what comes first.
func first(all func(func(stt.Segment, error) bool)) (got stt.Segment, err error) {
	for s, e := range all {
		return s, e
	}
	return got, nil
}
