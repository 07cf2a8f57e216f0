package tts

import (
	"strconv"
	"strings"
)

var (
	ones = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens   = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	scales = []struct {
		of   int64
		name string
	}{{1e18, "quintillion"}, {1e15, "quadrillion"}, {1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}}
	ordinals = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
		"nine": "ninth", "twelve": "twelfth"}
)

// cardinal says n, which is not negative: 123 is "one hundred twenty-three".
func cardinal(n int64) string {
	switch {
	case n < 20:
		return ones[max(0, n)]
	case n < 100:
		if n%10 == 0 {
			return tens[n/10]
		}
		return tens[n/10] + "-" + ones[n%10]
	case n < 1000:
		return join(ones[n/100]+" hundred", n%100)
	}
	for _, s := range scales {
		if n >= s.of {
			return join(cardinal(n/s.of)+" "+s.name, n%s.of)
		}
	}
	return ""
}

func join(head string, rest int64) string {
	if rest == 0 {
		return head
	}
	return head + " " + cardinal(rest)
}

// ordinal says n as a place in a row: 21 is "twenty-first".
func ordinal(n int64) string { return asOrdinal(cardinal(n)) }

func asOrdinal(words string) string {
	at := strings.LastIndexAny(words, " -") + 1
	last := words[at:]
	if o, ok := ordinals[last]; ok {
		return words[:at] + o
	}
	if strings.HasSuffix(last, "y") {
		return words[:at] + strings.TrimSuffix(last, "y") + "ieth"
	}
	return words + "th"
}

// year says n as a year: 1984 is "nineteen eighty-four", 2005 "two thousand five".
func year(n int64) string {
	high, low := n/100, n%100
	switch {
	case n < 1000 || n > 9999 || high%10 == 0 && low < 10:
		return cardinal(n)
	case low == 0:
		return cardinal(high) + " hundred"
	case low < 10:
		return cardinal(high) + " oh " + cardinal(low)
	}
	return cardinal(high) + " " + cardinal(low)
}

// digits says each digit of s by itself and leaves out everything else.
func digits(s string) string {
	var words []string
	for _, r := range s {
		if r >= '0' && r <= '9' {
			words = append(words, ones[r-'0'])
		}
	}
	return strings.Join(words, " ")
}

// whole says the digits of a number without a sign; commas in it count for nothing. Numbers that begin with a zero, and long
// ones that are not round, are rather names than amounts: they are spelt.
func whole(s string) string {
	plain := strings.ReplaceAll(s, ",", "")
	n, err := strconv.ParseInt(plain, 10, 64)
	switch {
	case err != nil, len(plain) > 1 && plain[0] == '0', plain == s && len(plain) > 6 && !strings.HasSuffix(plain, "0000"):
		return digits(plain)
	}
	return cardinal(n)
}

// amount says a number that may have a sign, commas and decimals: "-1,234.50" is "minus one thousand two hundred
// thirty-four point five zero".
func amount(s string) string {
	sign := ""
	if t := strings.TrimLeft(s, "-−+"); t != s {
		if sign = "minus "; s[0] == '+' {
			sign = "plus "
		}
		s = t
	}
	head, tail, decimal := strings.Cut(s, ".")
	if head == "" {
		head = "0"
	}
	if !decimal || tail == "" {
		return sign + whole(head)
	}
	return sign + whole(head) + " point " + digits(tail)
}

// isOne reports whether a number takes the singular.
func isOne(s string) bool { return s == "1" }

// counted says a number of things.
func counted(number, one, many string) string {
	if isOne(number) {
		return "one " + one
	}
	return amount(number) + " " + many
}
