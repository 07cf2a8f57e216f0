package tts

import (
	"regexp"
	"strings"
	"unicode"
)

// Normalize turns text as people and language models write it into text that a voice can speak: without Markdown, emoji
// and symbols, and with numbers, dates, money, units and abbreviations as words. lang is a language code such as "en" or
// "en-gb"; what is more than marks and symbols is done for English only, so far. What has nothing to be pronounced
// becomes "". It never fails, and leaves text that it has already been through as it is, but for rare oddities.
func Normalize(text, lang string) string {
	text = strings.ToValidUTF8(text, " ")
	text = stripMarkdown(text)
	text = emoticon.ReplaceAllString(stripSymbols(text), "$1$2")
	text = trailing.ReplaceAllString(text, "… $1")
	for range 2 { // Two that share the letter between them are not found at once.
		text = dash.ReplaceAllString(text, "$1, $2")
	}
	if lang = strings.ToLower(lang); lang == "en" || strings.HasPrefix(lang, "en-") || strings.HasPrefix(lang, "en_") {
		text = sayEnglish(text, !isBritish(lang))
	}
	return tidy(text)
}

// isBritish reports whether dates are written with the day first.
func isBritish(lang string) bool {
	return strings.Contains(lang, "gb") || strings.Contains(lang, "uk")
}

// A rule says how what its pattern finds is spoken. say gets the match and its groups; returning the match leaves it as
// it is.
type rule struct {
	pattern *regexp.Regexp
	say     func(m []string) string
}

// on makes a rule.
func on(pattern string, say func(m []string) string) rule {
	return rule{regexp.MustCompile(pattern), say}
}

// apply returns text as the rule has it.
func (r rule) apply(text string) string {
	found := r.pattern.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		m := make([]string, len(f)/2)
		for i := range m {
			if f[2*i] >= 0 {
				m[i] = text[f[2*i]:f[2*i+1]]
			}
		}
		b.WriteString(text[at:f[0]])
		b.WriteString(r.say(m))
		at = f[1]
	}
	b.WriteString(text[at:])
	return b.String()
}

// speakable lists the marks that remain: those from which a voice takes its melody, and those inside of words.
const speakable = ".,;:?!'’\"“”()-–—… "

// stripSymbols removes what is neither a letter nor a number nor a mark of writing: emoji first of all. Symbols that have
// a name in some language are left for it; tidy removes those that remain.
func stripSymbols(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsSpace(r):
			return ' '
		case isEmoji(r), unicode.Is(unicode.Co, r):
			return ' '
		case unicode.IsControl(r), r == 0x200B, r == 0x200C, r == 0xFEFF, r == 0x00AD, r == 0x2060: // Unseen, and inside words.
			return -1
		case r == 0xFFFD:
			return ' '
		}
		return r
	}, text)
}

// isEmoji reports whether r is a picture or a part of one.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1F000 && r <= 0x1FAFF, // Pictures, flags, skin tones.
		r >= 0x2600 && r <= 0x27BF && r != 0x2713 && r != 0x2714, // Signs and dingbats.
		r >= 0x2300 && r <= 0x23FF, r >= 0x2B00 && r <= 0x2BFF,
		r >= 0xFE00 && r <= 0xFE0F, r == 0x200D, r == 0x20E3, // What joins and varies them.
		r >= 0xE0000 && r <= 0xE007F, r == 0x3030, r == 0x303D, r == 0x3297, r == 0x3299:
		return true
	}
	return false
}

var (
	// emoticon is a face made of marks.
	emoticon = regexp.MustCompile(`(^|\s)(?:[:;=]['’]?-?[)(DPp|/\\\]\[]+|<3)($|[\s.,!?])`)
	// dash is one that stands between thoughts, not between words or numbers: a voice rests there as at a comma.
	dash = regexp.MustCompile(`([^\d\s])\s+[-–]\s+([^\d\s])|\s*(?:--+|—)\s*`)

	// trailing is a thought that trails off into another word.
	trailing = regexp.MustCompile(`(?:\.{3,}|…)(\pL)`)

	spaces       = regexp.MustCompile(`[ \t]+`)
	spaceMark    = regexp.MustCompile(` +([.,;:?!…])`)
	doubledMarks = regexp.MustCompile(`([,;:])(?: ?[,;:])+`)
	mixedMarks   = regexp.MustCompile(`[,;:] ?([.?!])`)
	marksAgain   = regexp.MustCompile(`([.?!…])(?: ?[.,;:])+`)
	emptyPairs   = regexp.MustCompile(`\( *\)|" *"|“ *”`)
	bareMarks    = regexp.MustCompile(`^[\s.,;:…–—-]+`)
)

// tidy leaves letters, digits and speakable marks, with one space between words.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || strings.ContainsRune(speakable, r) || strings.ContainsRune("。、，？！；：؟،؛।¿¡", r) {
			return r
		}
		return ' '
	}, text)
	// What one step removes can bring together what another looks for, so go on until nothing changes. Every change
	// makes the text shorter.
	for range len(text) + 1 {
		before := text
		text = spaces.ReplaceAllString(text, " ")
		text = emptyPairs.ReplaceAllString(text, " ")
		text = spaceMark.ReplaceAllString(text, "$1")
		text = doubledMarks.ReplaceAllString(text, "$1")
		text = mixedMarks.ReplaceAllString(text, "$1")
		text = marksAgain.ReplaceAllString(text, "$1")
		text = strings.TrimSpace(bareMarks.ReplaceAllString(text, ""))
		if text == before {
			break
		}
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return ""
	}
	return text
}
