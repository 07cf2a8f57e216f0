package silero

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
)

// A network that sleeps through silence hears no voice less, and on the whole none later. It is no bound for each clip alone, since such a
// network is as moody by itself: after one more second of silence, 7 to 20 of 99 clips begin a frame or two later and 26 to 34 end at another
// 10 ms. RIPOSTE_TEST_CORPUS makes it all of a folder's.
func TestSleeper(t *testing.T) {
	e := open(t)
	clips := audiotest.Corpus(t)
	var all, sooner, later, more, ends int
	for _, floor := range []float64{math.Inf(-1), -66} {
		for _, level := range []float64{-20, -40, -50} {
			p, starts := line(t, clips, level, floor)
			awake, asleep := vadOf(t, e), &counted{VAD: vadOf(t, e)}
			want, got := turns(t, awake, p, starts), turns(t, &audio.Sleeper{VAD: asleep}, p, starts)
			for i, w := range want {
				g := got[i]
				all++
				switch {
				case w.onset >= 0 && g.onset < 0:
					t.Errorf("%s at %v dBFS, silence at %v: it is not heard any more", clips[i].Name, level, floor)
				case w.onset < 0 && g.onset >= 0:
					more++
				case g.onset < w.onset:
					sooner++
				case g.onset > w.onset:
					later++
				}
				if g.last != w.last {
					ends++
				}
			}
			t.Logf("%v dBFS, silence at %v: %.2f of %d frames are heard", level, floor, float64(asleep.n)/float64(len(p)/audio.VADFrame), len(p)/audio.VADFrame)
		}
	}
	t.Logf("of %d clips %d begin sooner, %d later, and %d are taken for a voice that are none otherwise; %d end elsewhere", all, sooner, later, more, ends)
	if later > sooner || more > all/6 { // dogs and music are a sixth of the project's, and some of each at the edge
		t.Error("the network hears worse for having slept")
	}
}

// line returns the clips at a level, with 1.2 to 5.2 s of silence behind each, over noise, and in which frame each begins.
func line(t *testing.T, clips []audiotest.Clip, level, floor float64) (p audio.PCM, starts []int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range clips {
		starts = append(starts, len(p)/audio.VADFrame)
		p = append(p, audiotest.Level(c.At(t, audio.SpeechRate), level)...)
		p = append(p, make(audio.PCM, audio.SpeechRate*6/5+rnd.IntN(4*audio.SpeechRate))...)
	}
	return audiotest.Mix(p, audiotest.Noise(rnd, 10*audio.SpeechRate, floor)), starts
}

// begun is what was heard of a clip: the frame of it in which speech begins, and the 10 ms of it in which speech ends for good; -1 for none.
type begun struct{ onset, last int }

func turns(t *testing.T, v audio.VAD, p audio.PCM, starts []int) (all []begun) {
	ends := audio.Endpointer{Eager: audio.Eager, Silence: time.Second}
	for n := 0; n*audio.VADFrame+audio.VADFrame <= len(p); n++ {
		frame := p[n*audio.VADFrame:][:audio.VADFrame]
		speech, err := v.Speech(frame)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) < len(starts) && n == starts[len(all)] {
			all = append(all, begun{-1, -1})
		}
		b := &all[len(all)-1]
		switch ends.Step(speech, frame) {
		case audio.Onset:
			if b.onset < 0 {
				b.onset = n - starts[len(all)-1]
			}
		case audio.Done:
			b.last = int(ends.LastVoiced())/160 - starts[len(all)-1]*audio.VADFrame/160
		}
	}
	return all
}

func vadOf(t *testing.T, e *Engine) audio.VAD {
	v, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// counted counts the frames that a VAD scores.
type counted struct {
	audio.VAD
	n int
}

func (c *counted) Speech(frame audio.PCM) (float32, error) {
	c.n++
	return c.VAD.Speech(frame)
}
