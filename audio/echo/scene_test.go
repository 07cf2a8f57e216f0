package echo

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"riposte/audio"
	walls "riposte/audio/room"
)

// room is what lies between the agent's voice and the caller's microphone.
type room struct {
	delay    int     // Samples.
	jump     int     // Samples that every second answer comes later.
	gain     float64 // dB, of the whole echo against the far sound.
	rt60     float64 // Seconds.
	direct   float64 // dB, the direct sound against the room's.
	drift    float64 // Parts, of the speaker's clock.
	phone    bool    // Through mu-law at 8 kHz, both ways.
	noise    float64 // dBFS.
	overload float64 // dB below full scale where the loudspeaker saturates, or 0.
	moves    bool    // Whether the room changes in the middle of each answer, as when somebody walks by or lifts the telephone.
}

// answer is one answer in a scene, in samples.
type answer struct {
	from, to int // What was played.
	talk     int // Where the caller speaks over it, or 0.
}

// scene is a call as the two sides of the canceller hear it.
type scene struct {
	near, far audio.PCM
	clean     audio.PCM // The caller alone, as near without echo and noise.
	answers   []answer
}

// response returns the room's impulse response.
func (r room) response(rnd *rand.Rand) []float64 {
	return walls.Response(rnd, audio.SpeechRate, r.rt60, r.direct)
}

// play returns what the microphone hears of the far sound.
func (r room) play(t testing.TB, rnd *rand.Rand, far audio.PCM, answers []answer) []float64 {
	t.Helper()
	if r.overload > 0 { // A small loudspeaker bends loud sound.
		bent := make(audio.PCM, len(far))
		limit := 32768 * math.Pow(10, -r.overload/20)
		for i, x := range far {
			bent[i] = clip(limit * math.Tanh(float64(x)/limit))
		}
		far = bent
	}
	if r.phone {
		far = phone(t, far)
	}
	h := r.response(rnd)
	out := make([]float64, len(far))
	for i, a := range answers {
		shift := r.delay
		if i%2 == 1 {
			shift += r.jump
		}
		d := walls.Convolve(far[a.from:a.to], h)
		if r.moves {
			h = r.response(rnd)
			copy(d[len(d)/2:], walls.Convolve(far[a.from:a.to], h)[len(d)/2:])
		}
		scale := math.Pow(10, r.gain/20)
		for i := range d {
			at := a.from + shift + i
			if at+1 >= len(out) {
				break
			}
			// The other clock is off by drift; a cubic between its samples.
			p := float64(i) * (1 + r.drift)
			n := int(p)
			if n < 1 || n+2 >= len(d) {
				continue
			}
			out[at] += scale * cubic(d[n-1], d[n], d[n+1], d[n+2], p-float64(n))
		}
	}
	return out
}

// cubic returns the value at t, 0 to 1, between b and c of four samples.
func cubic(a, b, c, d, t float64) float64 {
	return b + t/2*(c-a+t*(2*a-5*b+4*c-d+t*(3*(b-c)+d-a)))
}

// phone sends p through a telephone line.
func phone(t testing.TB, p audio.PCM) audio.PCM {
	t.Helper()
	down, err := audio.Resample(p, audio.SpeechRate, audio.G711Rate)
	if err != nil {
		t.Fatal(err)
	}
	up, err := audio.Resample(audio.FromMuLaw(down.AppendMuLaw(nil)), audio.G711Rate, audio.SpeechRate)
	if err != nil {
		t.Fatal(err)
	}
	return up[:len(p)]
}

// level brings a clip to a level in dBFS, measured over its voiced part.
func level(p audio.PCM, db float64) audio.PCM {
	var loud audio.PCM
	for i := 0; i+160 <= len(p); i += 160 {
		if p[i:i+160].Level() > -45 {
			loud = append(loud, p[i:i+160]...)
		}
	}
	g := math.Pow(10, (db-loud.Level())/20)
	out := make(audio.PCM, len(p))
	for i, s := range p {
		out[i] = clip(float64(s) * g)
	}
	return out
}

// sketch says what a scene is made of.
type sketch struct {
	room room
	far  []audio.PCM // The answers.
	over []audio.PCM // What the caller says over each, or nil.
	talk [2]float64  // When, in seconds after the answer's beginning: at random in between.
	rest int         // Samples of silence behind each answer; 0 means a second and a half.
	seed uint64
}

// build makes the sound of a call.
func (s sketch) build(t testing.TB) scene {
	t.Helper()
	const second = audio.SpeechRate
	rnd := rand.New(rand.NewPCG(s.seed, 7))
	sc := scene{far: make(audio.PCM, second)}
	clean := make([]float64, second)
	grow := func(n int) {
		sc.far = append(sc.far, make(audio.PCM, n)...)
		clean = append(clean, make([]float64, n)...)
	}
	for i, far := range s.far {
		a := answer{from: len(sc.far), to: len(sc.far) + len(far)}
		grow(len(far) + cmp.Or(s.rest, 3*second/2))
		copy(sc.far[a.from:], far)
		if s.over != nil {
			a.talk = a.from + int((s.talk[0]+(s.talk[1]-s.talk[0])*rnd.Float64())*second)
			grow(max(0, a.talk+len(s.over[i])-len(clean)+second))
			for i, x := range s.over[i] {
				clean[a.talk+i] += float64(x)
			}
		}
		sc.answers = append(sc.answers, a)
	}
	if s.rest != 0 {
		grow(second)
	}
	echo := s.room.play(t, rnd, sc.far, sc.answers)
	noise := 32768 * math.Pow(10, s.room.noise/20)
	for i, x := range clean {
		sc.clean = append(sc.clean, clip(x))
		sc.near = append(sc.near, clip(x+echo[i]+noise*rnd.NormFloat64()))
	}
	if s.room.phone {
		sc.near = phone(t, sc.near)
	}
	return sc
}

// clip rounds x to a sample.
func clip(x float64) int16 { return int16(max(-32768, min(32767, math.Round(x)))) }
