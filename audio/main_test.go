package audio

import (
	"math"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tone returns n samples of a sine of freq hertz, at a peak of amplitude (1 is full scale).
func tone(n, rate int, freq, amplitude float64) PCM {
	p := make(PCM, n)
	for i := range p {
		p[i] = int16(math.Round(32767 * amplitude * math.Sin(2*math.Pi*freq*float64(i)/float64(rate))))
	}
	return p
}

// needSpeex skips the test where libspeexdsp is not installed, or fails it where that must not be.
func needSpeex(t testing.TB) {
	t.Helper()
	if _, err := speex(); err != nil {
		if os.Getenv("RIPOSTE_TEST_MODELS") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
