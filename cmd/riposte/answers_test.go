package main

import (
	"testing"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/stt"
	"riposte/stt/wer"
	"riposte/stt/whisper"
	"riposte/tts"
)

// The shortest answers are understood, as they come and over a telephone, however close to the beginning they are cut.
func TestShortAnswersAreUnderstood(t *testing.T) {
	ears := nativetest.File(t, "whisper-tiny.en-q8_0")
	voice := repeatable(t)
	ear := &whisper.Engine{Model: ears, Language: "en"}
	if err := ear.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer ear.Close()

	for _, text := range []string{"Yes.", "No, thanks.", "Tomorrow.", "That's right.", "Can you help me, please?", "I would like to book a table for four."} {
		var sound audio.PCM
		for pcm, err := range voice.Speak(t.Context(), text, tts.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			sound = append(sound, pcm...)
		}
		line := audio.FromMuLaw(resample(t, sound, voice.Rate(), 8000).AppendMuLaw(nil))
		for name, heard := range map[string]audio.PCM{
			"as it is": resample(t, sound, voice.Rate(), audio.SpeechRate), "over a telephone": resample(t, line, 8000, audio.SpeechRate),
		} {
			heard = append(make(audio.PCM, audio.SpeechRate/10), heard...) // what a call keeps of the silence before is more
			got, err := stt.Transcribe(t.Context(), ear, heard, stt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if n := wer.WER(text, got.Text); n.Errors() > 0 {
				t.Errorf("%q, %s: heard %q", text, name, got.Text)
			}
		}
	}
}

func resample(t *testing.T, pcm audio.PCM, from, to int) audio.PCM {
	t.Helper()
	out, err := audio.Resample(pcm, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
