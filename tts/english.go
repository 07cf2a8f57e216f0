package tts

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// ruleSet holds the rules in their order. What is longer and more particular comes first: each leaves words where it found
// something, which those after it do not touch.
type ruleSet struct {
	before []rule // For any text.
	digits []rule // For text with digits only, which is most of the rules and few of the clauses.
	after  []rule // For any text.
}

// english holds the rules, once for each way to write dates. They are made when they are first needed, since that takes
// some milliseconds.
var english = map[bool]func() *ruleSet{
	true:  sync.OnceValue(func() *ruleSet { return englishRules(true) }),
	false: sync.OnceValue(func() *ruleSet { return englishRules(false) }),
}

func englishRules(american bool) *ruleSet {
	return &ruleSet{
		before: slices.Concat(webRules(), wordRules(), nameRules(), monthRules()),
		digits: slices.Concat(phoneRules(), timeRules(american), moneyRules(), unitRules(), numberRules()),
		after:  symbolRules(),
	}
}

// sayEnglish turns numbers, abbreviations and symbols into English words.
func sayEnglish(text string, american bool) string {
	set := english[american]()
	text = applyAll(set.before, text)
	if strings.ContainsFunc(text, unicode.IsNumber) {
		text = applyAll(set.digits, text)
	}
	return applyAll(set.after, text)
}

func applyAll(rules []rule, text string) string {
	for _, r := range rules {
		text = r.apply(text)
	}
	return text
}

// phoneRules say telephone numbers and network addresses digit by digit, with a rest between the groups.
func phoneRules() []rule {
	groups := func(s string) string {
		fields := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		return strings.Join(mapped(fields, digits), ", ")
	}
	return []rule{
		on(`(^|[^\w.])\+(\d[\d\s().-]{6,20}\d)\b`, func(m []string) string { return m[1] + "plus " + groups(m[2]) }),
		on(`(^|[^\w.-])(?:1[-. ])?\((\d{3})\) ?(\d{3})[-. ](\d{4})\b`, func(m []string) string {
			one := ""
			if strings.HasPrefix(strings.TrimPrefix(m[0], m[1]), "1") {
				one = "one, "
			}
			return m[1] + one + groups(m[2]+" "+m[3]+" "+m[4])
		}),
		on(`(^|[^\w.-])((?:1[-. ])?\d{3}[-. ]\d{3}[-. ]\d{4})\b`, func(m []string) string { return m[1] + groups(m[2]) }),
		on(`(^|[^\w.-])(\d{3}-\d{4})($|[^\w-])`, func(m []string) string { return m[1] + groups(m[2]) + m[3] }),
		on(`(^|[^\w.-])(0\d{2,4}[ /-]\d{3,4}[ -]?\d{3,5})\b`, func(m []string) string { return m[1] + groups(m[2]) }),
		on(`(^|[^\w.-])(\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,4})\b`, func(m []string) string { return m[1] + groups(m[2]) }),
		on(`\b(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::(\d{2,5}))?\b`, func(m []string) string {
			said := digits(m[1]) + " dot " + digits(m[2]) + " dot " + digits(m[3]) + " dot " + digits(m[4])
			if m[5] != "" {
				said += " colon " + digits(m[5])
			}
			return said
		}),
		on(`\blocalhost:(\d{2,5})\b`, func(m []string) string { return "localhost colon " + digits(m[1]) }),
		on(`\b1-(8\d\d|900)-([A-Z]{3,})\b`, func(m []string) string { return "one " + amount(m[1]) + " " + m[2] }),
		on(`\b(ZIP(?: code)?|zip(?: code)?|[A-Z]{2}),? (\d{5})\b`, func(m []string) string { return m[1] + " " + digits(m[2]) }),
		// #FF5733 and 0x1F
		on(`hashtag ([0-9A-F]*\d[0-9A-F]*)\b`, func(m []string) string { return "hashtag " + hexDigits(m[1]) }),
		on(`\b0x([0-9A-Fa-f]+)\b`, func(m []string) string { return "hex " + hexDigits(m[1]) }),
		on(`(?i)\b((?:call|dial|ring|phone|text)(?:ed|ing)? )(911|999|112|411|311|988)\b`, func(m []string) string { return m[1] + digits(m[2]) }),
	}
}

var vulgar = map[string]string{"½": "one half", "⅓": "one third", "⅔": "two thirds", "¼": "one quarter", "¾": "three quarters", "⅕": "one fifth", "⅖": "two fifths",
	"⅗": "three fifths", "⅘": "four fifths", "⅙": "one sixth", "⅚": "five sixths", "⅛": "one eighth", "⅜": "three eighths", "⅝": "five eighths", "⅞": "seven eighths"}

