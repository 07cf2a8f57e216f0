package echo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/audio/silero"
	"riposte/native/nativetest"
	"riposte/native/onnx"
)

// corpusVar names the environment variable that holds a folder with speech; see folder.
const corpusVar = "RIPOSTE_ECHO_CORPUS"

// heard is a call after canceller and VAD, by frame.
type heard struct {
	scene
	speech []float32
	frames []Frame
}

// vad loads the real VAD, or skips where it is not on this machine.
func vad(t testing.TB) *silero.Engine {
	t.Helper()
	rt, err := onnx.Start(nativetest.ONNXRuntime(t))
	if errors.Is(err, onnx.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &silero.Engine{Model: nativetest.File(t, "silero-vad"), Runtime: rt}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// listen plays a scene through a new canceller and VAD.
func listen(t testing.TB, e *silero.Engine, s scene) heard {
	t.Helper()
	v, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	h := heard{scene: s, frames: New().Step(s.near, s.far)}
	for _, f := range h.frames {
		p, err := v.Speech(f.Sound)
		if err != nil {
			t.Fatal(err)
		}
		h.speech = append(h.speech, p)
	}
	return h
}

// caller returns after how many milliseconds from a sample on, but before another one, k of the last n frames were the
// caller's speech, or -1 if never.
func (h heard) caller(from, to, k, n int, threshold float64) int {
	first := from / audio.VADFrame
	for i := first; i <= to/audio.VADFrame && i < len(h.frames); i++ {
		m := 0
		for j := max(first, i-n+1); j <= i; j++ {
			if h.speech[j] >= 0.5 && h.frames[j].Excess >= threshold {
				m++
			}
		}
		if m >= k {
			return ((i+1)*audio.VADFrame - from) * 1000 / audio.SpeechRate
		}
	}
	return -1
}

// An onset is two voiced frames of three, and lets an answer be held; a commitment is six of ten, 192 ms of 320.
const (
	onset, onsetOf       = 2, 3
	commitment, commitOf = 6, 10
)

// tally counts what happened in calls.
type tally struct {
	answers, holds, commits int   // Without a caller.
	over, early, heard      int   // With one: early is before the caller spoke.
	ms                      []int // From the caller's beginning to the commitment.
}

// echoOnly counts the calls in which the caller says nothing.
func (c *tally) echoOnly(h heard, threshold float64) {
	for i, a := range h.answers {
		end := len(h.far)
		if i+1 < len(h.answers) {
			end = h.answers[i+1].from
		}
		c.answers++
		if h.caller(a.from, end-1, onset, onsetOf, threshold) >= 0 {
			c.holds++
		}
		if h.caller(a.from, end-1, commitment, commitOf, threshold) >= 0 {
			c.commits++
		}
	}
}

// spokenOver counts the calls in which the caller speaks over each answer.
func (c *tally) spokenOver(h heard, threshold float64) {
	for _, a := range h.answers {
		c.over++
		if h.caller(a.from, a.talk-audio.VADFrame, commitment, commitOf, threshold) >= 0 {
			c.early++
		} else if ms := h.caller(a.talk, a.talk+audio.SpeechRate, commitment, commitOf, threshold); ms >= 0 {
			c.heard++
			c.ms = append(c.ms, ms)
		}
	}
}

// String is a line of the report.
func (c *tally) String() string {
	slices.Sort(c.ms)
	p50, p90 := -1, -1
	if n := len(c.ms); n > 0 {
		p50, p90 = c.ms[n/2], c.ms[n*9/10]
	}
	return fmt.Sprintf("echo only: %d answers, %d held, %d interrupted; spoken over: %d, %d interrupted before, %d heard, after %d ms (p50) and %d ms (p90)",
		c.answers, c.holds, c.commits, c.over, c.early, c.heard, p50, p90)
}

// plan is what calls are made of.
type plan struct {
	name   string
	room   room       // Its delay, rt60 and direct are drawn for each call, and the delay of every second call jumps.
	caller float64    // The caller's level, dBFS.
	talk   [2]float64 // As in sketch.
}

// calls builds n calls of a plan with some answers each, twice: without and with a caller who speaks over them.
func (p plan) calls(t testing.TB, c corpus, n, answers int, seed uint64) (alone, over []scene) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 11))
	names := c.speakers()
	for i := range n {
		s := sketch{room: p.room, talk: p.talk, seed: rnd.Uint64()}
		s.room.delay = []int{80, 150, 220, 300}[i%4] * audio.SpeechRate / 1000
		s.room.rt60, s.room.direct = 0.2+0.4*rnd.Float64(), -3+9*rnd.Float64()
		if i%2 == 1 {
			s.room.jump = 60 * audio.SpeechRate / 1000
		}
		if i%4 >= 2 {
			s.room.drift = 1e-4
		}
		agent := names[i%len(names)]
		other := names[(i+1+rnd.IntN(len(names)-1))%len(names)]
		pick := func(who string) audio.PCM { return c[who][rnd.IntN(len(c[who]))] }
		var said []audio.PCM
		for range answers {
			far := slices.Clone(pick(agent))
			for len(far) < 3*audio.SpeechRate {
				far = append(append(far, make(audio.PCM, audio.SpeechRate/4)...), pick(agent)...)
			}
			s.far = append(s.far, far[:min(len(far), 4*audio.SpeechRate)])
			said = append(said, level(pick(other), p.caller))
		}
		alone = append(alone, s.build(t))
		s.over = said
		over = append(over, s.build(t))
	}
	return alone, over
}

