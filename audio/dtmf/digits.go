// Package dtmf hears and makes the sounds of a telephone's keys (ITU-T Q.23 and Q.24): one tone of four low ones together with one of four
// high ones.
package dtmf

import (
	"errors"
	"fmt"
	"strings"
)

// ErrDigit says that a text has something in it that no key of a telephone stands for.
var ErrDigit = errors.New("keys are 0 to 9, *, # and A to D")

// keys are the digits, by their low tone and their high one.
const keys = "123A456B789C*0#D"

var (
	lows  = [4]float64{697, 770, 852, 941} // Hertz.
	highs = [4]float64{1209, 1336, 1477, 1633}
)

// key returns which digit a low tone and a high one make.
func key(low, high int) rune { return rune(keys[4*low+high]) }

// tones returns the frequencies of a digit, in hertz.
func tones(digit rune) (low, high float64, err error) {
	i := strings.IndexRune(keys, digit)
	if i < 0 {
		return 0, 0, fmt.Errorf("%w, and not %q", ErrDigit, digit)
	}
	return lows[i/4], highs[i%4], nil
}
