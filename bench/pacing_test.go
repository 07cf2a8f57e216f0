package bench

import (
	"math"
	"os"
	"testing"
	"time"

	"riposte/audio"
	"riposte/bench/stub"
	"riposte/caller"
	"riposte/caller/phone"
)

// noise is a second of somebody's voice.
func noise() caller.Speech {
	p := make(audio.PCM, audio.SpeechRate)
	for i := range p {
		p[i] = int16(6000 * math.Sin(float64(i)*2*math.Pi*300/audio.SpeechRate))
	}
	return caller.Speech{Sound: p, Rate: audio.SpeechRate}
}

// An answer that goes on for an hour comes to the far side at one pace, without drift and without a gap. It goes on for an hour with RIPOSTE_TEST_LONG=1,
// and for five minutes otherwise.
func TestPacing(t *testing.T) {
	length := 5 * time.Minute
	if os.Getenv("RIPOSTE_TEST_LONG") != "" {
		length = time.Hour
	}
	for _, wire := range []phone.Wire{phone.AudioSocket, phone.Twilio, phone.ChanWS} {
		t.Run(string(wire), func(t *testing.T) {
			delays := stub.Delays{LLM: 80 * time.Millisecond, Token: 15 * time.Millisecond, TTS: 50 * time.Millisecond, Pace: 0.2, Words: 12000}
			sound := noise()
			voice, err := (&stub.Engines{Delays: delays, Sound: sound.Sound, Rate: sound.Rate}).Voice()
			if err != nil {
				t.Fatal(err)
			}
			s := telephony{model: stub.Model{Delays: delays}, other: voice}
			s.serve(t, wire, func(t *testing.T, p phone.Phone) {
				b := Pacing{Phone: p, Speech: sound, For: length}
				r, err := b.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d frames in %.0f s: %+v off, drift %v, off the schedule %+v, %d underruns of %.0f ms, %.0f ms in hand", r.Frames, r.Seconds, r.Off, r.Drift, r.Schedule, r.Underrun, r.Starved, r.Queued)
				if !r.Met() || r.Frames < int((length-10*time.Second)/telephoneFrame) || r.Schedule.Max > 20 {
					t.Errorf("%v; %v", r, r.Faults)
				}
			})
		})
	}
}

// What is measured of frames is when they came.
func TestPacingMeasure(t *testing.T) {
	began := time.Now()
	var arrivals []phone.Arrival
	for i := range 2000 {
		at := began.Add(time.Duration(i) * 20010 * time.Microsecond) // 0.5 ms a second too slow
		if i%100 == 50 {
			at = at.Add(7 * time.Millisecond)
		}
		arrivals = append(arrivals, phone.Arrival{At: at, N: 160})
	}
	var r PacingResult
	r.measure(arrived(arrivals, 8000))
	if r.Frames != 1900 || r.Interval.P50 != 20.01 || math.Abs(r.Off.Max-7.01) > 0.001 || math.Abs(r.Beyond-0.02) > 0.002 {
		t.Errorf("%+v", r)
	}
	if math.Abs(r.Drift-14) > 0.1 || math.Abs(r.Schedule.Max-18.99) > 7 {
		t.Errorf("drift %v, off the schedule %v", r.Drift, r.Schedule)
	}
	if r.Met() {
		t.Errorf("one frame in fifty was off by 7 ms, and that is good enough: %+v", r)
	}
}
