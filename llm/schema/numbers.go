package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// numberFormats say which numbers a program can hold.
var numberFormats = []string{"int32", "int64", "float", "double"}

// whole returns the value of a number that has no fraction and fits.
func whole(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok || !isWhole(n) {
		return 0, false
	}
	r := rational(n)
	return r.Num().Int64(), r.Num().IsInt64()
}

// isWhole reports whether a number has no fraction, as 1, 1.0 and 1e2.
func isWhole(n json.Number) bool {
	r := rational(n)
	return r != nil && r.IsInt()
}

// rational is the exact value of a number, nil for one that is astronomical.
func rational(n json.Number) *big.Rat {
	if _, e, ok := strings.Cut(strings.ToLower(n.String()), "e"); ok {
		if x, err := strconv.Atoi(e); err != nil || x > 400 || x < -400 {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	return r
}

// most15 is the largest number of 15 digits: integers without a bound stay exact in every program that reads them.
const most15 = 999_999_999_999_999

// integer writes whole numbers within bounds.
func (d *document) integer(s *object, p place) string {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	var below, above bool // Whether there is a bound.
	if f, ok := s.values["format"].(string); ok && f == "int32" {
		lo, hi, below, above = math.MinInt32, math.MaxInt32, true, true
	} else if ok && !slices.Contains(numberFormats, f) && formats[f] == "" {
		return d.fail(p, "the format %q is not supported: leave it out", f)
	}
	for _, k := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		v, ok := s.values[k]
		if !ok {
			continue
		}
		n, _ := v.(json.Number)
		r := rational(n)
		if r == nil {
			return d.fail(p, "%s is a number, not %s", k, text(v))
		}
		one := big.NewInt(1)
		floor := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, which for a positive divisor rounds down.
		bound := floor
		switch {
		case k == "minimum" && !r.IsInt(), k == "exclusiveMinimum":
			bound = new(big.Int).Add(floor, one)
		case k == "exclusiveMaximum" && r.IsInt():
			bound = new(big.Int).Sub(floor, one)
		}
		if !bound.IsInt64() {
			return d.fail(p, "%s is %s, which is beyond 64 bits: leave it out", k, text(v))
		}
		if strings.HasSuffix(k, "inimum") {
			lo, below = max(lo, bound.Int64()), true
		} else {
			hi, above = min(hi, bound.Int64()), true
		}
	}
	if !below && !above {
		return d.g.use("integer")
	}
	if lo > hi {
		return d.fail(p, "no integer is within the bounds")
	}
	// Where there is no bound, there is one by the number of digits.
	if !above && lo <= most15 {
		hi = most15
	}
	if !below && hi >= -most15 {
		lo = -most15
	}
	return d.g.rule(integers(lo, hi))
}

// integers writes the numbers from lo to hi.
func integers(lo, hi int64) string {
	var forms []string
	if lo < 0 {
		// As unsigned, because the smallest has no positive twin.
		small := uint64(1)
		if hi < 0 {
			small = uint64(-(hi + 1)) + 1
		}
		forms = append(forms, `"-" `+either(naturals(small, uint64(-(lo+1))+1)))
	}
	if hi >= 0 {
		forms = append(forms, naturals(uint64(max(lo, 0)), uint64(hi))...)
	}
	return either(forms)
}

// naturals writes the numbers from lo to hi by their digits, one form for each number of digits.
func naturals(lo, hi uint64) []string {
	var forms []string
	for from := lo; ; {
		// The largest number with as many digits as from.
		to, limit := hi, uint64(9)
		for limit < from && limit < 9_999_999_999_999_999_999 {
			limit = limit*10 + 9
		}
		if limit >= from {
			to = min(hi, limit)
		}
		forms = append(forms, digits(strconv.FormatUint(from, 10), strconv.FormatUint(to, 10)))
		if to == hi {
			return forms
		}
		from = to + 1
	}
}

// digits writes the numbers between two of the same length.
func digits(lo, hi string) string {
	n := len(lo)
	switch {
	case n == 0:
		return `""`
	case lo == hi:
		return quote(lo)
	case strings.Trim(lo[1:], "0") == "" && strings.Trim(hi[1:], "9") == "":
		return span(lo[0], hi[0]) + anyDigits(n-1)
	case lo[0] == hi[0]:
		return quote(lo[:1]) + " " + digits(lo[1:], hi[1:])
	}
	var forms []string
	first, last := lo[0], hi[0]
	if strings.Trim(lo[1:], "0") != "" { // The numbers that begin as lo are not all there.
		forms = append(forms, quote(lo[:1])+" "+digits(lo[1:], strings.Repeat("9", n-1)))
		first++
	}
	end := ""
	if strings.Trim(hi[1:], "9") != "" {
		end = quote(hi[:1]) + " " + digits(strings.Repeat("0", n-1), hi[1:])
		last--
	}
	if first <= last {
		forms = append(forms, span(first, last)+anyDigits(n-1))
	}
	if end != "" {
		forms = append(forms, end)
	}
	return either(forms)
}

func span(a, b byte) string {
	if a == b {
		return fmt.Sprintf("%q", string(a))
	}
	return fmt.Sprintf("[%c-%c]", a, b)
}

func anyDigits(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " [0-9]"
	}
	return fmt.Sprintf(" [0-9]{%d}", n)
}

// number writes numbers, which can have no bounds but 0 from below.
func (d *document) number(s *object, p place) string {
	if f, ok := s.values["format"].(string); ok && !slices.Contains(numberFormats, f) && formats[f] == "" {
		return d.fail(p, "the format %q is not supported: leave it out", f)
	}
	for _, k := range []string{"maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if v, ok := s.values[k]; ok {
			return d.fail(p, "%s %s is supported for integers only: make it one, or leave the bound out", k, text(v))
		}
	}
	v, ok := s.values["minimum"]
	if !ok {
		return d.g.use("number")
	}
	if n, _ := v.(json.Number); rational(n) == nil || rational(n).Sign() != 0 {
		return d.fail(p, "minimum %s of a number is not supported, only 0 is: make it an integer, or leave the bound out", text(v))
	}
	return d.g.use("unsigned")
}

func number(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}
