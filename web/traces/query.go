package traces

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"riposte/budget/trace/store"
)

const (
	// mostRows is how many turns or calls one answer has at most.
	mostRows = 200
	// usualRows is how many it has where nobody says.
	usualRows = 50
	// mostSpans is how many spans of time statistics are told apart by at most, and enough for a chart.
	mostSpans = 400
	// usualSpans is how many there are at most where nobody says.
	usualSpans = 72
	// longestParameter is how long a value of a parameter may be, in bytes.
	longestParameter = 500
)

// filterKeys are the parameters that choose turns; those of lists may be given several times.
var filterKeys = []string{"since", "until", "call", "route", "version", "model", "verdict", "blame", "origin", "status", "gap", "text"}

// paramsOf reads the parameters of an address. All of them must be among the known: one that is mistyped would choose all turns.
func paramsOf(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &problem{http.StatusBadRequest, "bad_query", sentence(err.Error()) + " In values, write %3B for a semicolon, %26 for an ampersand and %25 for a percent sign."}
	}
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(known, key) {
			continue
		}
		there := "There are none here."
		if len(known) > 0 {
			there = "There are " + strings.Join(known, ", ") + "."
		}
		return nil, &problem{http.StatusBadRequest, "unknown_parameter", fmt.Sprintf("There is no parameter %.60q. %s", key, there)}
	}
	return q, nil
}

// and returns the parameters that choose turns, and more.
func and(more ...string) []string { return append(slices.Clone(filterKeys), more...) }

// filterOf reads a filter from the parameters whose names begin with prefix.
func filterOf(q url.Values, prefix string, now time.Time) (store.Filter, error) {
	var terms []string
	for _, key := range filterKeys {
		var values []string
		for _, v := range q[prefix+key] {
			if len(v) > longestParameter {
				return store.Filter{}, &problem{http.StatusBadRequest, "too_long", fmt.Sprintf("The parameter %s is longer than %d bytes. Shorten it.", prefix+key, longestParameter)}
			}
			if v = strings.TrimSpace(v); v != "" {
				values = append(values, strconv.Quote(v))
			}
		}
		if len(values) > 0 {
			terms = append(terms, key+"="+strings.Join(values, ","))
		}
	}
	f, err := store.ParseFilter(strings.Join(terms, " "), now)
	if err != nil {
		return f, &problem{http.StatusBadRequest, "bad_filter", sentence(strings.TrimPrefix(err.Error(), "filter: "))}
	}
	return f, nil
}

// rowsOf reads where a list is to begin, and how long it may be.
func rowsOf(q url.Values) (from store.Cursor, limit int, err error) {
	limit = usualRows
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostRows {
			return 0, 0, &problem{http.StatusBadRequest, "bad_limit", fmt.Sprintf("The parameter limit is %q: it must be 1 to %d.", text, mostRows)}
		}
	}
	if text := q.Get("from"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, &problem{http.StatusBadRequest, "bad_cursor", fmt.Sprintf("The parameter from is %q: it must be the next of a list before.", text)}
		}
		from = store.Cursor(n)
	}
	return from, limit, nil
}

// everyOf reads the length of the spans of time: "all" for one that holds all, a duration, or nothing for what suits a chart of the time
// between first and last.
func everyOf(q url.Values, first, last time.Time) (time.Duration, error) {
	length := last.Sub(first)
	switch text := q.Get("every"); text {
	case "all":
		return 0, nil
	case "":
		return suits(length), nil
	default:
		every, err := time.ParseDuration(text)
		if err != nil || every < time.Second {
			return 0, &problem{http.StatusBadRequest, "bad_every", fmt.Sprintf("The parameter every is %q: it must be all, or a duration of a second or more, such as 1h.", text)}
		}
		if length/every >= mostSpans {
			return 0, &problem{http.StatusBadRequest, "too_many_spans", fmt.Sprintf("Spans of %s are more than %d in this time. Choose longer spans, or less time.", text, mostSpans)}
		}
		return every, nil
	}
}

// suits returns the shortest of some round lengths that divides the time into no more spans than usual.
func suits(length time.Duration) time.Duration {
	const day = 24 * time.Hour
	every := time.Minute
	for _, every = range []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 7 * day, 28 * day, 364 * day,
	} {
		if length/every < usualSpans {
			break
		}
	}
	return every
}

// sentence makes an error's text a sentence.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
