package answering

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
	"riposte/audio/silero"
	"riposte/native/nativetest"
	"riposte/native/onnx/onnxtest"
)

// part is a piece of what the far side says: words, a tone, or silence.
type part struct {
	what   string
	length time.Duration
}

// play returns the events of a call, with a VAD that is always right, and when they came.
func play(d *Detector, parts ...part) (events []Event, at []time.Duration) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var now time.Duration
	for _, p := range parts {
		n := int(p.length / (32 * time.Millisecond))
		sound, speech := audiotest.Noise(rnd, n*audio.VADFrame, -65), float32(0.02)
		switch p.what {
		case "words":
			sound, speech = audiotest.Noise(rnd, n*audio.VADFrame, -25), 0.95
		case "beep":
			sound = audiotest.Tone(n*audio.VADFrame, audio.SpeechRate, 1000, -20)
		}
		for i := range n {
			now += 32 * time.Millisecond
			if e := d.Step(speech, sound[i*audio.VADFrame:(i+1)*audio.VADFrame]); e != None {
				events, at = append(events, e), append(at, now)
			}
		}
	}
	return events, at
}

func TestDetector(t *testing.T) {
	s := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	for _, c := range []struct {
		name   string
		d      Detector
		parts  []part
		events []Event
		last   float64 // When the last of them is there at the latest, in seconds.
	}{
		{"hello?", Detector{}, []part{{"", s(0.5)}, {"words", s(0.5)}, {"", s(5)}}, []Event{Human}, 1.9},
		{"a name and a firm", Detector{}, []part{{"", s(0.5)}, {"words", s(0.9)}, {"", s(0.4)}, {"words", s(0.8)}, {"", s(3)}}, []Event{Human}, 3.5},
		{"nobody", Detector{}, []part{{"", s(6)}}, []Event{Nobody}, 4.1},
		{"a click", Detector{}, []part{{"", s(1)}, {"words", s(0.07)}, {"", s(5)}}, []Event{Nobody}, 4.1},
		{"a greeting and a beep", Detector{}, []part{{"", s(0.8)}, {"words", s(3)}, {"", s(0.5)}, {"words", s(2)}, {"", s(1)}, {"beep", s(0.4)}, {"", s(5)}}, []Event{Machine, Beeped}, 7.9},
		{"a greeting without a beep", Detector{}, []part{{"words", s(4)}, {"", s(1.5)}, {"words", s(1)}, {"", s(6)}}, []Event{Machine, Over}, 9.2},
		{"a beep alone", Detector{}, []part{{"", s(1)}, {"beep", s(0.3)}, {"", s(6)}}, []Event{Beeped}, 1.5},
		{"a beep at the last moment", Detector{}, []part{{"", s(3.8)}, {"beep", s(0.5)}, {"", s(3)}}, []Event{Beeped}, 4.5},
		{"a short greeting, and a beep", Detector{}, []part{{"words", s(1)}, {"", s(1)}, {"beep", s(0.3)}, {"", s(2)}}, []Event{Human, Beeped}, 2.5},
		{"two beeps", Detector{}, []part{{"words", s(3)}, {"", s(0.5)}, {"beep", s(0.2)}, {"", s(0.3)}, {"beep", s(0.6)}, {"", s(9)}}, []Event{Machine, Beeped, Beeped}, 4.9},
		{"another Greeting", Detector{Greeting: s(4)}, []part{{"words", s(3)}, {"", s(2)}}, []Event{Human}, 4.1},
		{"another Initial", Detector{Initial: s(1)}, []part{{"", s(2)}}, []Event{Nobody}, 1.1},
		{"another Waits", Detector{Waits: s(0.3)}, []part{{"words", s(1)}, {"", s(1)}}, []Event{Human}, 1.5},
		{"known", Detector{Known: Machine}, []part{{"words", s(0.5)}, {"", s(2)}, {"words", s(1)}, {"", s(1)}, {"beep", s(0.3)}, {"", s(4)}}, []Event{Beeped}, 5.0},
		{"known, without a beep", Detector{Known: Machine}, []part{{"words", s(0.5)}, {"", s(3)}}, []Event{Over}, 3.1},
		{"another Quiet", Detector{Quiet: s(1)}, []part{{"words", s(3)}, {"", s(2)}}, []Event{Machine, Over}, 4.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.d
			events, at := play(&d, c.parts...)
			if len(events) != len(c.events) {
				t.Fatalf("%v at %v, want %v", events, at, c.events)
			}
			for i := range events {
				if events[i] != c.events[i] {
					t.Fatalf("%v at %v, want %v", events, at, c.events)
				}
			}
			if last := at[len(at)-1]; last > s(c.last) {
				t.Errorf("it took until %v, want %v s", last, c.last)
			}
			want := c.events[0]
			if want == Beeped || want == Over {
				want = Machine
			}
			if d.Verdict() != want {
				t.Errorf("the verdict is %v", d.Verdict())
			}
		})
	}
}

