package endpoint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is how a text ends, as far as that says whether more is to come.
type form int

const (
	unclear  form = iota // It may go on or not.
	complete             // A short answer that needs no more: "yes", "no, thanks".
	open                 // A sentence that cannot end here: "I would like to".
	spelling             // Digits or letters, one by one: nobody knows how many there will be.
)

// formOf reads the end of a text. Recognisers put a full stop behind everything, so marks count only where they say that
// more is to come.
func formOf(text string) form {
	text = strings.TrimSpace(text)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	if len(words) == 0 {
		return unclear
	}
	last := words[len(words)-1]
	mark, _ := utf8.DecodeLastRuneInString(text)
	switch {
	case isSpelling(words):
		return spelling
	case mark == ',' || mark == ':' || mark == ';' || mark == '-' || mark == '…' || strings.HasSuffix(text, "..."):
		return open
	case slices.Contains(openers, last):
		return open
	case len(words) <= 3 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(answers, w) }):
		return complete
	}
	return unclear
}

// openers are words that no English sentence ends with, or hardly any, and what talkers say while they look for a word.
var openers = strings.Fields(`
	a an the this these those my your his its our their every
	and or but nor so because although though unless until while whereas if whether than as
	of to for from with without into onto at by in on about between during per via
	i we they he she you're i'm we're they're i'd we'd you'd i'll we'll i've we've
	am is are was were be been being has have had do does did will would shall should can could may might must
	not very really quite too also just like maybe perhaps
	um uh er erm hmm well who which whose what's where's
	mr mrs ms dr`)

// answers are the words of short answers and thanks.
var answers = strings.Fields(`
	yes yeah yep yup no nope nah ok okay sure right correct exactly absolutely definitely never always
	thanks thank you please hello hi hey bye goodbye good morning evening afternoon great perfect fine stop wait cancel repeat again
	that's it all nothing none neither both maybe later today tomorrow now`)

// isSpelling reports whether the text ends in digits or letters that are said one by one. Two are enough: a number that is
// complete in two digits is said as one.
func isSpelling(words []string) bool {
	n, digits := 0, 0
	for _, w := range slices.Backward(words) {
		switch {
		case slices.Contains(numerals, w):
			digits++
		case strings.Trim(w, "0123456789") == "":
			digits += len(w)
			if len(w) == 1 || len(w) == 3 || len(w) == 4 { // recognisers write what is said one by one in groups
				break
			}
			return false
		case utf8.RuneCountInString(w) == 1 && w != "i" && w != "a":
		default:
			return n >= 2 && digits < 10 // a whole telephone number has as many
		}
		n++
	}
	return n >= 2 && digits < 10
}

var numerals = strings.Fields("zero oh one two three four five six seven eight nine double triple")