// fraction says a part of a whole: 3 and 4 are "three quarters".
func fraction(over, under string) string {
	a, _ := strconv.ParseInt(over, 10, 64)
	b, _ := strconv.ParseInt(under, 10, 64)
	name := ordinal(b)
	switch {
	case a == b && b > 2:
		return amount(over) + " out of " + amount(under)
	case b < 2 || b > 100 || a == 0 || a > b:
		return amount(over) + " over " + amount(under)
	case b == 2:
		name = "half"
	case b == 4:
		name = "quarter"
	}
	if a == 1 {
		return "one " + name
	}
	return cardinal(a) + " " + name + "s"
}

// numberRules say the numbers that no other rule took.
func numberRules() []rule {
	const number = `((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)`
	ordinalOf := func(s string) string {
		n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
		if err != nil {
			return digits(s)
		}
		return ordinal(n)
	}
	return []rule{
		on(`\b((?:1[6-9]|20)\d\d)/(\d{4}|\d\d)\b`, func(m []string) string { return plain(m[1]) + " to " + plain(m[2]) }),
		on(`\b(24[/-]7|9/11|50/50|20/20)\b`, func(m []string) string {
			a, b, _ := strings.Cut(strings.Replace(m[0], "-", "/", 1), "/")
			return amount(a) + " " + amount(b)
		}),
		// 8.5/10 and 7/10 are marks, as they are for a hundred.
		on(`\b(\d+\.\d+)/(\d{1,3})\b`, func(m []string) string { return amount(m[1]) + " out of " + amount(m[2]) }),
		on(`(^|[^\w/.])(\d{1,2})/(10|100)($|[^\w/])`, func(m []string) string { return m[1] + amount(m[2]) + " out of " + amount(m[3]) + m[4] }),
		on(`\b(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b`, func(m []string) string { return ordinalOf(m[1]) }),
		on(`\b(\d+)[ -]?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])`, func(m []string) string {
			return amount(m[1]) + " and " + strings.Replace(vulgar[m[2]], "one half", "a half", 1)
		}),
		on(`[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]`, func(m []string) string { return vulgar[m[0]] }),
		on(`\b(\d{1,4})[ -](\d{1,2})/(\d{1,2})\b`, func(m []string) string {
			return amount(m[1]) + " and " + strings.Replace(fraction(m[2], m[3]), "one half", "a half", 1)
		}),
		on(`(^|[^\w/.])(\d{1,4})/(\d{1,4})($|[^\w/])`, func(m []string) string { return m[1] + fraction(m[2], m[3]) + m[4] }),
		// 1 000 000 and 1.000.000
		on(`\b(\d{1,3}(?: \d{3})* 000)\b`, func(m []string) string { return amount(strings.ReplaceAll(m[1], " ", ",")) }),
		on(`\b(\d{1,3}(?:\.\d{3}){2,})\b`, func(m []string) string { return amount(strings.ReplaceAll(m[1], ".", ",")) }),
		// 10k and 1.2M
		on(`\b(\d+(?:\.\d+)?)([kM])\b`, func(m []string) string { return amount(m[1]) + " " + magnitudes[strings.ToLower(m[2])] }),
		on(`\b(\d{2,}|\d+\.\d+)K\b`, func(m []string) string { return amount(m[1]) + " thousand" }),
		on(`\b(720|1080|1440|2160)([pi])\b`, func(m []string) string { return pairs(m[1]) + " " + m[2] }),
		on(`\b(\d+),(\d{1,2}) (thousand|million|billion|trillion)\b`, func(m []string) string { return amount(m[1]+"."+m[2]) + " " + m[3] }),
		// 6.022e23
		on(`\b(\d+(?:\.\d+)?)[eE]\+?([-−]?)(\d{1,3})\b`, func(m []string) string {
			sign := ""
			if m[2] != "" {
				sign = "minus "
			}
			return amount(m[1]) + " times ten to the power of " + sign + amount(m[3])
		}),
		on(`-to-(\d+)\b`, func(m []string) string { return " to " + amount(m[1]) }),
		// UTC+2 and GMT-5
		on(`\b(UTC|GMT) ?[-−](\d)`, func(m []string) string { return m[1] + " minus " + m[2] }),
		// 978-3-16-148410-0
		on(`\b\d+(?:-\d+){2,}\b`, func(m []string) string { return strings.Join(mapped(strings.Split(m[0], "-"), digits), ", ") }),
		// Versions: v2.0 and 1.2.3
		on(`\b[vV](\d+(?:\.\d+)*)\b`, func(m []string) string { return "version " + dotted(m[1]) }),
		on(`\b(\d+(?:\.\d+){2,})\b`, func(m []string) string { return dotted(m[1]) }),
		// What is calculated.
		on(`(\d)\s*\^\s*[-−](\d)`, func(m []string) string { return m[1] + " to the power of minus " + m[2] }),
		on(`(\w)\s?\^\s?(\w)`, func(m []string) string {
			switch m[2] {
			case "2":
				return m[1] + " squared"
			case "3":
				return m[1] + " cubed"
			}
			return m[1] + " to the power of " + m[2]
		}),
		on(`([\pL\d)])²`, func(m []string) string { return m[1] + " squared" }),
		on(`([\pL\d)])³`, func(m []string) string { return m[1] + " cubed" }),
		on(`(\d)(?:[x×]| x )(\d)`, func(m []string) string { return m[1] + " by " + m[2] }),
		on(`(\d)x($|[.,;:!?/]| [A-Za-z])`, func(m []string) string { return m[1] + " times" + m[2] }),
		on(`([\w)]) ?\* ?([\d(])`, func(m []string) string { return m[1] + " times " + m[2] }),
		on(`([\w)]) \* ([\w(])`, func(m []string) string { return m[1] + " times " + m[2] }),
		on(`(^|\s)x(\d{1,3})($|[\s.,;!?)])`, func(m []string) string { return m[1] + "times " + amount(m[2]) + m[3] }),
		on(`(\d) / (\d)`, func(m []string) string { return m[1] + " divided by " + m[2] }),
		on(`([\w)]) [-−] ([\d(])`, minusBetween),
		on(`([\w)]) [-−] ([\d(])`, minusBetween), // Neighbours share a number.
		on(`(\d)−(\d)`, minusBetween),
		on(`([\w)]) ?\+ ?([\w(])`, func(m []string) string { return m[1] + " plus " + m[2] }),
		on(`(\d)\+`, func(m []string) string { return m[1] + " plus" }),
		// 10-20 and 1939–1945
		on(`(^|[^\w.,-])`+number+` ?[-–—] ?`+number+`($|[^\w-])`, func(m []string) string { return m[1] + plain(m[2]) + " to " + plain(m[3]) + m[4] }),
		on(`(^|[\s(=<>≤≥])[-−]`+number+`\b`, func(m []string) string { return m[1] + "minus " + amount(m[2]) }),
		// GPT-4, A4, 5G and H2O: names with digits.
		on(`([A-Za-z])-(\d)`, func(m []string) string { return m[1] + " " + m[2] }),
		on(`([\pL])(\d)`, func(m []string) string { return m[1] + " " + m[2] }),
		on(`(\d)([\pL])`, func(m []string) string { return m[1] + " " + m[2] }),
		on(`(\d) ?: ?(\d)`, func(m []string) string { return m[1] + " to " + m[2] }),
		on(`(^|[\s(])([-−]?)\.(\d+)`, func(m []string) string { return m[1] + amount(m[2]+"0."+m[3]) }),
		on(number, func(m []string) string { return plain(m[1]) }),
		// Digits of other scripts, and raised and lowered ones.
		on(`\pN`, func(m []string) string { return " " + otherDigit(m[0]) + " " }),
	}
}

