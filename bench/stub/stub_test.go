package stub

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

const ms = time.Millisecond

var delays = Delays{STT: 100 * ms, LLM: 80 * ms, Token: 15 * ms, TTS: 50 * ms, Pace: 0.2}

func TestEar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var supposed []stt.Hypothesis
		s := (&Engines{Delays: delays}).Ear().Listen(stt.Options{Heard: func(h stt.Hypothesis) { supposed = append(supposed, h) }})
		for range 100 { // two seconds
			s.Write(make(audio.PCM, audio.Samples(20*ms, audio.SpeechRate)))
			time.Sleep(20 * ms)
		}
		synctest.Wait()
		s.Hasten(budget.Urgency{})
		said, err := s.Finish(t.Context(), budget.Urgency{})
		if err != nil || said.Text != "i would like to know" || said.Speech != 2*time.Second {
			t.Errorf("it heard %+v, %v", said, err)
		}
		synctest.Wait()
		if took := time.Since(began); took != 2100*ms {
			t.Errorf("it took %v, want 100 ms behind two seconds of speech", took)
		}
		if len(supposed) != 4 || supposed[1].Text != "i would" || supposed[1].Stable != 1 || supposed[1].Speech != time.Second {
			t.Errorf("hypotheses: %+v", supposed)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("hung up")
		cancel(gone)
		if _, err := s.Finish(ctx, budget.Urgency{}); !errors.Is(err, gone) {
			t.Errorf("a pass that nobody wants ended with %v", err)
		}
		s.Write(make(audio.PCM, audio.SpeechRate))
		s.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(supposed) != 4 {
			t.Error("a hypothesis came after Close")
		}
	})
}

func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var said strings.Builder
		var usage *llm.Usage
		n := 0
		for p, err := range (&Engines{Delays: delays}).Model().Generate(t.Context(), llm.Request{Messages: []llm.Message{{Text: "one two three"}}}) {
			if err != nil {
				t.Fatal(err)
			}
			if usage = p.Usage; usage != nil {
				break
			}
			if at, want := time.Since(began), 80*ms+time.Duration(n)*15*ms; at != want {
				t.Errorf("token %d came after %v, want %v", n, at, want)
			}
			// The word behind the sentence tells that it is over.
			if sentence, more := strings.CutPrefix(said.String()+p.Text, answer[0]+" "); more && strings.Count(sentence, " ") == 0 && time.Since(began) != delays.Clause() {
				t.Errorf("the first clause was there after %v, want %v", time.Since(began), delays.Clause())
			}
			said.WriteString(p.Text)
			n++
		}
		if said.String() != strings.Join(answer, " ") || usage == nil || usage.Output != n || usage.Prompt != 3 || usage.Finish != llm.FinishStop {
			t.Errorf("it said %q, %+v", &said, usage)
		}
	})
}

func TestVoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tone := make(audio.PCM, 16000) // with silence before it
		for i := 4000; i < len(tone); i++ {
			tone[i] = int16(8000 * math.Sin(2*math.Pi*300*float64(i)/16000))
		}
		v, err := (&Engines{Delays: delays, Sound: tone, Rate: 16000}).Voice()
		if err != nil {
			t.Fatal(err)
		}
		text := "That can be done today."
		began := time.Now()
		var sound audio.PCM
		var ends []tts.Word
		for pcm, err := range v.Speak(t.Context(), text, tts.Options{Words: func(w tts.Word) { ends = append(ends, w) }}) {
			if err != nil {
				t.Fatal(err)
			}
			if sound == nil && time.Since(began) != 50*ms {
				t.Errorf("the first sound came after %v", time.Since(began))
			}
			sound = append(sound, pcm...)
		}
		length := sound.Duration(v.Rate())
		if want := 5 * wordTakes; length.Round(ms) != want {
			t.Errorf("it spoke for %v, want %v", length, want)
		}
		if from, to, ok := audio.Audible(sound, v.Rate()); !ok || from > 0 || len(sound)-to > audio.Samples(10*ms, v.Rate()) {
			t.Errorf("audible from %d to %d of %d", from, to, len(sound))
		}
		if took := time.Since(began); took < 50*ms+length/6 || took > 50*ms+length/5 {
			t.Errorf("it took %v for %v", took, length)
		}
		if len(ends) != 5 || ends[0].End != len("That") || ends[4].End != len(text) || ends[4].Heard != len(sound) {
			t.Errorf("words end at %v", ends)
		}
		if _, err := (&Engines{Sound: make(audio.PCM, 100), Rate: 16000}).Voice(); err == nil {
			t.Error("silence was taken for a voice")
		}
	})
}

// An answer may be as long as anybody wants it to be.
func TestModelWords(t *testing.T) {
	for _, words := range []int{3, 1000} {
		n := 0
		for p, err := range (&Engines{Delays: Delays{Words: words}}).Model().Generate(t.Context(), llm.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Usage == nil {
				n++
			}
		}
		if n != words {
			t.Errorf("%d words, not %d", n, words)
		}
	}
}

func TestDelays(t *testing.T) {
	if err := delays.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Delays{{STT: -1}, {LLM: -1}, {Token: -1}, {TTS: -1}, {Pace: -1}, {Pace: math.NaN()}, {Pace: 1}, {Words: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is taken for possible", bad)
		}
	}
}
