package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"riposte/budget"
	"riposte/budget/trace"
)

// ParseFilter reads a filter from text: terms such as key=value, with spaces between them, all of which have to hold. What is no such
// term is a word that has to occur.
//
//	since=2h route=default,sales verdict=over,failed gap=900ms "book a table"
//
// The keys are since and until (how long before now, such as 90m or 7d; a day, such as 2026-11-30; or a moment, such as
// 2026-11-30T15:04:05Z), call, route, version, model, verdict (met, masked, over, failed or none), blame (a stage), origin (aloud, greeting,
// prompt, written or requested), status, gap (the least) and text. Lists have commas between their values; a value with spaces, commas or quotes in it stands in quotes, as a string of Go does.
// now is what times are before, in the place where days are meant to begin.
func ParseFilter(text string, now time.Time) (Filter, error) {
	var f Filter
	seen := map[string]bool{}
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			if f.Text != "" && f.match() == "" {
				return Filter{}, fmt.Errorf("filter: text is %q: it must have a letter or a digit in it, since words are looked for", f.Text)
			}
			return f, nil
		}
		key, values, rest, err := cutTerm(text)
		if err != nil {
			return Filter{}, err
		}
		if key != "text" && seen[key] {
			return Filter{}, fmt.Errorf("filter: %s is said twice: put commas between the values of a list", key)
		}
		seen[key] = true
		if err := f.set(key, values, now); err != nil {
			return Filter{}, err
		}
		text = rest
	}
}

// filterKeys are the keys of filters, for whoever mistypes one.
const filterKeys = "since, until, call, route, version, model, verdict, blame, origin, status, gap and text"

// set sets what a term says.
func (f *Filter) set(key string, values []string, now time.Time) error {
	single := func() (string, error) {
		if len(values) != 1 {
			return "", fmt.Errorf("filter: %s takes one value, not %d", key, len(values))
		}
		return values[0], nil
	}
	var err error
	switch key {
	case "route":
		f.Route = values
	case "version":
		f.Version = values
	case "model":
		f.Model = values
	case "status":
		f.Status = values
	case "verdict":
		f.Verdict, err = among(key, values, []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed, NoVerdict})
	case "blame":
		f.Blame, err = among(key, values, budget.Stages[:])
	case "origin":
		f.Origin, err = among(key, values, []trace.Origin{Aloud, trace.Greeting, trace.Prompt, trace.Message, trace.Written, trace.Requested})
	case "text":
		f.Text = strings.TrimSpace(f.Text + " " + strings.Join(values, " "))
	case "call":
		f.Call, err = single()
	case "gap", "since", "until":
		var text string
		if text, err = single(); err != nil {
			return err
		}
		switch key {
		case "gap":
			f.Gap, err = parseGap(text)
		case "since":
			f.Since, err = ParseTime(text, now)
		case "until":
			f.Until, err = ParseTime(text, now)
		}
	default:
		return fmt.Errorf("filter: there is no key %q; there are %s", key, filterKeys)
	}
	return err
}

// parseGap reads a duration as filters have it: whole microseconds, like all that is kept.
func parseGap(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("filter: gap is %q: it must be a duration above 0, such as 500ms", text)
	}
	return max(d.Truncate(time.Microsecond), time.Microsecond), nil
}

// among returns the values, all of which must be among the known.
func among[S ~string](key string, values []string, known []S) ([]S, error) {
	out := make([]S, len(values))
	for i, v := range values {
		if !slices.Contains(known, S(v)) {
			return nil, fmt.Errorf("filter: %s is %q: it must be one of %s", key, v, strings.Join(texts(known), ", "))
		}
		out[i] = S(v)
	}
	return out, nil
}

