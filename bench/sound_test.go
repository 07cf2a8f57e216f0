package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"riposte/audio"
	"riposte/audio/room"
)

// required is the environment variable that lets a test fail where what it runs on is not there.
const required = "RIPOSTE_TEST_MODELS"

// Our resampler keeps a telephone's band as it is and lets nothing through from beyond it, and our G.711 differs from that of others in no code's
// value, and for samples only at the very borders of steps. FFmpeg is too large to be installed for tests; where it is, it is compared with.
func TestSound(t *testing.T) {
	r, err := (&Sound{Programs: []Program{Sox, FFmpeg}}).Run(t.Context())
	if errors.Is(err, audio.ErrNoResampler) && os.Getenv(required) != "required" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Rates {
		if x.Program != ours {
			continue
		}
		if x.Ripple > 0.05 || math.Abs(x.Edge) > 0.05 || x.SNR < 80 || x.Rejection < 80 || x.Near < 45 || x.Half < -40 {
			t.Errorf("%+v", x)
		}
	}
	if len(r.Rates)%12 != 0 || len(r.Rates) < 12 {
		t.Errorf("%d changes of rates", len(r.Rates))
	}
	for _, x := range r.G711 {
		// Those that round do so within two steps of the 14 bits of mu-law, or of the 13 of A-law: at each border four or eight samples.
		if x.Decoded != 256 || x.Encoded < 1<<16-1024 || x.SNR-x.OurSNR > 0.3 || x.Law == room.MuLaw && x.Apart > 1024 || x.Law == room.ALaw && x.Apart > 1024 {
			t.Errorf("%+v", x)
		}
	}
	for _, name := range r.Missing {
		if name == Sox.Name && os.Getenv(required) == "required" {
			t.Error("sox is missing; install it (Debian and Ubuntu: apt-get install sox)")
		}
	}
}

// What cannot be measured says why.
func TestSoundFails(t *testing.T) {
	odd := Program{Name: "true", resample: func(context.Context, audio.PCM, int, int) (audio.PCM, error) { return make(audio.PCM, 7), nil }}
	if _, err := (&Sound{Programs: []Program{odd}}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "true made 7 samples") {
		t.Error(err)
	}
	if _, err := filter(t.Context(), nil, "false"); err == nil || !strings.Contains(err.Error(), "false: exit status 1") {
		t.Error(err)
	}
	r, err := (&Sound{Programs: []Program{{Name: "no-such-program"}}}).Run(t.Context())
	if err != nil || len(r.Missing) != 1 || len(r.G711) != 0 || len(r.Rates) != 12 {
		t.Error(r, err)
	}
}

func TestFit(t *testing.T) {
	p := make(audio.PCM, 8000)
	for i := range p {
		p[i] = int16(math.Round(16384*math.Sin(0.7+2*math.Pi*0.1234*float64(i)) + 164*math.Sin(2*math.Pi*0.2345*float64(i))))
	}
	power, beside := fit(p, 0.1234)
	if db := 10 * math.Log10(2*power); math.Abs(db+6.02) > 0.01 {
		t.Errorf("a tone at half of full scale is at %.2f dB", db)
	}
	if db := 10 * math.Log10(power/mean(beside)); math.Abs(db-40) > 0.2 {
		t.Errorf("what is 40 dB below it is at %.2f", db)
	}
}
