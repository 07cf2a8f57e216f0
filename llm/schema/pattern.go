package schema

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern writes strings that match a regular expression. Those that it reads mean the same in JavaScript and in Go.
func (d *document) pattern(v any, p place) string {
	source, ok := v.(string)
	if !ok {
		return d.fail(p, "pattern is a string")
	}
	re, err := syntax.Parse(source, syntax.Perl&^syntax.UnicodeGroups)
	if err != nil {
		return d.fail(p, "the pattern %q is not supported: %v", source, err)
	}
	body, err := d.whole(re)
	if err != nil {
		return d.fail(p, "the pattern %q is not supported: %v", source, err)
	}
	return `"\"" ` + body + ` "\""`
}

// whole writes a whole string in which something matches. Where it is not anchored, anything may come before and after.
func (d *document) whole(re *syntax.Regexp) (string, error) {
	switch re.Op {
	case syntax.OpCapture:
		return d.whole(re.Sub[0])
	case syntax.OpAlternate:
		var forms []string
		for _, sub := range re.Sub {
			f, err := d.whole(sub)
			if err != nil {
				return "", err
			}
			forms = append(forms, f)
		}
		return either(forms), nil
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	before, after := d.g.use("char")+"* ", " "+d.g.use("char")+"*"
	for len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		before, parts = "", parts[1:]
	}
	for n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText; n = len(parts) {
		after, parts = "", parts[:n-1]
	}
	body, err := sequence(parts)
	if err != nil {
		return "", err
	}
	return before + body + after, nil
}

func sequence(parts []*syntax.Regexp) (string, error) {
	if len(parts) == 0 {
		return `""`, nil
	}
	var out []string
	for _, part := range parts {
		s, err := expression(part)
		if err != nil {
			return "", err
		}
		out = append(out, s)
	}
	return strings.Join(out, " "), nil
}

// expression writes a part of a regular expression.
func expression(re *syntax.Regexp) (string, error) {
	if re.Flags&syntax.FoldCase != 0 {
		return "", fmt.Errorf("it does not tell upper from lower case")
	}
	group := func(suffix string) (string, error) {
		s, err := expression(re.Sub[0])
		return "(" + s + ")" + suffix, err
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return `""`, nil
	case syntax.OpLiteral:
		var b strings.Builder
		for _, c := range re.Rune {
			if escape(c) == "" {
				return "", fmt.Errorf("it wants the character %U", c)
			}
			b.WriteString(escape(c))
		}
		return quote(b.String()), nil
	case syntax.OpCharClass:
		return characters(re.Rune)
	case syntax.OpAnyCharNotNL:
		return characters([]rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune})
	case syntax.OpAnyChar:
		return characters([]rune{0, utf8.MaxRune})
	case syntax.OpCapture:
		return group("")
	case syntax.OpStar:
		return group("*")
	case syntax.OpPlus:
		return group("+")
	case syntax.OpQuest:
		return group("?")
	case syntax.OpRepeat:
		if re.Max < 0 {
			return group(fmt.Sprintf("{%d,}", re.Min))
		}
		return group(fmt.Sprintf("{%d,%d}", re.Min, re.Max))
	case syntax.OpConcat:
		return sequence(re.Sub)
	case syntax.OpAlternate:
		var forms []string
		for _, sub := range re.Sub {
			s, err := expression(sub)
			if err != nil {
				return "", err
			}
			forms = append(forms, s)
		}
		return either(forms), nil
	}
	return "", fmt.Errorf("%s has a meaning only at its ends, or none", re)
}

// escape is how JSON writes a character, empty for those that are not written at all.
func escape(c rune) string {
	switch c {
	case '"', '\\':
		return `\` + string(c)
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if c < ' ' || c == 0x7F || c > unicode.MaxRune || c >= 0xD800 && c < 0xE000 {
		return ""
	}
	return string(c)
}

// characters writes a set that is given by the first and last of its ranges.
func characters(ranges []rune) (string, error) {
	var plain strings.Builder
	var forms []string
	// What JSON escapes is written by itself, the others as a set.
	cut := []rune{'"', '\\', 0x7F}
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		for c := max(lo, 0); c <= min(hi, '\\'); c++ {
			if e := escape(c); len(e) == 2 && e[0] == '\\' {
				forms = append(forms, quote(e))
			}
		}
		lo = max(lo, ' ')
		for _, c := range append(cut, utf8.MaxRune+1) {
			if end := min(hi, c-1); lo <= end {
				fmt.Fprintf(&plain, `\U%08X-\U%08X`, lo, end)
			}
			lo = max(lo, c+1)
		}
	}
	if plain.Len() > 0 {
		forms = append(forms, "["+plain.String()+"]")
	}
	if len(forms) == 0 {
		return "", fmt.Errorf("it wants a character that is never written")
	}
	return either(forms), nil
}
