package bench

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/tts"
)

func TestSentencesHaveTheirWords(t *testing.T) {
	var names []string
	for _, s := range spokenSentences {
		names = append(names, sentenceName(s))
	}
	if diff := cmp.Diff([]string{"w3", "w6", "w12", "w24"}, names); diff != "" {
		t.Error(diff)
	}
}

// part is what a fake voice yields after some time.
type part struct {
	after, silence, sound time.Duration
}

// fakeVoice speaks every text alike, but for those of three words, with which it fails every second time.
func fakeVoice(parts ...part) tts.Synthesizer {
	const rate = 8000
	calls := 0
	return tts.SynthesizerFunc{Hz: rate, Fn: func(_ context.Context, text string, _ tts.Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) {
			if sentenceName(text) == "w3" {
				if calls++; calls%2 == 0 {
					yield(nil, errors.New("hoarse"))
					return
				}
			}
			for _, p := range parts {
				time.Sleep(p.after)
				pcm := make(audio.PCM, audio.Samples(p.silence+p.sound, rate))
				for i := audio.Samples(p.silence, rate); i < len(pcm); i++ {
					pcm[i] = int16(8000 * (1 - 2*(i%2)))
				}
				if !yield(pcm, nil) {
					return
				}
			}
		}
	}}
}

func TestTTS(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name  string
		parts []part
		first float64
		rtf   float64
	}{
		{"sound at once", []part{{50 * ms, 0, 200 * ms}, {100 * ms, 0, 300 * ms}}, 50, 0.3},
		{"silence ahead", []part{{50 * ms, 30 * ms, 170 * ms}, {100 * ms, 0, 300 * ms}}, 80, 0.3},
		{"a silent part, played while the next is made", []part{{50 * ms, 20 * ms, 0}, {100 * ms, 10 * ms, 470 * ms}}, 160, 0.3},
		{"a silent part that is longer than the next takes", []part{{50 * ms, 200 * ms, 0}, {100 * ms, 10 * ms, 290 * ms}}, 260, 0.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clicks := 0.0
				b := TTS{
					Voice: fakeVoice(tt.parts...), Whole: fakeVoice(part{200 * ms, 0, 500 * ms}), Runs: 5, Seed: 7,
					Seams: func(context.Context, string) (float64, float64, error) { clicks += 0.1; return 1e-5, clicks, nil },
				}
				r, err := b.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				r.Machine = Machine{}
				each := func(x float64) map[string]float64 {
					return map[string]float64{"w3": x, "w6": x, "w12": x, "w24": x}
				}
				want := TTSResult{
					FirstAudio: each(tt.first), Whole: each(200), FirstByWhole: tt.first / 200, RTF: tt.rtf, MaxDiff: 1e-5, EdgeClick: 0.4, Runs: 5, Failed: 3, About: About{Seed: 7},
				}
				if diff := cmp.Diff(want, r, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestTTSThatIsMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := TTS{Voice: fakeVoice(part{0, time.Second, 0}), Whole: fakeVoice(part{0, 0, time.Second}), Runs: 1}
		if r, err := b.Run(t.Context()); err == nil || r.Failed != 4 {
			t.Errorf("%+v, %v", r, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("interrupted")
		cancel(reason)
		if _, err := b.Run(ctx); !errors.Is(err, reason) {
			t.Errorf("%v, want %v", err, reason)
		}
	})
}
