package pipeline

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"riposte/audio"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

// rough is a voice of noise whose loudness goes up and down as syllables do: there is something of it at every frequency.
func rough(_ context.Context, text string, _ tts.Options) iter.Seq2[audio.PCM, error] {
	r := rand.New(rand.NewPCG(uint64(len(text)), 3))
	return func(yield func(audio.PCM, error) bool) {
		for range text {
			loud := 1000 + 7000*r.Float64()
			pcm := make(audio.PCM, audio.Samples(letter, rate))
			for i := range pcm {
				pcm[i] = int16(loud * math.Sin(math.Pi*float64(i)/float64(len(pcm))) * (2*r.Float64() - 1))
			}
			if !yield(pcm, nil) {
				return
			}
		}
	}
}

// speakerphone listens to a call as a speakerphone does: what the caller's side plays comes back a while later and softer,
// together with what the caller says, if anything: noise of that loudness.
func (l *line) speakerphone(lasts, delay time.Duration, gain, loud float64) {
	r := rand.New(rand.NewPCG(5, 5))
	begin := time.Now()
	for at := time.Duration(0); at < lasts; at += 20 * ms {
		time.Sleep(20 * ms)
		frame := l.playedFrom(begin.Add(at-delay), audio.Samples(20*ms, rate))
		for i := range frame {
			frame[i] = int16(gain*float64(frame[i]) + loud*(2*r.Float64()-1) + 3*(2*r.Float64()-1))
		}
		l.in <- transport.Sound{PCM: frame, Rate: rate, At: time.Now()}
	}
}

// playedFrom returns n samples of what the caller's side played from a time on: each frame as soon as the one before it has
// ended, until it is told that the caller speaks.
func (l *line) playedFrom(from time.Time, n int) audio.PCM {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(audio.PCM, n)
	var next time.Time
	put := func(pcm audio.PCM, at, until time.Time) {
		if at.Add(pcm.Duration(rate)).Before(from) || at.After(from.Add(audio.Duration(n, rate))) {
			return
		}
		for i, s := range pcm {
			t := at.Add(audio.Duration(i, rate))
			if k := int(t.Sub(from) * rate / time.Second); k >= 0 && k < n && t.Before(until) {
				out[k] = s
			}
		}
	}
	cuts := make([]time.Time, len(l.out)) // When the caller is next said to speak.
	for i, cut := len(l.out)-1, time.Now().Add(time.Hour); i >= 0; i-- {
		if _, ok := l.out[i].Outbound.(transport.SpeechStarted); ok {
			cut = l.out[i].at
		}
		cuts[i] = cut
	}
	for i, s := range l.out {
		v, ok := s.Outbound.(transport.Voice)
		if !ok {
			continue
		}
		if next.Before(s.at) {
			next = s.at
		}
		put(v.PCM, next, cuts[i])
		next = next.Add(v.PCM.Duration(rate))
		if cuts[i].Before(next) {
			next = cuts[i]
		}
	}
	return out
}

// The agent's own voice, coming back from a speakerphone, neither ends nor holds its answer; a caller who speaks over it does.
func TestOwnEcho(t *testing.T) {
	for i, delay := range []time.Duration{80 * ms, 150 * ms, 300 * ms, 80 * ms, 150 * ms, 300 * ms} {
		e := quick()
		e.hears = []string{"what time is it", "no stop it now"}
		e.says = "It is noon, as far as I can see from here, and the sun is high above the roofs of the town. Anything else that I can do for you?"
		session(t, e, func(s *Session) {
			s.TTS = tts.SynthesizerFunc{Hz: rate, Fn: rough}
			s.STT, s.Echo, s.Level = stt.Whole(e.transcribe), true, i >= 3
		}, func(l *line) {
			l.speak(1000*ms, 0)
			l.speakerphone(4*time.Second, delay, 0.25, 0)
			if n, m := len(told[transport.SpeechStarted](l)), len(told[transport.Held](l)); n != 1 || m > 0 {
				t.Fatalf("with an echo after %v the agent interrupted itself %d times and held its tongue %d times", delay, n-1, m)
			}
			onset := time.Now()
			l.speakerphone(1500*ms, delay, 0.25, 9000)
			l.speakerphone(3*time.Second, delay, 0.25, 0)
			done := told[transport.ResponseDone](l)
			if len(done) == 0 || done[0].Status != transport.Cancelled {
				t.Fatalf("a caller who spoke over the answer was not heard: the answers ended as %+v", done)
			}
			if took := toldAt[transport.Held](l).Sub(onset); took > 200*ms {
				t.Errorf("a caller who spoke over the answer was noticed after %v", took)
			}
		})
	}
}
