package tool

import (
	"strings"
	"unicode"
)

// DefaultBytes is how much of a result the model reads, unless a setting says otherwise: some thousand tokens, of which small models have
// two thousand for everything.
const DefaultBytes = 4 << 10

// Fit returns a text for the model to read, at most so many bytes of it: what is more is cut off, and the model is told so. Control
// characters are left out.
func Fit(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "… (the rest is cut off)"
}