// count runs all calls of a plan.
func (p plan) count(t testing.TB, e *silero.Engine, c corpus, n, answers int, thresholds ...float64) []tally {
	t.Helper()
	counts := make([]tally, len(thresholds))
	alone, over := p.calls(t, c, n, answers, 1)
	for i := range alone {
		a, o := listen(t, e, alone[i]), listen(t, e, over[i])
		for k, th := range thresholds {
			counts[k].echoOnly(a, th)
			counts[k].spokenOver(o, th)
		}
	}
	return counts
}

var anywhere = [2]float64{0.5, 2.5}

// TestReport prints how calls go with the speech of a folder; see docs of corpusVar.
func TestReport(t *testing.T) {
	dir := os.Getenv(corpusVar)
	if dir == "" {
		t.Skipf("%s names no folder with speech", corpusVar)
	}
	c, e := folder(t, dir), vad(t)
	for _, p := range []plan{
		{"-12 dB", room{gain: -12, noise: -60}, -24, anywhere},
		{"-12 dB, telephone", room{gain: -12, noise: -60, phone: true}, -24, anywhere},
		{"-6 dB", room{gain: -6, noise: -60}, -24, anywhere},
		{"-6 dB, telephone", room{gain: -6, noise: -60, phone: true}, -24, anywhere},
		{"-20 dB", room{gain: -20, noise: -60}, -24, anywhere},
		{"-20 dB, telephone", room{gain: -20, noise: -60, phone: true}, -24, anywhere},
		{"headset", room{gain: -100, noise: -60}, -24, anywhere},
		{"-12 dB, soft caller", room{gain: -12, noise: -60}, -30, anywhere},
		{"-12 dB, at the beginning", room{gain: -12, noise: -60}, -24, [2]float64{0, 0.5}},
		{"headset, at the beginning", room{gain: -100, noise: -60}, -24, [2]float64{0, 0.5}},
		{"0 dB", room{gain: 0, noise: -60}, -24, anywhere},
		{"-12 dB, overloaded", room{gain: -12, noise: -60, overload: 18}, -24, anywhere},
		{"-12 dB, moving", room{gain: -12, noise: -60, moves: true}, -24, anywhere},
		{"-12 dB, noisy", room{gain: -12, noise: -45}, -24, anywhere},
	} {
		t.Run(p.name, func(t *testing.T) {
			thresholds := []float64{0, 3, 4, 5, 6, 8}
			for i, c := range p.count(t, e, c, 10, 5, thresholds...) {
				fmt.Printf("SIM %-26s threshold %v: %v\n", p.name, thresholds[i], &c)
			}
		})
	}
}