// What people and machines have said, with the real VAD: short sentences are a person's, long ones and prompts a machine's.
func TestRecordings(t *testing.T) {
	e := &silero.Engine{Model: nativetest.File(t, "silero-vad"), Runtime: onnxtest.Runtime(t)}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range answers(t) {
		p := c.At(t, audio.SpeechRate)
		if c.want == Machine { // It says where to leave a message, and beeps.
			p = append(append(p, make(audio.PCM, audio.SpeechRate*6/10)...), audiotest.Tone(audio.SpeechRate/2, audio.SpeechRate, 850, -18)...)
		}
		p = append(append(make(audio.PCM, audio.SpeechRate/2), p...), make(audio.PCM, 2*audio.SpeechRate)...)
		for name, line := range lines {
			v, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			d := Detector{Waits: 700 * time.Millisecond} // what the service has by default, and shorter than that of a Detector
			beeps, after := 0, time.Duration(0)
			for at, sound := 0, line(p); at+audio.VADFrame <= len(sound); at += audio.VADFrame {
				frame := sound[at : at+audio.VADFrame]
				speech, err := v.Speech(frame)
				if err != nil {
					t.Fatal(err)
				}
				switch d.Step(speech, frame) {
				case Beeped:
					beeps++
				case Human, Machine:
					after = audio.Duration(at+len(frame), audio.SpeechRate) - 500*time.Millisecond
				}
			}
			v.Close()
			if d.Verdict() != c.want || beeps > 1 || (c.want == Machine) != (beeps == 1) {
				t.Errorf("%s, %s: %v, %d beeps, want %v", c.Name, name, d.Verdict(), beeps, c.want)
			}
			t.Logf("%s, %s: %v after %v", c.Name, name, d.Verdict(), after)
		}
	}
}

// answer is a clip and whose it would be.
type answer struct {
	audiotest.Clip
	want Event
}

// answers returns the clips that are clear: of the folder, if there is one, and of the project.
func answers(t *testing.T) (all []answer) {
	greeting := answer{audiotest.Clip{Name: "sentences", Rate: audio.SpeechRate}, Machine}
	for _, c := range audiotest.Project(t) {
		if c.Name == "speech.flac" || strings.HasPrefix(c.Name, "lj_") {
			all = append(all, answer{c, Human})
			greeting.PCM = append(greeting.PCM, c.At(t, audio.SpeechRate)...)
		}
	}
	all = append(all, greeting)
	if os.Getenv(audiotest.CorpusVar) == "" {
		return all
	}
	for _, c := range audiotest.Corpus(t) {
		switch name := strings.TrimSuffix(c.Name, filepath.Ext(c.Name)); {
		case strings.HasPrefix(name, "ast_") && !strings.Contains(c.Kind, "short"):
			all = append(all, answer{c, Machine})
		case strings.Contains(c.Kind, "short"):
			all = append(all, answer{c, Human})
		}
	}
	return all
}
