package opus

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"riposte/audio"
)

// need skips a test where libopus is not installed, or fails it where that must not be.
func need(t testing.TB) {
	t.Helper()
	if err := Check(); err != nil {
		if os.Getenv("RIPOSTE_TEST_MODELS") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func tone(hertz float64, length time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(length, rate))
	for i := range p {
		p[i] = int16(8000 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return p
}

// packets encodes sound in frames of 20 ms.
func packets(t testing.TB, e *Encoder, pcm audio.PCM) (all [][]byte) {
	t.Helper()
	for frame := range slices.Chunk(pcm, e.Rate/50) {
		p, err := e.Encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.Clone(p))
	}
	return all
}

func open(t testing.TB, e *Encoder, d *Decoder) {
	t.Helper()
	need(t)
	if err := e.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
}

// strength is how much of a frequency sound has, from 0 to 1 for all of it.
func strength(p audio.PCM, hertz float64, rate int) float64 {
	var re, im, all float64
	for i, s := range p {
		a := 2 * math.Pi * hertz * float64(i) / float64(rate)
		re, im, all = re+float64(s)*math.Cos(a), im+float64(s)*math.Sin(a), all+float64(s)*float64(s)
	}
	return 2 * (re*re + im*im) / (all * float64(len(p)))
}

// What is encoded at one rate is decoded at another, sample for sample as long, and is the same tone as loud.
func TestThere(t *testing.T) {
	e, d := &Encoder{Rate: 24000}, &Decoder{Rate: 16000}
	open(t, e, d)
	in := tone(440, time.Second, 24000)
	var out audio.PCM
	for _, p := range packets(t, e, in) {
		if n, ok := Length(p); !ok || n != 960 {
			t.Fatalf("a packet of 20 ms has a length of %d, %v", n, ok)
		}
		pcm, err := d.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pcm...)
	}
	if len(out) != 16000 {
		t.Fatalf("a second became %d samples", len(out))
	}
	out = out[4000:]
	if s := strength(out, 440, 16000); s < 0.95 {
		t.Errorf("the tone is %.2f of what came out", s)
	}
	if got, want := out.Level(), in.Level(); math.Abs(got-want) > 1.5 {
		t.Errorf("the level is %.1f dB, want %.1f", got, want)
	}
}

// A lost packet is in the next one, where the encoder knows that packets are lost; else it is made up.
func TestLost(t *testing.T) {
	e, d := &Encoder{Rate: 24000, Bitrate: 32000}, &Decoder{Rate: 16000}
	open(t, e, d)
	e.Loss(0.3)
	all := packets(t, e, tone(300, time.Second, 24000))
	for _, p := range all[:20] {
		if _, err := d.Decode(p); err != nil {
			t.Fatal(err)
		}
	}
	made, err := d.Conceal(20 * time.Millisecond)
	if err != nil || len(made) != 320 || made.Level() < -40 {
		t.Fatalf("20 ms were made up as %d samples of %.0f dB: %v", len(made), made.Level(), err)
	}
	again, err := d.Recover(all[22], 20*time.Millisecond)
	if err != nil || len(again) != 320 {
		t.Fatalf("20 ms were recovered as %d samples: %v", len(again), err)
	}
	if s := strength(again, 300, 16000); s < 0.9 {
		t.Errorf("the tone is %.2f of what was recovered", s)
	}
}

// Silence takes nearly nothing where that is wanted, and goes on being sent where it is not.
func TestDTX(t *testing.T) {
	for _, dtx := range []bool{true, false} {
		e, d := &Encoder{Rate: 24000, DTX: dtx}, &Decoder{Rate: 16000}
		open(t, e, d)
		all := packets(t, e, append(tone(300, 500*time.Millisecond, 24000), make(audio.PCM, 24000)...))
		tiny := 0
		for _, p := range all {
			if len(p) <= 2 {
				tiny++
			}
		}
		if (tiny > 20) != dtx {
			t.Errorf("with DTX %v, %d of %d packets are nothing", dtx, tiny, len(all))
		}
	}
}

// What nobody encoded is refused or is some sound, and does no harm to what comes after it.
func FuzzDecode(f *testing.F) {
	need(f)
	e := &Encoder{Rate: 24000}
	if err := e.Open(); err != nil {
		f.Fatal(err)
	}
	defer e.Close()
	for _, p := range packets(f, e, tone(500, 100*time.Millisecond, 24000)) {
		f.Add(p)
	}
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Decoder{Rate: 16000}
		if err := d.Open(); err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		n, ok := Length(b)
		pcm, err := d.Decode(b)
		if err == nil && (!ok || len(pcm)*3 != n) {
			t.Fatalf("% x is %d samples, and its length is %d, %v", b, len(pcm), n, ok)
		}
		if _, err := d.Recover(b, 20*time.Millisecond); err != nil {
			return
		}
		if pcm, err := d.Conceal(time.Minute); err != nil || len(pcm) != 1920 {
			t.Fatalf("after % x: %d samples, %v", b, len(pcm), err)
		}
	})
}

// Nothing is done with what is closed, or was never opened.
func TestClosed(t *testing.T) {
	e, d := &Encoder{Rate: 24000}, &Decoder{Rate: 16000}
	if _, err := e.Encode(make(audio.PCM, 480)); err == nil {
		t.Error("an encoder that was not opened encodes")
	}
	open(t, e, d)
	e.Close()
	e.Close()
	e.Loss(1)
	d.Close()
	d.Close()
	if _, err := d.Conceal(20 * time.Millisecond); err == nil {
		t.Error("a closed decoder makes sound up")
	}
	if err := (&Encoder{Rate: 11025}).Open(); err == nil {
		t.Error("11025 Hz is a rate of Opus's")
	}
}
