package phone

import "strings"

// Pressed returns the key that a far side's message names as an event. The error is a *Misuse.
func Pressed(text string) (Event, error) {
	digit, ok := Digit(text)
	if !ok {
		return nil, Misused("A key is %.16q; keys are 0 to 9, *, # and A to D.", text)
	}
	return Key{Digit: digit}, nil
}

// Digit returns the key of a telephone that a text names: one character of 0 to 9, *, # and A to D, in either case.
func Digit(text string) (rune, bool) {
	digit := strings.ToUpper(text)
	if len(digit) != 1 || !strings.Contains("0123456789*#ABCD", digit) {
		return 0, false
	}
	return rune(digit[0]), true
}
