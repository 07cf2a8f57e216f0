package echo

import (
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"riposte/audio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual is a speakerphone on a table, its echo 150 ms late.
var usual = room{delay: 150 * audio.SpeechRate / 1000, gain: -12, rt60: 0.4, direct: 0, noise: -60}

// loud returns whether a frame of s, by its number, holds more than near silence of p.
func loud(p audio.PCM, frame int) bool { return frameOf(p, frame).Level() > -40 }

// frameOf returns a frame of p by its number.
func frameOf(p audio.PCM, frame int) audio.PCM { return p[frame*audio.VADFrame:][:audio.VADFrame] }

func TestNothingChangesWithoutEcho(t *testing.T) {
	c := ours(t)
	caller := level(c["jfk"][0][:4*audio.SpeechRate], -24)
	far := make(audio.PCM, len(caller))
	copy(far[audio.SpeechRate:], c["lj"][0])
	for name, far := range map[string]audio.PCM{"no answer": nil, "headset": far} {
		t.Run(name, func(t *testing.T) {
			for i, f := range New().Step(caller, far) {
				if !slices.Equal(f.Sound, frameOf(caller, i)) {
					t.Fatalf("frame %d was changed", i)
				}
				if far == nil && (f.Own || f.Excess != 0) {
					t.Fatalf("frame %d: a verdict without an answer: own %v, excess %v", i, f.Own, f.Excess)
				}
			}
		})
	}
}

// After an answer has died away the caller is heard as if there never had been one.
func TestCallersTurnPassesUnchanged(t *testing.T) {
	c := ours(t)
	s := sketch{room: usual, far: c["lj"][:1], seed: 1}.build(t)
	k := New()
	whole := len(s.near) / audio.VADFrame * audio.VADFrame
	k.Step(s.near[:whole], s.far[:whole])
	turn := level(c["jfk"][0][:3*audio.SpeechRate], -24)
	for i, f := range k.Step(turn, nil) {
		if f.Own || !slices.Equal(f.Sound, frameOf(turn, i)) {
			t.Fatalf("frame %d of the caller's turn: own %v, or changed", i, f.Own)
		}
	}
}

func TestLagIsRightToTheSample(t *testing.T) {
	c := ours(t)
	for _, ms := range []int{0, 5, 80, 150, 220, 300, 480} {
		for _, telephone := range []bool{false, true} {
			r := usual
			r.delay, r.phone = ms*audio.SpeechRate/1000, telephone
			s := sketch{room: r, far: c["lj"][:1], seed: 1}.build(t)
			k := New()
			end := s.answers[0].from + r.delay + audio.SpeechRate/2
			k.Step(s.near[:end], s.far[:end])
			if !k.known || max(k.lag-r.delay, r.delay-k.lag) > 2 {
				t.Errorf("an echo %d ms late, telephone %v: half a second after it began its lag is %d samples (found: %v), want %d", ms, telephone, k.lag, k.known, r.delay)
			}
		}
	}
}

func TestEchoIsRemoved(t *testing.T) {
	c := ours(t)
	for _, telephone := range []bool{false, true} {
		r := usual
		r.phone = telephone
		s := sketch{room: r, far: []audio.PCM{c["lj"][0], c["lj"][0]}, seed: 1}.build(t)
		from := (s.answers[1].from + r.delay) / audio.VADFrame
		var before, after float64
		for i, f := range New().Step(s.near, s.far)[from:] {
			before += math.Pow(10, frameOf(s.near, from+i).Level()/10)
			after += math.Pow(10, f.Sound.Level()/10)
		}
		if got := 10 * math.Log10(before/after); got < 15 {
			t.Errorf("telephone %v: %.1f dB of the second answer's echo are removed, want 15", telephone, got)
		}
	}
}

// No VAD is needed to see that an echo, from its first frame on, is no reason to stop, and that a caller is.
func TestVerdicts(t *testing.T) {
	c := ours(t)
	far := []audio.PCM{c["lj"][0], c["lj"][0], c["lj"][0]}
	over := []audio.PCM{level(c["jfk"][0][:3*audio.SpeechRate], -24)}
	over = append(over, over[0], over[0])
	for name, change := range map[string]func(*room){
		"usual":     func(*room) {},
		"telephone": func(r *room) { r.phone = true },
		"jumping":   func(r *room) { r.jump = 60 * audio.SpeechRate / 1000 },
		"drifting":  func(r *room) { r.drift = 1e-4 },
		"loud":      func(r *room) { r.gain = -6 },
		"soft":      func(r *room) { r.gain = -20 },
		"far away":  func(r *room) { r.delay, r.rt60 = 300*audio.SpeechRate/1000, 0.6 },
		"headset":   func(r *room) { r.gain = -100 },
	} {
		t.Run(name, func(t *testing.T) {
			r := usual
			change(&r)
			s := sketch{room: r, far: far, seed: 1}.build(t)
			run := 0
			for i, f := range New().Step(s.near, s.far) {
				if run++; f.Own || !loud(f.Sound, 0) || !loud(s.near, i) {
					run = 0
				}
				if run >= 4 {
					t.Fatalf("at %v the agent's own voice counts as a caller's for 128 ms", audio.Duration(i*audio.VADFrame, audio.SpeechRate))
				}
			}
			s = sketch{room: r, far: far, over: over, talk: [2]float64{1, 2}, seed: 1}.build(t)
			frames := New().Step(s.near, s.far)
			for _, a := range s.answers {
				voiced, heard := 0, 0
				for i := a.talk / audio.VADFrame; i < (a.talk+audio.SpeechRate)/audio.VADFrame; i++ {
					if loud(s.clean, i) {
						voiced++
						if !frames[i].Own {
							heard++
						}
					}
				}
				if heard < voiced*2/3 {
					t.Errorf("of %d voiced frames of the first second over the answer, %d count as the caller's, want two thirds", voiced, heard)
				}
			}
		})
	}
}

// A far side that had nothing to play for a moment, or paused, goes on a little sooner or later than was reckoned.
func TestVerdictsBehindABreak(t *testing.T) {
	c := ours(t)
	voice := c["lj"][0]
	for _, late := range []int{0, 15, -100, 300, 1000} {
		for _, rest := range []int{320, 4800} {
			r := usual
			r.jump = late
			s := sketch{room: r, far: []audio.PCM{voice, voice}, rest: rest, seed: 1}.build(t)
			k := New()
			at := s.answers[1].from / audio.VADFrame * audio.VADFrame
			frames := k.Step(s.near[:at], s.far[:at])
			k.Break()
			frames = append(frames, k.Step(s.near[at:], s.far[at:])...)
			run, longest := 0, 0
			for i, f := range frames {
				if run++; f.Own || !loud(f.Sound, 0) || !loud(s.near, i) {
					run = 0
				}
				longest = max(longest, run)
			}
			if longest >= 2 {
				t.Errorf("%d samples later behind a break of %d: the agent's own voice counts as a caller's for %d frames", late, rest, longest)
			}
		}
	}
}

func TestFramesOfAnyLength(t *testing.T) {
	c := ours(t)
	s := sketch{room: usual, far: c["lj"][:1], seed: 1}.build(t)
	want := New().Step(s.near, s.far)
	for _, n := range []int{1, 160, 320, 512, 777} {
		k := New()
		var got []Frame
		for at := 0; at < len(s.near); at += n {
			end := min(at+n, len(s.near))
			got = append(got, k.Step(s.near[at:end], s.far[at:end])...)
		}
		same := func(a, b Frame) bool { return a.Own == b.Own && a.Excess == b.Excess && slices.Equal(a.Sound, b.Sound) }
		if !slices.EqualFunc(got, want, same) {
			t.Errorf("%d samples at a time give %d frames that differ from the %d of all at once", n, len(got), len(want))
		}
	}
}

// BenchmarkSecond cancels one second of an answer's echo.
func BenchmarkSecond(b *testing.B) {
	c := ours(b)
	s := sketch{room: usual, far: c["lj"][:1], seed: 1}.build(b)
	k := New()
	k.Step(s.near[:2*audio.SpeechRate], s.far[:2*audio.SpeechRate])
	near, far := s.near[2*audio.SpeechRate:][:audio.SpeechRate], s.far[2*audio.SpeechRate:][:audio.SpeechRate]
	b.ReportAllocs()
	for b.Loop() {
		k.Step(near, far)
	}
}

// BenchmarkListening is a second in which the agent is silent.
func BenchmarkListening(b *testing.B) {
	near := ours(b)["jfk"][0][:audio.SpeechRate]
	k := New()
	b.ReportAllocs()
	for b.Loop() {
		k.Step(near, nil)
	}
}

// Nothing is done while a microphone is muted. What is found when it is open again is what would have been found if it had been as quiet as
// one that is open can be.
func TestMutedMicrophone(t *testing.T) {
	c := ours(t)
	for _, ms := range []int{20, 300} {
		r := usual
		r.delay = ms * audio.SpeechRate / 1000
		s := sketch{room: r, far: []audio.PCM{c["lj"][0], c["jfk"][0]}, seed: 1}.build(t)
		muted := slices.Clone(s.near)
		quiet := slices.Clone(s.near)
		for n := range muted {
			if n/12345%3 != 0 { // comes and goes, also within answers
				muted[n], quiet[n] = 0, int16(n%2)
			}
		}
		m, q := New(), New()
		want := q.Step(quiet, s.far)
		differ := 0
		for i, f := range m.Step(muted, s.far) {
			if f.Own != want[i].Own {
				differ++
			}
		}
		if differ > len(want)/100 || max(m.lag-q.lag, q.lag-m.lag) > still {
			t.Errorf("an echo %d ms late: %d of %d verdicts differ; it is found at %d samples, want %d", ms, differ, len(want), m.lag, q.lag)
		}
	}
}
