package tts

import "strings"

// A currency is how money is counted: whole and hundredth, each for one and for many.
type currency struct{ one, many, cent, cents string }

var currencies = map[string]currency{
	"$":   {"dollar", "dollars", "cent", "cents"},
	"€":   {"euro", "euros", "cent", "cents"},
	"£":   {"pound", "pounds", "penny", "pence"},
	"¥":   {"yen", "yen", "sen", "sen"},
	"₹":   {"rupee", "rupees", "paisa", "paise"},
	"₽":   {"ruble", "rubles", "kopeck", "kopecks"},
	"₩":   {"won", "won", "jeon", "jeon"},
	"₿":   {"bitcoin", "bitcoins", "cent", "cents"},
	"USD": {"U-S dollar", "U-S dollars", "cent", "cents"},
	"EUR": {"euro", "euros", "cent", "cents"},
	"GBP": {"British pound", "British pounds", "penny", "pence"},
	"CHF": {"Swiss franc", "Swiss francs", "centime", "centimes"},
	"JPY": {"yen", "yen", "sen", "sen"},
	"CAD": {"Canadian dollar", "Canadian dollars", "cent", "cents"},
	"AUD": {"Australian dollar", "Australian dollars", "cent", "cents"},
}

var magnitudes = map[string]string{
	"k": "thousand", "thousand": "thousand", "m": "million", "mn": "million", "mio": "million", "million": "million",
	"b": "billion", "bn": "billion", "billion": "billion", "t": "trillion", "tn": "trillion", "trillion": "trillion",
}

// money says an amount of a currency; size is "", or how the amount is multiplied.
func money(sign, number, size, unit string) string {
	c := currencies[unit]
	if unit == "₿" { // It has no hundredths that are money of their own.
		return counted(number, c.one, c.many)
	}
	said := ""
	if sign != "" {
		said = "minus "
	}
	if m := magnitudes[strings.ToLower(size)]; m != "" {
		return said + amount(number) + " " + m + " " + c.many
	}
	head, tail, _ := strings.Cut(number, ".")
	if len(tail) == 1 {
		tail += "0"
	}
	switch {
	case len(tail) > 2:
		return said + amount(number) + " " + c.many
	case strings.Trim(tail, "0") == "":
		return said + counted(head, c.one, c.many)
	case strings.Trim(head, "0,") == "":
		return said + cents(tail, c)
	}
	return said + counted(head, c.one, c.many) + " and " + cents(tail, c)
}

// cents says two digits of hundredths.
func cents(s string, c currency) string {
	return counted(strings.TrimPrefix(s, "0"), c.cent, c.cents)
}

// moneyRules say amounts of money, before other rules take the numbers.
func moneyRules() []rule {
	const (
		symbol = `([$€£¥₹₽₩₿])`
		code   = `(USD|EUR|GBP|CHF|JPY|CAD|AUD)`
		number = `(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)`
		size   = `(?:(?: ?(thousand|million|billion|trillion|bn|mn|mio|tn|[kKmMbBtT]))\b)?`
	)
	return []rule{
		on(symbol+`\.(\d\d)\b`, func(m []string) string { return m[1] + "0." + m[2] }),
		// $1M-$2M
		on(symbol+number+size+` ?[-–—] ?[$€£¥₹₽₩₿]`+number+size, func(m []string) string {
			from, to := magnitudes[strings.ToLower(m[3])], money("", m[4], m[5], m[1])
			if from == "" || strings.EqualFold(m[3], m[5]) {
				return amount(m[2]) + " to " + to
			}
			return amount(m[2]) + " " + from + " to " + to
		}),
		// $5-10 and $5-$10
		on(`(?:US|A|C)?`+symbol+number+` ?[-–—] ?[$€£¥₹₽₩₿]?`+number+size, func(m []string) string {
			return amount(m[2]) + " to " + money("", m[3], m[4], m[1])
		}),
		// €12,50, as the continent writes it
		on(`([-−]?)([€])? ?\b(\d{1,3}(?:\.\d{3})*),(\d{2})\b ?(€)?`, func(m []string) string {
			if m[2] == "" && m[5] == "" {
				return m[0]
			}
			return money(m[1], strings.ReplaceAll(m[3], ".", "")+"."+m[4], "", "€")
		}),
		on(`([-−]?)(?:US|A|C)?`+symbol+` ?`+number+size, func(m []string) string { return money(m[1], m[3], m[4], m[2]) }),
		on(`([-−]?)\b`+number+size+` ?`+symbol, func(m []string) string { return money(m[1], m[2], m[3], m[4]) }),
		on(`\b`+code+` ?([-−]?)`+number+size, func(m []string) string { return money(m[2], m[3], m[4], m[1]) }),
		on(`([-−]?)\b`+number+size+` ?`+code+`\b`, func(m []string) string { return money(m[1], m[2], m[3], m[4]) }),
		on(`\b(dollars?|euros?|pounds?|cents?|pence|yen|rupees?|francs?|thousand|million|billion) ?/ ?(`+perPattern+`)\b`, func(m []string) string {
			return m[1] + " per " + per[m[2]]
		}),
		on(`\b(\d{1,2})(p|c)\b`, func(m []string) string {
			if m[2] == "p" {
				return counted(m[1], "penny", "pence")
			}
			return counted(m[1], "cent", "cents")
		}),
		on(`([-−]?)\b`+number+` ?¢`, func(m []string) string { return counted(m[2], "cent", "cents") }),
	}
}
