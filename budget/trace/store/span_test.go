package store

import (
	"testing"

	"riposte/budget"
	"riposte/budget/trace/sample"
)

func TestSpan(t *testing.T) {
	turns := sample.New(3, noon).Turns(300)
	s := filled(t, turns)
	for _, f := range []Filter{{}, {Verdict: []budget.Verdict{budget.Over}}, {Text: "order"}, {Route: []string{"nowhere"}}} {
		first, last, err := s.Span(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.Turns(t.Context(), f, 0, len(turns))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Turns); n == 0 {
			if !first.IsZero() || !last.IsZero() {
				t.Errorf("%q: nothing spans %v to %v", f, first, last)
			}
		} else if !last.Equal(page.Turns[0].At) || !first.Equal(page.Turns[n-1].At) {
			t.Errorf("%q: from %v to %v, want %v to %v", f, first, last, page.Turns[n-1].At, page.Turns[0].At)
		}
	}
}
