package pipeline

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/transport"
	"riposte/tts"
)

// handy has every phrase at hand.
type handy struct{}

func (handy) Phrase(string) (tts.Phrase, bool) {
	pcm := make(audio.PCM, audio.Samples(600*ms, rate))
	for i := range pcm {
		pcm[i] = int16(5000 * math.Sin(float64(i)/5))
	}
	return tts.Phrase{Sound: pcm, Rate: rate}, true
}

// enforcing returns a session that has something to act with.
func enforcing(l *line, c *cast) *Session {
	s := newSession(l, quick())
	s.STT, s.LLM, s.TTS, s.Phrases, s.Openers = c, c, c.voice(), handy{}, []string{"Let me see.", "One moment."}
	return s
}

// Each engine is late, hangs, fails or makes garbage in twenty turns, or in fifty for RIPOSTE_TEST_LONG=1. The caller hears something within the budget in all but a
// few, and the report tells what it was and whose fault.
func TestFaults(t *testing.T) {
	tests := []struct {
		stage budget.Stage
		fault string
		takes time.Duration
		want  budget.Verdict
	}{
		{budget.STT, "late", 2 * time.Second, budget.Masked}, // with the best hypothesis
		{budget.STT, "hangs", 120 * ms, budget.Failed},       // an opener, then an apology
		{budget.STT, "fails", 120 * ms, budget.Failed},
		{budget.STT, "garbles", 120 * ms, budget.Failed},
		{budget.LLM, "", 1500 * ms, budget.Masked},
		{budget.LLM, "hangs", 80 * ms, budget.Failed},
		{budget.LLM, "fails", 80 * ms, budget.Failed},
		{budget.LLM, "garbles", 80 * ms, budget.Failed},
		{budget.TTS, "", 1500 * ms, budget.Masked},
		{budget.TTS, "hangs", 90 * ms, budget.Failed},
		{budget.TTS, "fails", 90 * ms, budget.Failed},
		{budget.TTS, "garbles", 90 * ms, budget.Failed},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.stage, " ", tt.fault, " ", tt.takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := 20
				if os.Getenv("RIPOSTE_TEST_LONG") != "" {
					turns = 50
				}
				soon := 0
				random := rand.New(rand.NewPCG(1, uint64(tt.takes)))
				for range turns {
					c := newCast()
					p := map[budget.Stage]*part{budget.STT: &c.stt, budget.LLM: &c.llm, budget.TTS: &c.tts}[tt.stage]
					p.fault, p.takes = tt.fault, tt.takes
					l := newLine(t)
					s := enforcing(l, c)
					s.Settings.Detection.Silence = time.Duration(200+random.IntN(100)) * ms
					done := make(chan error)
					go func() { done <- s.Run(t.Context()) }()
					end := c.tell(l, "what time is it", 9*time.Second)
					close(l.hang)
					if err := <-done; !errors.Is(err, transport.ErrHungUp) {
						t.Fatal(err)
					}
					if at := firstHeard(l); !at.IsZero() && at.Sub(end) <= budget.DefaultPlan.Total() {
						soon++
					}
					r := told[transport.TurnReport](l)
					if len(r) != 1 || r[0].Report.Verdict != tt.want || r[0].Report.Blame != tt.stage {
						t.Fatalf("got %+v, want %s, blame %s", r, tt.want, tt.stage)
					}
				}
				if soon < turns*95/100 {
					t.Errorf("something was heard in time in %d of %d turns", soon, turns)
				}
			})
		})
	}
}

// firstHeard returns when the caller was first sent something audible; zero for never.
func firstHeard(l *line) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.out {
		if v, ok := s.Outbound.(transport.Voice); ok {
			if _, ok := audio.FirstAudible(v.PCM, rate); ok {
				return s.at
			}
		}
	}
	return time.Time{}
}

// tell says words into the call in real time, then is silent. It returns when the last of them was said.
func (c *cast) tell(l *line, text string, silence time.Duration) (end time.Time) {
	var pcm audio.PCM
	for word := range strings.FieldsSeq(text) {
		pcm = append(pcm, c.lexicon.word(word, wordSpoken)...)
	}
	end = time.Now().Add(pcm.Duration(rate))
	pcm = append(pcm, make(audio.PCM, audio.Samples(silence, rate))...)
	for frame := range slices.Chunk(pcm, audio.Samples(20*ms, rate)) {
		time.Sleep(20 * ms)
		l.in <- transport.Sound{PCM: frame, Rate: rate, At: time.Now()}
	}
	return end
}
