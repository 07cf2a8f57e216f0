package tts

import "strings"

var romans = map[string]int64{"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "X": 10, "XI": 11, "XII": 12, "XIII": 13,
	"XIV": 14, "XV": 15, "XVI": 16, "XVII": 17, "XVIII": 18, "XIX": 19, "XX": 20, "XXI": 21, "XXII": 22, "XXIII": 23}

// rulers are names that are counted: Louis XIV is Louis the fourteenth.
const rulers = `Alexander|Alfonso|Benedict|Carl|Charles|Christian|Clement|Constantine|Edward|Elizabeth|Ferdinand|Francis|Frederick|George|Gregory|Gustav|Haakon|Harald|` +
	`Henry|Innocent|Ivan|James|John|John Paul|Joseph|Juan Carlos|Karl|Leo|Leopold|Louis|Margrethe|Mary|Maximilian|Mehmed|Murad|Napoleon|Nicholas|Olav|Otto|Paul|` +
	`Pedro|Peter|Philip|Pius|Ramesses|Ramses|Richard|Robert|Rudolf|Selim|Stephen|Suleiman|Thutmose|Umberto|Urban|Victor Emmanuel|Wilhelm|William|Xerxes`

// lettered are words of capitals that voices would take for words, or for two of them.
var lettered = strings.NewReplacer("IQ", "I-Q", "AWS", "A-W-S", "AT&T", "A-T and T", "AT & T", "A-T and T", "IPv", "I-P version ")

// nameRules say names with numbers and initials, and letters that stand for words.
func nameRules() []rule {
	const roman = `(X{0,2}(?:IX|IV|V?I{0,3}))`
	nth := func(m []string) string {
		if n, ok := romans[m[2]]; ok && n > 1 { // "Charles I" is told from "Charles, I" by nobody.
			return m[1] + " the " + ordinal(n)
		}
		return m[0]
	}
	return []rule{
		on(`\b(?:IQ|AWS|AT ?& ?T|IPv(?:\d))\b`, func(m []string) string { return lettered.Replace(m[0]) }),
		on(`\bWWI(I?)\b`, func(m []string) string {
			if m[1] != "" {
				return "World War two"
			}
			return "World War one"
		}),
		on(`\b(`+rulers+`)\s+`+roman+`\b`, nth),
		on(`\b(Chapter|Part|Section|Volume|Vol|Act|Scene|Phase|Type|Book|Class|Level|Grade|World War|Super Bowl|Appendix|Article|Title|Stage)\s+`+roman+`\b`, func(m []string) string {
			if n, ok := romans[m[2]]; ok {
				return m[1] + " " + cardinal(n)
			}
			return m[0]
		}),
		// 79 AD and AD 79
		on(`\b(\d+) ?(?:AD|A\.D\.)($|\W)`, func(m []string) string { return m[1] + " A-D" + m[2] }),
		on(`\b(?:AD|A\.D\.) (\d+)\b`, func(m []string) string { return "A-D " + m[1] }),
		// J. K. Rowling, J.R.R. Tolkien and George W. Bush
		on(`\b((?:[A-Z]\. ?){2,})([A-Z][a-z])`, func(m []string) string { return letters(m[1]) + " " + m[2] }),
		on(`^(\s*[A-Z])\. ([A-Z][a-z])`, func(m []string) string { return m[1] + " " + m[2] }),
		on(`\b([A-Z][a-z]+ )([A-Z])\. ([A-Z][a-z])`, func(m []string) string {
			switch m[1] {
			case "Plan ", "Vitamin ", "Type ", "Class ", "Grade ", "Part ", "Section ", "Hepatitis ", "Exhibit ", "Appendix ", "Option ", "Group ", "Team ", "Answer ":
				return m[0]
			}
			return m[1] + m[2] + " " + m[3]
		}),
		// U.S. and U.K.: letters with full stops between them, of which the last may end the sentence.
		on(`\b((?:[A-Z]\.){2,})\s*$`, func(m []string) string { return letters(m[1]) + "." }),
		on(`\b((?:[A-Z]\.){2,})`, func(m []string) string { return letters(m[1]) }),
		// H.264
		on(`\b([A-Z])\.(\d)`, func(m []string) string { return m[1] + " " + m[2] }),
		// Grades: A+ and B-
		on(`\b([A-F])\+($|[\s.,;:!?)])`, func(m []string) string { return m[1] + "-plus" + m[2] }),
		on(`\b([A-F])[-−]($|[\s.,;:!?)])`, func(m []string) string { return m[1] + "-minus" + m[2] }),
	}
}

// letters says "U.S." as "U-S": with hyphens, since voices take an A that stands alone for the article.
func letters(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ' ' }), "-")
}
