package wer

import (
	"regexp"
	"strings"
	"unicode"
)

// Normalize returns the words of an English text as they are compared: in lower case, without punctuation, fillers and
// sounds in brackets; contractions and titles spelled out; numbers in digits, whether they were written so or in words;
// measures by name and in the singular, British spellings as American ones.
func Normalize(text string) []string {
	text = strings.ToLower(text)
	text = strings.NewReplacer("’", "'", "‘", "'", "`", "'").Replace(text)
	text = brackets.ReplaceAllString(text, " ")
	text = thousands.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ",", "") })
	text = initials.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ".", "") })
	text = money.ReplaceAllString(text, "$2 $1 ")
	for _, sign := range signs {
		text = strings.ReplaceAll(text, sign.sign, sign.word)
	}
	text = unitAfterNumber.ReplaceAllString(text, "$1 $2")
	var words []string
	for _, w := range strings.FieldsFunc(text, between) {
		words = append(words, plain(w)...)
	}
	return numbers(words)
}

var (
	brackets  = regexp.MustCompile(`\[[^\]]*\]|\([^)]*\)|<[^>]*>|\*[^*]*\*|♪[^♪]*♪?`)
	thousands = regexp.MustCompile(`\d{1,3}(,\d{3})+\b`)
	// initials are letters with a full stop after each: p.m., u.s.a.
	initials = regexp.MustCompile(`\b(\pL\.){2,}`)
	money    = regexp.MustCompile(`([$£€])(\d+(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?)`)
	// unitAfterNumber is a number with letters right behind it, as in 8oz; but 1st and 2nd are one word.
	unitAfterNumber = regexp.MustCompile(`(\d)(oz|lbs?|kg|g|mg|km|m|cm|mm|ml|l|ft|in|mph|kmh|min|hrs?|am|pm)\b`)
)

var signs = []struct{ sign, word string }{
	{"$", " dollar "}, {"£", " pound "}, {"€", " euro "}, {"%", " percent "}, {"&", " and "}, {"+", " plus "}, {"°", " degrees "},
}

// between reports what separates words. The point is left for numbers such as 3.5, the apostrophe for contractions.
func between(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '.'
}

// plain returns the plain words for one word, or none for a filler.
func plain(w string) []string {
	w = strings.Trim(w, "'.")
	if !decimal.MatchString(w) && strings.Contains(w, ".") {
		var words []string
		for _, part := range strings.Split(w, ".") {
			words = append(words, plain(part)...)
		}
		return words
	}
	if w == "" || fillers[w] {
		return nil
	}
	if full, ok := written[w]; ok {
		return strings.Fields(full)
	}
	for _, c := range contractions {
		if stem, ok := strings.CutSuffix(w, c.end); ok && stem != "" {
			return append(plain(stem), c.word)
		}
	}
	if stem, ok := strings.CutSuffix(w, "'s"); ok && takesIs[stem] {
		return []string{stem, "is"}
	}
	w = strings.ReplaceAll(w, "'", "")
	if american, ok := spellings[w]; ok {
		w = american
	}
	return []string{w}
}

var decimal = regexp.MustCompile(`^\d+\.\d+$`)

var fillers = map[string]bool{
	"uh": true, "um": true, "uhm": true, "er": true, "erm": true, "ah": true, "hm": true, "hmm": true, "mm": true, "mhm": true, "mmm": true,
}

// contractions end a word that stays as it is without them; n't comes first, for its apostrophe is not at its start.
var contractions = []struct{ end, word string }{
	{"n't", "not"}, {"'re", "are"}, {"'ll", "will"}, {"'ve", "have"}, {"'m", "am"}, {"'d", "would"},
}

// takesIs are the words after which 's is a verb; after others it is taken for a possessive.
var takesIs = map[string]bool{
	"it": true, "that": true, "this": true, "what": true, "where": true, "who": true, "how": true, "when": true, "why": true,
	"there": true, "here": true, "he": true, "she": true, "everything": true, "something": true, "nothing": true,
}

// written are words that are said otherwise than they are written, and contractions with a stem of their own.
var written = map[string]string{
	"won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not", "ain't": "is not", "let's": "let us",
	"y'all": "you all", "o'clock": "oclock", "gonna": "going to", "wanna": "want to", "gotta": "got to",
	"mr": "mister", "mrs": "missus", "ms": "miss", "dr": "doctor", "prof": "professor", "st": "saint", "capt": "captain",
	"jr": "junior", "sr": "senior", "vs": "versus", "etc": "et cetera", "ok": "okay", "alright": "all right",
	"oz": "ounce", "ounces": "ounce", "dollars": "dollar", "pounds": "pound", "euros": "euro", "2nd": "second",
	"lb": "pound", "lbs": "pound", "kg": "kilogram", "kilograms": "kilogram", "km": "kilometer", "kilometers": "kilometer",
	"kilometres": "kilometer", "kilometre": "kilometer", "cm": "centimeter", "centimeters": "centimeter", "centimetres": "centimeter",
	"ml": "milliliter", "milliliters": "milliliter", "millilitres": "milliliter", "ft": "foot", "mph": "miles per hour", "kmh": "kilometers per hour",
	"min": "minute", "hr": "hour", "hrs": "hour",
}

// spellings are the British ones that come up in talk, and words that have two spellings anyway.
var spellings = map[string]string{
	"colour": "color", "colours": "colors", "favourite": "favorite", "favour": "favor", "honour": "honor", "neighbour": "neighbor", "neighbours": "neighbors",
	"behaviour": "behavior", "flavour": "flavor", "labour": "labor", "rumour": "rumor", "centre": "center", "theatre": "theater", "metre": "meter",
	"metres": "meters", "litre": "liter", "litres": "liters", "grey": "gray", "organise": "organize", "organised": "organized", "realise": "realize",
	"realised": "realized", "recognise": "recognize", "recognised": "recognized", "apologise": "apologize", "travelling": "traveling",
	"travelled": "traveled", "cancelled": "canceled", "cancelling": "canceling", "dialled": "dialed", "dialling": "dialing", "programme": "program",
	"cheque": "check", "defence": "defense", "licence": "license", "offence": "offense", "jewellery": "jewelry", "tyre": "tire", "aluminium": "aluminum",
	"mum": "mom", "learnt": "learned", "spelt": "spelled", "burnt": "burned", "whilst": "while", "towards": "toward",
}
