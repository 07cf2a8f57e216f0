package pipeline

import (
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// Nothing of what is said is lost when it changes in the middle who decides that a turn is over.
func TestHandOver(t *testing.T) {
	manual := transport.Settings{Instructions: "Be brief.", Rate: rate}
	auto := manual
	auto.Detection = &transport.Detection{Threshold: 0.5, Padding: 300 * ms, Silence: 300 * ms, Respond: true, Interrupt: true}
	heard := func(l *line) (all []time.Duration) {
		for _, h := range told[transport.Transcribed](l) {
			all = append(all, h.Speech)
		}
		return all
	}
	t.Run("to the client", func(t *testing.T) {
		session(t, quick(), nil, func(l *line) {
			l.speak(600*ms, 0)
			l.in <- transport.Configure{Settings: manual}
			l.speak(600*ms, 0)
			l.in <- transport.Commit{}
			l.speak(0, 2000*ms)
			if h := heard(l); len(h) != 1 || h[0] < 1200*ms {
				t.Errorf("heard %v, want all of 1.2 s at once", h)
			}
		})
	})
	t.Run("and back", func(t *testing.T) {
		session(t, quick(), nil, func(l *line) {
			l.speak(600*ms, 0)
			l.in <- transport.Configure{Settings: manual}
			l.speak(600*ms, 0)
			l.in <- transport.Configure{Settings: auto}
			l.speak(600*ms, 3000*ms)
			if h := heard(l); len(h) != 1 || h[0] < 1800*ms {
				t.Errorf("heard %v, want all of 1.8 s at once", h)
			}
		})
	})
}

// Sound that is longer than a turn may be is refused with what can be done about it.
func TestSoundTooLong(t *testing.T) {
	session(t, quick(), func(s *Session) { s.Settings.Detection, s.Limits.Utterance = nil, time.Second }, func(l *line) {
		l.in <- transport.Sound{PCM: make(audio.PCM, 5*rate), Rate: rate, At: time.Now()}
		time.Sleep(time.Second)
		if f := told[transport.Fault](l); len(f) != 1 || !strings.Contains(f[0].Message, "in parts") {
			t.Errorf("faults %+v, want to be told to send it in parts", f)
		}
	})
}
