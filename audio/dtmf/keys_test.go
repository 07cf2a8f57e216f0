package dtmf

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestKeypad(t *testing.T) {
	p, err := Keypad{}.Sound("1w2")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Duration(8000), 900*time.Millisecond; got != want {
		t.Errorf("it lasts %v, want %v", got, want)
	}
	// -12 and -10 dBFS together, and silence after them.
	if level := p[80:720].Level(); math.Abs(level+7.9) > 0.3 {
		t.Errorf("a key is at %.1f dBFS, want -7.9", level)
	}
	if level := p[800:5600].Level(); !math.IsInf(level, -1) {
		t.Errorf("the pauses are at %.1f dBFS", level)
	}
	// No step at the edges that would be heard as a click.
	largest := 0.0
	for _, i := range []int{0, 1, 2, 797, 798, 799, 800} {
		before := 0.0
		if i > 0 {
			before = float64(p[i-1])
		}
		largest = max(largest, math.Abs(float64(p[i])-before))
	}
	if largest > 1500 {
		t.Errorf("it begins or ends with a step of %v", largest)
	}
}

func TestKeypadRefuses(t *testing.T) {
	for _, digits := range []string{"12x", "E", "1 2", "é", "\n"} {
		if p, err := (Keypad{}).Sound(digits); !errors.Is(err, ErrDigit) || p != nil {
			t.Errorf("%q: %v", digits, err)
		}
	}
	if p, err := (Keypad{}).Sound(""); err != nil || len(p) != 0 {
		t.Error(p, err)
	}
}
