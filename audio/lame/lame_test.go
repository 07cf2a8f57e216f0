package lame

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"riposte/audio"
)

// What was encoded in pieces of any length is decoded as the same sound, at each of the rates that voices have.
func TestEncoder(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	for _, rate := range []int{16000, 22050, 24000, 48000} {
		tone := make(audio.PCM, 2*rate)
		for i := range tone {
			tone[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/float64(rate)))
		}
		var out bytes.Buffer
		e := Encoder{Out: &out, Rate: rate}
		if err := e.Open(); err != nil {
			t.Fatal(err)
		}
		early := 0
		for from := 0; from < len(tone); from += 777 {
			if err := e.Write(tone[from:min(len(tone), from+777)]); err != nil {
				t.Fatal(err)
			}
			if early == 0 && out.Len() > 0 {
				early = from
			}
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
		if early == 0 || early > rate/4 {
			t.Errorf("%d Hz: the first frame came with sample %d, want it within a quarter of a second", rate, early)
		}
		got, hz, err := audio.Decode(&out, "tone.mp3")
		if err != nil {
			t.Fatal(err)
		}
		if hz != rate || len(got) < len(tone) || len(got) > len(tone)+rate/5 {
			t.Errorf("%d samples at %d Hz became %d at %d Hz", len(tone), rate, len(got), hz)
		}
		if level, want := got[rate/2:rate].Level(), tone[:rate].Level(); math.Abs(level-want) > 0.5 {
			t.Errorf("%d Hz: the tone is at %.1f dB, want %.1f dB", rate, level, want)
		}
		if err := e.Write(tone); !errors.Is(err, ErrFailed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestEncoderRefusesRates(t *testing.T) {
	e := Encoder{Out: new(bytes.Buffer), Rate: 0}
	if err := e.Open(); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v", err)
	}
}
