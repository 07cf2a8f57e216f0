package echo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/audio/silero"
	"riposte/native/nativetest"
	"riposte/native/onnx/onnxtest"
)

// corpusVar names the environment variable that holds a folder with speech; see folder.
const corpusVar = "RIPOSTE_ECHO_CORPUS"

// heard is a call after canceller and VAD, by frame.
type heard struct {
	scene
	speech []float32
	alone  []float32 // What the VAD says of the caller's own sound, as it was before echo, line and canceller.
	frames []Frame
}

// vad loads the real VAD, or skips where it is not on this machine.
func vad(t testing.TB) *silero.Engine {
	t.Helper()
	rt := onnxtest.Runtime(t)
	e := &silero.Engine{Model: nativetest.File(t, "silero-vad"), Runtime: rt}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// listen plays a scene through a new canceller and VAD, and where it is to be levelled, a Leveller between them, as calls by telephone have one.
func listen(t testing.TB, e *silero.Engine, s scene, levelled bool) heard {
	t.Helper()
	h := heard{scene: s, frames: New().Step(s.near, s.far)}
	var cleaned audio.PCM
	var l audio.Leveller
	for _, f := range h.frames {
		switch sound := f.Sound; {
		case levelled && f.Own:
			cleaned = append(cleaned, l.Step(0, sound)...)
		case levelled:
			cleaned = append(cleaned, l.Step(1, sound)...)
		default:
			cleaned = append(cleaned, sound...)
		}
	}
	h.speech, h.alone = score(t, e, cleaned), score(t, e, s.clean)
	return h
}

// score returns what a new VAD says of each frame of p.
func score(t testing.TB, e *silero.Engine, p audio.PCM) (speech []float32) {
	t.Helper()
	v, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for ; len(p) >= audio.VADFrame; p = p[audio.VADFrame:] {
		s, err := v.Speech(p[:audio.VADFrame])
		if err != nil {
			t.Fatal(err)
		}
		speech = append(speech, s)
	}
	return speech
}

// first returns after how many milliseconds from a sample on, but before another one, k of the last n frames were voiced,
// or -1 if never.
func first(from, to, k, n int, voiced func(frame int) bool) int {
	begin := from / audio.VADFrame
	for i := begin; i <= to/audio.VADFrame; i++ {
		m := 0
		for j := max(begin, i-n+1); j <= i; j++ {
			if voiced(j) {
				m++
			}
		}
		if m >= k {
			return ((i+1)*audio.VADFrame - from) * 1000 / audio.SpeechRate
		}
	}
	return -1
}

// caller returns whether a frame counts as the caller's speech.
func (h heard) caller(threshold float64) func(int) bool {
	return func(i int) bool { return i < len(h.frames) && h.speech[i] >= 0.5 && h.frames[i].Excess >= threshold }
}

// An onset is two voiced frames of three, and lets an answer be held; a commitment is six of ten, 192 ms of 320.
const (
	onset, onsetOf       = 2, 3
	commitment, commitOf = 6, 10
)

// tally counts what happened in calls.
type tally struct {
	answers, holds, commits int   // Without a caller.
	early, heard, missed    int   // With one whom the VAD hears when he is alone: before he spoke, within a second, not.
	ms, more                []int // From the caller's beginning to the commitment, and how much later that was than alone.
}

// echoOnly counts a call in which the caller says nothing.
func (c *tally) echoOnly(h heard, threshold float64) {
	for i, a := range h.answers {
		end := len(h.far)
		if i+1 < len(h.answers) {
			end = h.answers[i+1].from
		}
		c.answers++
		if first(a.from, end-1, onset, onsetOf, h.caller(threshold)) >= 0 {
			c.holds++
		}
		if first(a.from, end-1, commitment, commitOf, h.caller(threshold)) >= 0 {
			c.commits++
		}
	}
}

// spokenOver counts a call in which the caller speaks over each answer.
func (c *tally) spokenOver(h heard, threshold float64) {
	for _, a := range h.answers {
		end := a.talk + audio.SpeechRate
		alone := first(a.talk, end, commitment, commitOf, func(i int) bool { return i < len(h.alone) && h.alone[i] >= 0.5 })
		if alone < 0 {
			continue
		}
		if first(a.from, a.talk-audio.VADFrame, commitment, commitOf, h.caller(threshold)) >= 0 {
			c.early++
		} else if ms := first(a.talk, end, commitment, commitOf, h.caller(threshold)); ms < 0 {
			c.missed++
		} else {
			c.heard++
			c.ms, c.more = append(c.ms, ms), append(c.more, ms-alone)
		}
	}
}

// String is a line of the report.
func (c *tally) String() string {
	slices.Sort(c.ms)
	slices.Sort(c.more)
	at := func(ms []int, share float64) int {
		if len(ms) == 0 {
			return -1
		}
		return ms[int(float64(len(ms))*share)]
	}
	return fmt.Sprintf("%d answers, %d held, %d interrupted; %d spoken over, %d heard, %d interrupted before; after %d ms (p50), %d ms (p90), later than alone by %d and %d ms",
		c.answers, c.holds, c.commits, c.heard+c.missed+c.early, c.heard, c.early, at(c.ms, 0.5), at(c.ms, 0.9), at(c.more, 0.5), at(c.more, 0.9))
}

// plan is what calls are made of.
type plan struct {
	name   string
	n      int        // How many.
	room   room       // Its delay, rt60 and direct are drawn for each call, and the delay of every second call jumps.
	caller float64    // The caller's level, dBFS.
	talk   [2]float64 // As in sketch.
	level  bool       // The sound is levelled behind the canceller.
}

// calls builds the calls of a plan with some answers each, twice: without and with a caller who speaks over them.
func (p plan) calls(t testing.TB, c corpus, answers int, seed uint64) (alone, over []scene) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 11))
	names := c.speakers()
	for i := range p.n {
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
func (p plan) count(t testing.TB, e *silero.Engine, c corpus, answers int, thresholds ...float64) []tally {
	t.Helper()
	counts := make([]tally, len(thresholds))
	alone, over := p.calls(t, c, answers, 1)
	for i := range alone {
		a, o := listen(t, e, alone[i], p.level), listen(t, e, over[i], p.level)
		for k, th := range thresholds {
			counts[k].echoOnly(a, th)
			counts[k].spokenOver(o, th)
		}
	}
	return counts
}

var anywhere = [2]float64{0.5, 2.5}

// The agent does not interrupt itself and a caller is heard, with the real VAD.
func TestCalls(t *testing.T) {
	e := vad(t)
	for _, c := range []struct{ telephone, level bool }{{false, false}, {true, false}, {true, true}} {
		p := plan{n: 2, room: room{gain: -12, noise: -60, phone: c.telephone}, caller: -24, talk: anywhere, level: c.level}
		got := p.count(t, e, ours(t), 2, threshold)[0]
		if got.answers != 4 || got.commits > 0 || got.early > 0 || got.heard < 3 || got.missed > 0 {
			t.Errorf("telephone %v, levelled %v: %v", c.telephone, c.level, &got)
		}
	}
}

// TestReport prints how calls go with the speech of a folder, which corpusVar names. It takes ten minutes.
func TestReport(t *testing.T) {
	dir := os.Getenv(corpusVar)
	if dir == "" {
		t.Skipf("%s names no folder with speech", corpusVar)
	}
	c, e := folder(t, dir), vad(t)
	telephone := room{gain: -12, noise: -60, phone: true}
	beginning := [2]float64{0, 0.5}
	for _, p := range []plan{
		{"-12 dB", 10, room{gain: -12, noise: -60}, -24, anywhere, false},
		{"-12 dB, telephone", 10, telephone, -24, anywhere, false},
		{"-6 dB", 10, room{gain: -6, noise: -60}, -24, anywhere, false},
		{"-6 dB, telephone", 4, room{gain: -6, noise: -60, phone: true}, -24, anywhere, false},
		{"-20 dB", 4, room{gain: -20, noise: -60}, -24, anywhere, false},
		{"-20 dB, telephone", 4, room{gain: -20, noise: -60, phone: true}, -24, anywhere, false},
		{"headset", 4, room{gain: -100, noise: -60}, -24, anywhere, false},
		{"headset, at the beginning", 4, room{gain: -100, noise: -60}, -24, beginning, false},
		{"-12 dB, at the beginning", 4, room{gain: -12, noise: -60}, -24, beginning, false},
		{"-12 dB, soft caller", 4, room{gain: -12, noise: -60}, -30, anywhere, false},
		{"-12 dB, overloaded", 4, room{gain: -12, noise: -60, overload: 18}, -24, anywhere, false},
		{"-12 dB, moving", 4, room{gain: -12, noise: -60, moves: true}, -24, anywhere, false},
		{"-12 dB, noisy", 4, room{gain: -12, noise: -45}, -24, anywhere, false},
		{"0 dB", 4, room{gain: 0, noise: -60}, -24, anywhere, false},
		{"-12 dB, telephone, levelled", 10, telephone, -24, anywhere, true},
		{"-6 dB, telephone, levelled", 4, room{gain: -6, noise: -60, phone: true}, -24, anywhere, true},
		{"-20 dB, telephone, levelled", 4, room{gain: -20, noise: -60, phone: true}, -24, anywhere, true},
		{"-20 dB, telephone, soft caller", 4, room{gain: -20, noise: -65, phone: true}, -40, anywhere, false},
		{"-20 dB, telephone, soft caller, levelled", 4, room{gain: -20, noise: -65, phone: true}, -40, anywhere, true},
	} {
		t.Run(p.name, func(t *testing.T) {
			thresholds := []float64{0, 3, 4, threshold, 6, 8}
			for i, c := range p.count(t, e, c, 5, thresholds...) {
				fmt.Printf("%-26s threshold %v: %v\n", p.name, thresholds[i], &c)
			}
		})
	}
}