// pairs says four digits two by two, and three as one and two: 1080 is "ten eighty".
func pairs(s string) string {
	cut := len(s) - 2
	return amount(s[:cut]) + " " + amount(s[cut:])
}

// hexDigits says digits and letters one by one.
func hexDigits(s string) string {
	var said []string
	for _, r := range strings.ToUpper(s) {
		if r >= '0' && r <= '9' {
			said = append(said, ones[r-'0'])
		} else {
			said = append(said, string(r))
		}
	}
	return strings.Join(said, " ")
}

// mapped returns what f makes of each word.
func mapped(words []string, f func(string) string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = f(w)
	}
	return out
}

func minusBetween(m []string) string { return m[1] + " minus " + m[2] }

// plain says a number that stands alone: four digits between 1100 and 2099 are a year.
func plain(s string) string {
	if len(s) == 4 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 1100 && n < 2100 {
			return year(n)
		}
	}
	return amount(s)
}

// dotted says a version.
func dotted(s string) string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = whole(p)
	}
	return strings.Join(parts, " point ")
}

// otherDigit says a digit of any script, "" for what is a number but no digit.
func otherDigit(s string) string {
	for _, r := range s {
		for _, zero := range []rune{'٠', '۰', '०', '০', '௦', '๐', '０', '₀'} {
			if r >= zero && r <= zero+9 {
				return ones[r-zero]
			}
		}
		switch r {
		case '⁰':
			return "zero"
		case '¹':
			return "one"
		case '²':
			return "two"
		case '³':
			return "three"
		}
		if r >= '⁴' && r <= '⁹' {
			return ones[4+r-'⁴']
		}
		if r >= '①' && r <= '⑳' {
			return cardinal(int64(1 + r - '①'))
		}
	}
	return ""
}

