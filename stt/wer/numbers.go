package wer

import (
	"strconv"
	"strings"
)

// numbers writes each run of number words in digits: "twenty one" and "21" become 21, "nineteen eighty four" 1984, "one oh
// five" 105, "three point five" 3.5, "twenty first" 21st. Numbers that follow each other become one, for nothing tells
// the digits of a telephone number from a year spoken in two halves.
func numbers(words []string) []string {
	var out []string
	for len(words) > 0 {
		if n, text := number(words); n > 0 {
			out, words = append(out, text), words[n:]
		} else {
			out, words = append(out, words[0]), words[1:]
		}
	}
	return out
}

// number reads the longest number at the start of words and returns how many words it takes, 0 if there is none.
func number(words []string) (n int, text string) {
	var done strings.Builder // Groups that are complete.
	var g group
	taken := 0
	flush := func() {
		done.WriteString(g.text())
		g = group{}
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "and" && g.large && (isUnit(next) || isOrdinal(next)):
			continue // "One hundred and five."
		case w == "a" && !g.open && done.Len() == 0 && scales[next] > 0:
			continue // "A hundred."
		case w == "oh" && taken > 0 && (isUnit(next) || next == "oh"):
			flush()
			done.WriteString("0")
		case w == "point" && taken > 0 && isUnit(next) && !strings.Contains(done.String(), "."):
			flush()
			done.WriteString(".")
		case digits(w):
			flush()
			if v, err := strconv.Atoi(w); err == nil && scales[next] > 0 && w == strconv.Itoa(v) {
				g = group{value: v, last: v, open: true, spelled: true}
			} else {
				done.WriteString(w)
			}
		case scales[w] > 0:
			if strings.Contains(done.String(), ".") {
				return taken, done.String() + g.text() // "Three point five million" stays two words.
			}
			if !g.scale(scales[w]) {
				flush()
				g.scale(scales[w])
			}
		case isOrdinal(w):
			if !g.add(ordinals[w]) {
				return taken, done.String() + g.text() // "One third."
			}
			text := done.String() + g.text()
			return i + 1, text + suffix(text)
		default:
			v, ok := units[w]
			if !ok {
				if taken == 0 {
					return 0, ""
				}
				return taken, done.String() + g.text()
			}
			if !g.add(v) {
				flush()
				g.add(v)
			}
		}
		taken = i + 1
	}
	if taken == 0 {
		return 0, ""
	}
	return taken, done.String() + g.text()
}

// group is a number as one says it in one go, up to where the next word cannot belong to it.
type group struct {
	value   int  // All complete thousands and what is below them.
	below   int  // What the next scale multiplies lies in value from here on: value - below.
	last    int  // The last number added.
	open    bool // It holds something.
	large   bool // It ends in a scale, after which "and" may follow.
	spelled bool // It began in digits: only scales may follow, as in "5 million".
}

// add takes v in as the next lower place, as five after twenty or twenty after hundred. It reports whether v fits.
func (g *group) add(v int) bool {
	fits := !g.open || !g.spelled && (g.large && v < g.last || g.last >= 20 && g.last < 100 && g.last%10 == 0 && v > 0 && v < 10)
	if !fits {
		return false
	}
	g.value, g.last, g.open, g.large = g.value+v, v, true, false
	return true
}

// scale multiplies what is below by a hundred, a thousand and so on. It reports whether that makes sense.
func (g *group) scale(s int) bool {
	if !g.open {
		g.value = 1
	}
	part := g.value - g.below
	if g.open && (part <= 0 || part >= s || s == 100 && part >= 100) {
		return false
	}
	g.value = g.below + part*s
	if s > 100 {
		g.below = g.value
	}
	g.last, g.open, g.large, g.spelled = s, true, true, false
	return true
}

func (g *group) text() string {
	if !g.open {
		return ""
	}
	return strconv.Itoa(g.value)
}

func digits(w string) bool {
	return w != "" && strings.Trim(w, "0123456789.") == ""
}

func isUnit(w string) bool {
	_, ok := units[w]
	return ok || digits(w)
}

func isOrdinal(w string) bool {
	_, ok := ordinals[w]
	return ok
}

// suffix returns how the ordinal of a number in digits ends.
func suffix(n string) string {
	if strings.HasSuffix(n, "11") || strings.HasSuffix(n, "12") || strings.HasSuffix(n, "13") {
		return "th"
	}
	switch n[len(n)-1] {
	case '1':
		return "st"
	case '2':
		return "nd"
	case '3':
		return "rd"
	}
	return "th"
}

var units = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
	"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var scales = map[string]int{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}

// ordinals leaves out "second", which is a time more often than a place.
var ordinals = map[string]int{
	"first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11,
	"twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18,
	"nineteenth": 19, "twentieth": 20, "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
	"ninetieth": 90,
}
