package store

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

// noon is when the tests are.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// filterTexts are filters as people write them, with what they mean.
var filterTexts = []struct {
	text string
	want Filter
}{
	{"", Filter{}},
	{"  ", Filter{}},
	{"since=2h", Filter{Since: noon.Add(-2 * time.Hour)}},
	{"since=7d until=1d", Filter{Since: noon.AddDate(0, 0, -7), Until: noon.AddDate(0, 0, -1)}},
	{"since=2026-11-29", Filter{Since: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}},
	{"until=2026-11-29T10:00:00.5+01:00", Filter{Until: time.Date(2026, 11, 29, 9, 0, 0, 500e6, time.UTC)}},
	{"call=sess_1 route=default,sales", Filter{Call: "sess_1", Route: []string{"default", "sales"}}},
	{`version="a b",c model=whisper`, Filter{Version: []string{"a b", "c"}, Model: []string{"whisper"}}},
	{"verdict=over,none blame=llm status=cancelled", Filter{Verdict: []budget.Verdict{budget.Over, NoVerdict}, Blame: []budget.Stage{budget.LLM}, Status: []string{"cancelled"}}},
	{"origin=aloud,written", Filter{Origin: []trace.Origin{Aloud, trace.Written}}},
	{"gap=500ms weather", Filter{Gap: 500 * time.Millisecond, Text: "weather"}},
	{`the "good weather," today,`, Filter{Text: "the good weather, today,"}},
	{"x2=3", Filter{Text: "x2=3"}},
	{`"gap>600" a>b since: now`, Filter{Text: "gap>600 a>b since: now"}},
}

func TestParseFilter(t *testing.T) {
	for _, tt := range filterTexts {
		got, err := ParseFilter(tt.text, noon)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", tt.text, diff)
		}
	}
}

func TestParseFilterRefused(t *testing.T) {
	tests := []struct{ text, want string }{
		{"colour=red", `there is no key "colour"; there are since, until`},
		{"since=soon", `"soon" is no time`},
		{"since=-2h", `"-2h" is no time`},
		{"verdict=late", `it must be one of met, masked, over, failed, none`},
		{"blame=cat", "it must be one of mic, stt, llm, tts"},
		{"gap=0s", "it must be a duration above 0"},
		{"gap=fast", "such as 500ms"},
		{"route=a route=b", "route is said twice"},
		{"route=", "route has an empty value"},
		{"route=a,", "route has an empty value"},
		{"call=a,b", "call takes one value, not 2"},
		{"gap>600", "gap>600 is no filter: write gap=600ms for a gap of at least this"},
		{"tea gap>=1s", "write gap=1s for"},
		{"verdict!=met", "verdict!=met is no filter: write verdict=met"},
		{"route:sales", "write route=sales"},
		{`"open`, "a quote is not closed"},
	}
	for _, tt := range tests {
		if f, err := ParseFilter(tt.text, noon); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v and error %v, want one with %q", tt.text, f, err, tt.want)
		}
	}
}

// What a filter writes of itself means the same.
func FuzzParseFilter(f *testing.F) {
	for _, tt := range filterTexts {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := ParseFilter(text, noon)
		if err != nil {
			return
		}
		again, err := ParseFilter(filter.String(), noon.Add(time.Hour))
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, filter, err)
		}
		if diff := cmp.Diff(filter, again); diff != "" {
			t.Fatalf("%q is written as %q, which means something else: -first +again\n%s", text, filter, diff)
		}
	})
}

// A text in which there is no word is refused, and takes nothing where a filter has it nevertheless; what has a word besides is looked for.
func TestNoWord(t *testing.T) {
	s := filled(t, sample.New(1, noon).Turns(20))
	for _, text := range []string{"💩", `"`, "*", "-", "\x00", "\u0301", "- * !"} {
		if f, err := ParseFilter("text="+strconv.Quote(text), noon); err == nil || !strings.Contains(err.Error(), "a letter or a digit") {
			t.Errorf("%q is read as %v, %v", text, f, err)
		}
		page, err := s.Turns(t.Context(), Filter{Text: text}, 0, 10)
		if err != nil || len(page.Turns) > 0 {
			t.Errorf("%q takes %d turns, %v", text, len(page.Turns), err)
		}
		groups, err := s.Stats(t.Context(), Filter{Text: text}, Split{})
		if err != nil || len(groups) > 0 && groups[0].Turns > 0 {
			t.Errorf("%q takes turns into statistics: %v, %v", text, groups, err)
		}
		calls, err := s.Calls(t.Context(), Filter{Text: text}, 0, 10)
		if err != nil || len(calls.Calls) > 0 {
			t.Errorf("%q takes %d calls, %v", text, len(calls.Calls), err)
		}
	}
	f, err := ParseFilter("the - *", noon)
	if err != nil || f.match() != `"the"*` {
		t.Errorf("it is looked for %s, %v", f.match(), err)
	}
}