// ParseTime reads a moment: how long before now it was (90m, 7d), a day in now's place (2026-11-30), or a moment as RFC 3339 has
// it. It is in whole microseconds.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)).Truncate(time.Microsecond), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d).Truncate(time.Microsecond), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil && inRange(t) {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && inRange(t) {
		return t.Truncate(time.Microsecond), nil
	}
	return time.Time{}, fmt.Errorf("filter: %q is no time: say how long ago (90m, 7d), a day (2026-11-30) or a moment (2026-11-30T15:04:05Z)", text)
}

// inRange says whether microseconds can count to t from 1970 on, and whether t is not what stands for no time.
func inRange(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 9999 }

// cutTerm cuts the first term from text. A word has the key text.
func cutTerm(text string) (key string, values []string, rest string, err error) {
	key = "text"
	if end := strings.IndexFunc(text, func(r rune) bool { return r < 'a' || r > 'z' }); end > 0 && text[end] == '=' {
		key, text = text[:end], text[end+1:]
	}
	if end := strings.IndexFunc(text, func(r rune) bool { return r < 'a' || r > 'z' }); key == "text" && end > 0 {
		if err := otherOperator(text[:end], text[end:]); err != nil {
			return "", nil, "", err
		}
	}
	for {
		value, left, err := cutValue(text, key == "text")
		if err != nil {
			return "", nil, "", err
		}
		if value == "" {
			return "", nil, "", fmt.Errorf("filter: %s has an empty value", key)
		}
		values = append(values, value)
		if !strings.HasPrefix(left, ",") || key == "text" {
			return key, values, left, nil
		}
		text = left[1:]
	}
}

// otherOperator reports a word that is meant as a term, but has another operator than =.
func otherOperator(key, rest string) error {
	if !slices.Contains(strings.Fields(strings.ReplaceAll(filterKeys, ",", " ")), key) || key == "and" {
		return nil
	}
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		rest = rest[:end]
	}
	value := strings.TrimLeft(rest, "<>!~:=")
	if value == "" || value == rest {
		return nil
	}
	how := "write " + key + "=" + value
	if key == "gap" {
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			value += "ms"
		}
		how = "write gap=" + value + " for a gap of at least this"
	}
	return fmt.Errorf("filter: %s is no filter: %s (or quote it, if it is to be a word)", key+rest, how)
}

// cutValue cuts one value from text, which in words may hold commas.
func cutValue(text string, word bool) (value, rest string, err error) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && quoted[0] == '"' {
		value, err = strconv.Unquote(quoted)
		return strings.TrimSpace(value), text[len(quoted):], err
	}
	if strings.HasPrefix(text, `"`) {
		return "", "", fmt.Errorf("filter: a quote is not closed in %s", text)
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == ',' && !word })
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], nil
}

// String returns the filter as ParseFilter reads it. Moments are in UTC, so the text means the same later and elsewhere.
func (f Filter) String() string {
	var terms []string
	add := func(key string, values ...string) {
		if len(values) == 0 || values[0] == "" {
			return
		}
		for i, v := range values {
			values[i] = quoted(v)
		}
		terms = append(terms, key+"="+strings.Join(values, ","))
	}
	moment := func(key string, t time.Time) {
		if !t.IsZero() {
			add(key, t.UTC().Format(time.RFC3339Nano))
		}
	}
	moment("since", f.Since)
	moment("until", f.Until)
	add("call", f.Call)
	add("route", slices.Clone(f.Route)...)
	add("version", slices.Clone(f.Version)...)
	add("model", slices.Clone(f.Model)...)
	add("verdict", texts(f.Verdict)...)
	add("blame", texts(f.Blame)...)
	add("origin", texts(f.Origin)...)
	add("status", slices.Clone(f.Status)...)
	if f.Gap > 0 {
		add("gap", f.Gap.String())
	}
	add("text", f.Text)
	return strings.Join(terms, " ")
}

// quoted puts a value in quotes where it needs them.
func quoted(v string) string {
	plain := !strings.ContainsFunc(v, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == ',' || r == unicode.ReplacementChar
	})
	if plain {
		return v
	}
	return strconv.Quote(v)
}
