package bench

import (
	"context"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/scenario"
	"riposte/scenario/live"
	"riposte/tts"
)

// hummer is a voice that hums 200 ms for each word, after 50 ms of silence.
const hum = 200 * time.Millisecond

type hummer struct{ asked []float32 }

func (h *hummer) Rate() int { return 16000 }

func (h *hummer) Speak(_ context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	h.asked = append(h.asked, o.Speed)
	return func(yield func(audio.PCM, error) bool) {
		pcm := make(audio.PCM, audio.Samples(50*time.Millisecond, h.Rate()))
		end := 0
		for word := range strings.FieldsSeq(text) {
			for i := range audio.Samples(time.Duration(float64(hum)/float64(o.Speed)), h.Rate()) {
				pcm = append(pcm, int16(8000*math.Sin(float64(i)/4)))
			}
			end += len(word) + 1
			if o.Words != nil {
				o.Words(tts.Word{End: end - 1, Heard: len(pcm)})
			}
		}
		yield(pcm, nil)
	}
}

// speech reads what is said.
func speech(t *testing.T, text string) scenario.Speech {
	t.Helper()
	s, err := scenario.Parse("x", `caller says "`+text+`"`)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lines[0].Statement.(scenario.Says).Speech
}

// silences returns where silence begins and how long it lasts, in tenths of a second.
func silences(pcm audio.PCM) (out [][2]int) {
	tenth := live.Rate / 10
	for i := 0; i+tenth <= len(pcm); i += tenth {
		quiet := pcm[i:i+tenth].Level() < -50
		switch n := len(out); {
		case quiet && n > 0 && out[n-1][0]+out[n-1][1] == i/tenth:
			out[n-1][1]++
		case quiet:
			out = append(out, [2]int{i / tenth, 1})
		}
	}
	return out
}

// lasts reports whether a sound lasts as long as it should, but for the edges of resampling and of levels.
func lasts(pcm audio.PCM, want time.Duration) bool {
	return (pcm.Duration(live.Rate) - want).Abs() <= 25*time.Millisecond
}

// A pause stands behind the word that it follows, and the words are as long as they are without it.
func TestMouthPauses(t *testing.T) {
	m := &Mouth{Voice: &hummer{}, Name: "hum"}
	got, err := m.Say(t.Context(), speech(t, "my name [600ms] is Smith"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if !lasts(got.PCM, 4*hum+600*time.Millisecond) {
		t.Errorf("it lasts %v", got.PCM.Duration(live.Rate))
	}
	if s := silences(got.PCM); len(s) != 1 || s[0][0] != 4 || s[0][1] < 5 || s[0][1] > 6 {
		t.Errorf("there is silence at %v tenths of a second", s)
	}
	if got.Of != "voice hum, 1.15 times as high" {
		t.Errorf("it comes from %q", got.Of)
	}
}

// So many milliseconds a word are so many, at any pitch.
func TestMouthPace(t *testing.T) {
	m := &Mouth{Voice: &hummer{}}
	for _, word := range []time.Duration{100 * time.Millisecond, 160 * time.Millisecond, 300 * time.Millisecond} {
		got, err := m.Say(t.Context(), speech(t, "wait a moment please"), word)
		if err != nil || !lasts(got.PCM, 4*word) {
			t.Errorf("at %v a word it lasts %v, %v", word, got.PCM.Duration(live.Rate), err)
		}
	}
}

// What is not understood is said again at another pitch; what was said once is said so each time.
func TestMouthIsUnderstood(t *testing.T) {
	v := &hummer{}
	heard := []string{"shop", "", "Stop."}
	m := &Mouth{Voice: v, Ear: func(context.Context, audio.PCM) (string, error) {
		h := heard[0]
		heard = heard[1:]
		return h, nil
	}}
	for range 2 {
		got, err := m.Say(t.Context(), speech(t, "stop"), 0)
		if err != nil || got.Of != "voice , 1.05 times as high" {
			t.Errorf("%q, %v", got.Of, err)
		}
	}
	if len(v.asked) != 3 {
		t.Errorf("the voice was asked %d times", len(v.asked))
	}
	heard = []string{"", "", "", ""}
	if got, err := m.Say(t.Context(), speech(t, "mumble"), 0); err != nil || got.Of != "voice , 1.15 times as high" {
		t.Errorf("what nobody understands is said as %q, %v", got.Of, err)
	}
}

// corpus makes a corpus of tones.
func corpus(t *testing.T, lines ...string) []Clip {
	t.Helper()
	dir := t.TempDir()
	text := "file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\n"
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "\t")
		pcm := make(audio.PCM, 16000)
		for i := range pcm {
			if i >= 3200 && i < 12800 {
				pcm[i] = int16(float64(i) / 2 * math.Sin(float64(i)/4)) // louder and louder
			}
		}
		if err := audio.WriteWAV(filepath.Join(dir, name), pcm, 16000); err != nil {
			t.Fatal(err)
		}
		text += line + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	clips, err := ReadCorpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	return clips
}

// Words that somebody says in a clip are that clip, without the silence around them; coughs and noises are clips as well.
func TestMouthFromClips(t *testing.T) {
	m := &Mouth{Voice: &hummer{}, Clips: corpus(t, "a.wav\tread\ten\tdrop the two\t0.2\t0.8", "noise_dog.wav\tnoise\t\t\t\t")}
	got, err := m.Say(t.Context(), speech(t, "Drop the two"), 0)
	if err != nil || got.Of != "clip a" || !lasts(got.PCM, 600*time.Millisecond) {
		t.Errorf("%v of %q, %v", got.PCM.Duration(live.Rate), got.Of, err)
	}
	if got, err := m.Say(t.Context(), speech(t, "drop [300ms] the two"), 0); err != nil || !strings.HasPrefix(got.Of, "voice") {
		t.Errorf("what has a pause comes from %q, %v", got.Of, err)
	}
	cough, err := m.Cough(t.Context(), 200*time.Millisecond)
	if err != nil || cough.Of != "clip a, 200ms of it backwards" || !lasts(cough.PCM, 200*time.Millisecond) {
		t.Errorf("%v of %q, %v", cough.PCM.Duration(live.Rate), cough.Of, err)
	}
	half := len(cough.PCM) / 2
	if first, second := cough.PCM[:half].Level(), cough.PCM[half:].Level(); first <= second {
		t.Errorf("a cough made of what gets louder has %.1f and then %.1f dB", first, second)
	}
	dog, err := m.Noise("dog", 2500*time.Millisecond)
	if err != nil || dog.Of != "clip noise_dog" || !lasts(dog.PCM, 2500*time.Millisecond) {
		t.Errorf("%v of %q, %v", dog.PCM.Duration(live.Rate), dog.Of, err)
	}
	if _, err := m.Noise("cat", time.Second); err == nil || !strings.Contains(err.Error(), `no noise "cat": known are dog`) {
		t.Errorf("a noise that is not there: %v", err)
	}
	m.Clips = slices.DeleteFunc(m.Clips, func(c Clip) bool { return c.Transcript != "" })
	if _, err := m.Cough(t.Context(), time.Second); err == nil {
		t.Error("a cough of nobody")
	}
}
