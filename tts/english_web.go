package tts

import (
	"regexp"
	"strings"
)

// topLevel are the ends of names on the web that are taken for such without a scheme ahead of them.
const topLevel = `com|org|net|edu|gov|io|ai|dev|app|co|uk|de|fr|es|it|nl|eu|us|ca|au|ch|at|info|biz|tv|me|xyz|tech|cloud|shop|store|online|site`

// spelt are parts of names that are said letter by letter.
var spelt = map[string]string{"uk": "U-K", "us": "U-S", "eu": "E-U", "io": "I-O", "ai": "A-I", "tv": "T-V", "de": "D-E", "edu": "E-D-U",
	"fr": "F-R", "nl": "N-L", "au": "A-U", "ca": "C-A", "ch": "C-H", "html": "H-T-M-L", "php": "P-H-P", "pdf": "P-D-F", "xyz": "X-Y-Z", "api": "A-P-I"}

var webMarks = strings.NewReplacer(".", " dot ", "-", " dash ", "_", " underscore ", "+", " plus ", "~", " tilde ", "%20", " ", "%", " percent ")

// webWords says a part of an address.
func webWords(s string) string {
	words := strings.Fields(webMarks.Replace(s))
	for i, w := range words {
		if s, ok := spelt[strings.ToLower(w)]; ok {
			words[i] = s
		}
	}
	return strings.Join(words, " ")
}

// address says an address on the web. What stands behind "?" and "#" is for machines and is left out.
func address(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	host, path, _ := strings.Cut(s, "/")
	host, port, _ := strings.Cut(host, ":")
	host = strings.TrimPrefix(strings.TrimPrefix(host, "www."), "WWW.")
	said := webWords(host)
	if port != "" {
		said += " colon " + digits(port)
	}
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part != "" {
			said += " slash " + webWords(part)
		}
	}
	return said
}

var trailingMarks = regexp.MustCompile(`[.,;:?!)'"”’\]]+$`)

// webRules say addresses. Marks behind an address belong to the sentence.
func webRules() []rule {
	whole := func(m []string) string {
		marks := trailingMarks.FindString(m[1])
		said := address(strings.TrimSuffix(m[1], marks))
		if said == "" {
			return m[0]
		}
		return said + marks
	}
	return []rule{
		on(`\b(?:mailto:)?([A-Za-z0-9][A-Za-z0-9._%+-]*)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b`, func(m []string) string {
			return webWords(m[1]) + " at " + webWords(m[2])
		}),
		on(`(?i)\b(?:https?|ftp|wss?)://([^\s<>"]+)`, whole),
		on(`(?i)\b(www\.[^\s<>"]+)`, whole),
		on(`\b((?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+(?:`+topLevel+`)(?:/[^\s<>"]*)?)($|[^\w.]|\.(?:\s|$))`, func(m []string) string {
			return whole(m[:2]) + m[2]
		}),
		// @anna and #topic
		on(`(^|[^\w@])@([A-Za-z]\w*)`, func(m []string) string { return m[1] + "at " + webWords(m[2]) }),
		on(`(^|[^\w#&])#([A-Za-z]\w*)`, func(m []string) string { return m[1] + "hashtag " + webWords(m[2]) }),
	}
}