// symbolRules say the signs that are left.
func symbolRules() []rule {
	all := []rule{
		// ~/notes.txt and /usr/bin
		on(`(^|\s)(~|\.{1,2})?/([\w.-]+(?:/[\w.-]+)*)/?`, func(m []string) string {
			said := m[1]
			if m[2] == "~" {
				said += "tilde "
			}
			return said + "slash " + strings.Join(mapped(strings.Split(m[3], "/"), webWords), " slash ")
		}),
		on(`\b([A-Z])/([A-Z])\b`, func(m []string) string { return m[1] + "-" + m[2] }),
		on(`^\s*(?:->|→|=>|⇒|➜|➔)\s*`, func([]string) string { return "" }),
		on(`\b(times|days?|hours?|minutes?|percent|\pL+s|twice|once|one) ?/ ?(day|week|month|year|hour|minute|second|night|person|hr|min|yr|mo)\b`, func(m []string) string {
			unit := m[2]
			if said, ok := per[unit]; ok {
				unit = said
			}
			return m[1] + " per " + unit
		}),
	}
	for _, s := range [][2]string{
		{`\s*<=\s*|\s*≤\s*`, " is at most "}, {`\s*>=\s*|\s*≥\s*`, " is at least "}, {`\s*!=\s*|\s*≠\s*`, " is not equal to "}, {`\s*==\s*`, " equals "},
		{`\s*(?:->|→|=>|⇒|➜|➔)\s*`, " to "}, {`\s*(?:<-|←)\s*`, " from "}, {`\s*≈\s*`, " is about "}, {`\s*=\s*`, " equals "},
		{`\s+<\s+`, " is less than "}, {`\s+>\s+`, " is more than "}, {`<\s*\b`, " less than "}, {`>\s*\b`, " more than "}, {`\s*±\s*`, " plus or minus "}, {`\s*×\s*`, " times "}, {`\s*÷\s*`, " divided by "},
		{`\s*\|\|\s*`, " or "}, {`√\s*`, "the square root of "}, {`∞`, " infinity "}, {`π`, " pi "}, {`\s*&&?\s*`, " and "}, {`\s*\+\s*`, " plus "}, {`§+\s*`, " section "}, {`\s*%`, " percent"},
		{`°\s*C\b|℃`, " degrees Celsius "}, {`°\s*F\b|℉`, " degrees Fahrenheit "}, {`°`, " degrees "}, {`\$`, " dollar "}, {`€`, " euro "}, {`£`, " pound "},
		{`\s*@\s*`, " at "}, {`µ`, " micro "}, {`(?:\s|^)~\s*`, " about "},
	} {
		all = append(all, on(s[0], func([]string) string { return s[1] }))
	}
	return append(all,
		on(`\b([A-Z][a-z]+|[a-z]{2,})/([A-Z][a-z]+|[a-z]{2,})\b`, func(m []string) string { return m[1] + " or " + m[2] }),
		on(`\b([A-Z][a-z]+|[a-z]{2,})/([A-Z][a-z]+|[a-z]{2,})\b`, func(m []string) string { return m[1] + " or " + m[2] }), // Neighbours share a word.
		on(`(\pL)_(\pL)`, func(m []string) string { return m[1] + " " + m[2] }),
		on(`([A-Za-z]\w+)\.([a-z]{1,5})\b`, func(m []string) string { return m[1] + " dot " + webWords(m[2]) }),
		on(`([a-z])\.([A-Z][a-z])`, func(m []string) string { return m[1] + ". " + m[2] }),
		on(`\b(\pL+),(\pL)`, func(m []string) string { return m[1] + ", " + m[2] }),
		on(`([a-z])–([a-z])`, func(m []string) string { return m[1] + "-" + m[2] }),
		// Letters one by one: voices take an A that stands alone for the article.
		on(`\b[A-Z](?: [A-Z])+\b`, func(m []string) string { return letters(m[0]) }),
	)
}
