package piper

import (
	"math"
	"slices"
	"testing"
	"time"

	"riposte/audio"
	"riposte/tts"
)

// tone returns so much of a tone at a level in dBFS.
func tone(d time.Duration, dB float64) []float32 {
	x := make([]float32, audio.Samples(d, 16000))
	for i := range x {
		x[i] = float32(math.Sqrt2 * math.Pow(10, dB/20) * math.Sin(float64(i)))
	}
	return x
}

// trimmed returns what is left of a unit that comes in windows of a size.
func trimmed(unit []float32, size int, tail bool) []float32 {
	s := silence{rate: 16000, tail: tail}
	var out []float32
	for w := range slices.Chunk(slices.Clone(unit), size) {
		out = append(out, s.trim(w)...)
	}
	return append(out, s.rest()...)
}

func TestSilenceGoesAndOnsetsStay(t *testing.T) {
	const ms = time.Millisecond
	join := func(parts ...[]float32) []float32 { return slices.Concat(parts...) }
	for _, tt := range []struct {
		name string
		unit []float32
		tail bool
		want time.Duration // What is left, give or take a grain and a ramp.
	}{
		{"a vowel", join(tone(50*ms, -90), tone(100*ms, -20)), false, 100 * ms},
		{"a soft consonant", join(tone(50*ms, -90), tone(15*ms, -57), tone(100*ms, -20)), false, 115 * ms},
		{"breath", join(tone(50*ms, -57), tone(100*ms, -20)), false, 120 * ms},
		{"no silence", tone(100*ms, -20), false, 100 * ms},
		{"the end of a sentence", join(tone(100*ms, -20), tone(200*ms, -90)), false, 300 * ms},
		{"the end of words that read on", join(tone(100*ms, -20), tone(200*ms, -90)), true, 130 * ms},
		{"a short end", join(tone(100*ms, -20), tone(10*ms, -90)), true, 110 * ms},
		{"a pause inside", join(tone(100*ms, -20), tone(200*ms, -90), tone(100*ms, -20), tone(200*ms, -90)), true, 430 * ms},
		{"nothing else", tone(200*ms, -90), true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{len(tt.unit), 1600, 1598} {
				got := trimmed(tt.unit, size, tt.tail)
				if d := audio.Duration(len(got), 16000) - tt.want; d < -grain || d > grain+ramp {
					t.Errorf("windows of %d: %v are left, want %v", size, audio.Duration(len(got), 16000), tt.want)
				}
				if len(got) > 0 && len(got) < len(tt.unit) && math.Abs(float64(got[0])) > 0.001 && tt.unit[0] != got[0] {
					t.Errorf("windows of %d: it begins with a step to %v", size, got[0])
				}
			}
		})
	}
}

// Words that begin softly keep all of their beginning: what is cut off is nothing beside what follows.
func TestSoftConsonantsAreKept(t *testing.T) {
	e := shareReal(t, false)
	for _, text := range []string{"Fine.", "Four people.", "How are you?", "Hello there.", "Happy to help.", "Thanks a lot.", "Physics is fun.", "Vote now.", "Sure!"} {
		said, err := units("en-us", tts.Normalize(text, "en-us"))
		if err != nil {
			t.Fatal(err)
		}
		r := request{scales: e.scales}
		r.ids, _, _ = e.voice.ids(said[0].phonemes)
		whole := collect(t, e.net, r)
		s := silence{rate: e.Rate()}
		got := s.trim(slices.Clone(whole))
		cut := whole[:len(whole)-len(got)]
		// What fades in counts as cut as well: it is hardly heard.
		fading := audio.Samples(ramp, e.Rate())
		onset := level(got[fading:][:audio.Samples(30*time.Millisecond, e.Rate())])
		for i := 0; i+fading <= len(cut); i += fading {
			if l := level(cut[i:][:fading]); l > 2*breathing || l > onset/4 {
				t.Errorf("%s: %.0f dBFS are cut %v before the sound, whose first 30 ms have %.0f", text, 20*math.Log10(l),
					audio.Duration(len(cut)-i, e.Rate()).Round(time.Millisecond), 20*math.Log10(onset))
			}
		}
		first := firstAudible(got)
		t.Logf("%-16s cut %v, audible after %v, onset %.0f dBFS", text, audio.Duration(len(cut), e.Rate()).Round(time.Millisecond),
			audio.Duration(first, e.Rate()).Round(100*time.Microsecond), 20*math.Log10(onset))
		if d := audio.Duration(first, e.Rate()); d > longestOnset+ramp {
			t.Errorf("%s: the first audible sample comes %v after the beginning", text, d)
		}
	}
}

func TestFirstChunkBeginsWithSound(t *testing.T) {
	e := shareReal(t, false)
	chunks := say(t, e, sentence, tts.Options{})
	if len(chunks) < 4 {
		t.Fatalf("%d chunks, want several", len(chunks))
	}
	first := slices.IndexFunc(chunks[0], func(s int16) bool { return math.Abs(float64(s)) >= audible*32768*0.9 })
	if most := audio.Samples(longestOnset+ramp, e.Rate()); first < 0 || first > most {
		t.Errorf("the first sound is sample %d, want one before %d", first, most)
	}
	for i, c := range chunks {
		if len(c) == 0 {
			t.Errorf("chunk %d is empty", i)
		}
	}
}

func TestWordsThatReadOnEndWithoutAPause(t *testing.T) {
	e := shareReal(t, false)
	tail := func(text string) time.Duration {
		pcm := slices.Concat(say(t, e, text, tts.Options{})...)
		n := 0
		for n < len(pcm) && math.Abs(float64(pcm[len(pcm)-1-n])) < audible*32768 {
			n++
		}
		return audio.Duration(n, e.Rate())
	}
	if d := tail("Your table is the one that"); d > keptTail+time.Millisecond {
		t.Errorf("%v of silence behind words that read on, want at most %v", d, keptTail)
	}
	if d := tail("Your table is booked."); d < 80*time.Millisecond {
		t.Errorf("%v of silence behind a sentence", d)
	}
}
