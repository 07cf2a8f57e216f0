package main

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/native/onnx/onnxtest"
	"riposte/stt"
	"riposte/stt/wer"
	"riposte/stt/whisper"
	"riposte/tts"
	"riposte/tts/piper"
)

// TestWordsAreHeardWhereTheVoiceSaysThatTheyEnd cuts the sound of sentences behind each of their words, and lets a listener
// that knows nothing of the voice count the words. It may miss one of them, or put in what it expects to follow.
func TestWordsAreHeardWhereTheVoiceSaysThatTheyEnd(t *testing.T) {
	ears := nativetest.File(t, "whisper-base")
	voice := repeatable(t)
	base := &whisper.Engine{Model: ears, Threads: 2, Window: 500, Language: "en"}
	if err := base.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer base.Close()

	texts := []string{
		"Please take the second street on the left, right behind the station.",
		"The plumber fixed our kitchen sink yesterday morning, and nobody complained afterwards.",
	}
	exact, near, all := 0, 0, 0
	for _, text := range texts {
		var words []tts.Word
		var sound audio.PCM
		for pcm, err := range voice.Speak(t.Context(), text, tts.Options{Words: func(w tts.Word) { words = append(words, w) }}) {
			if err != nil {
				t.Fatal(err)
			}
			sound = append(sound, pcm...)
		}
		if n := len(strings.Fields(text)); len(words) != n || n != 12 {
			t.Fatalf("told %d words of %d", len(words), n)
		}
		for _, w := range words {
			cut := append(slices.Clone(sound[:w.Heard]), make(audio.PCM, audio.Samples(300*time.Millisecond, voice.Rate()))...)
			pcm, err := audio.Resample(cut, voice.Rate(), audio.SpeechRate)
			if err != nil {
				t.Fatal(err)
			}
			heard, err := stt.Transcribe(t.Context(), base, pcm, stt.Options{Language: "en"})
			if err != nil {
				t.Fatal(err)
			}
			want, got := wer.Normalize(text[:w.End]), wer.Normalize(heard.Text)
			all++
			if slices.Equal(got, want) {
				exact++
			} else {
				t.Logf("after %q it heard %q", text[:w.End], heard.Text)
			}
			if d := len(got) - len(want); d >= -1 && d <= 1 {
				near++
			}
		}
	}
	t.Logf("of %d beginnings %d were heard word for word, and %d with at most one word more or less", all, exact, near)
	if exact*3 < all*2 || near < all-2 {
		t.Error("that is too few")
	}
}

// repeatable returns a voice without noise, which speaks a text the same way each time.
func repeatable(t *testing.T) *piper.Engine {
	t.Helper()
	model := nativetest.File(t, "piper-en_us-joe-medium")
	rt := onnxtest.Runtime(t)
	voice := &piper.Engine{Model: model, Runtime: rt, NoiseScale: -1, NoiseWidth: -1, Log: slog.New(slog.DiscardHandler)}
	if err := voice.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { voice.Close() })
	return voice
}
