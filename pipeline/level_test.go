package pipeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
	"riposte/budget/trace"
	"riposte/transport"
)

// hardOfHearing is a VAD that hears nothing below -40 dBFS.
type hardOfHearing struct{ levelVAD }

func (hardOfHearing) Speech(frame audio.PCM) (float32, error) {
	if frame.Level() > -40 {
		return 1, nil
	}
	return 0, nil
}

// Who speaks at -50 dBFS is heard by a VAD that hears nothing below -40, and is recorded as soft as that.
func TestQuietCallerIsHeard(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, level := range []bool{false, true} {
		heard, clips := 0, 0
		for _, c := range audiotest.Corpus(t) {
			if !strings.Contains(c.Kind, "read") && !strings.HasPrefix(c.Name, "lj_") && !strings.HasPrefix(c.Name, "question") || c.PCM.Duration(c.Rate) < time.Second {
				continue
			}
			clips++
			soft := audiotest.Level(c.At(t, rate), -50)
			var mu sync.Mutex
			var turns []trace.Turn
			e := quick()
			session(t, e, func(s *Session) {
				s.VAD, s.STT, s.Level, s.Record = hardOfHearing{}, e, level, true
				s.Settings.Detection.Silence = time.Second
				s.Trace = func(t trace.Turn) { mu.Lock(); defer mu.Unlock(); turns = append(turns, t) }
			}, func(l *line) {
				l.says(audiotest.Mix(slices.Concat(make(audio.PCM, 2*rate), soft, make(audio.PCM, 6*rate)), audiotest.Noise(rnd, rate, -80)))
			})
			for _, turn := range turns {
				if turn.Sound == nil {
					continue
				}
				heard++
				if got := audio.PCM(turn.Sound.Caller).Level(); got > soft.Level()+3 {
					t.Errorf("%s: what is recorded has %.1f dBFS", c.Name, got)
				}
				break
			}
		}
		t.Logf("levelled %v: of %d clips %d are heard", level, clips, heard)
		if clips == 0 || level && heard < clips || !level && heard > clips/2 {
			t.Errorf("levelled %v: of %d clips %d are heard", level, clips, heard)
		}
	}
}

// says says sound in real time.
func (l *line) says(sound audio.PCM) {
	for frame := range slices.Chunk(sound, audio.Samples(frameLength, rate)) {
		time.Sleep(frameLength)
		l.in <- transport.Sound{PCM: frame, Rate: rate, At: time.Now()}
	}
}
