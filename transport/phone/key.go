package phone

import "strings"

// Digit returns the key of a telephone that a text names: one character of 0 to 9, *, # and A to D, in either case.
func Digit(text string) (rune, bool) {
	digit := strings.ToUpper(text)
	if len(digit) != 1 || !strings.Contains("0123456789*#ABCD", digit) {
		return 0, false
	}
	return rune(digit[0]), true
}
