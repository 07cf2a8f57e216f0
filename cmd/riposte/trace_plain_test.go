package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// evil is text that clears a terminal, renames its window, writes over the line and turns what follows around.
const evil = "a\x1b[2J\x1b]0;owned\x07\rb\u009b31m\u202ec\u2066d\u200fe\u2028f\x7f\tg\nh\x00"

// poison sets every text that v holds, and has one of each list.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	}
}

// Whatever was said, and whatever a caller's side calls itself, reaches no terminal in a way that it obeys.
func TestNothingIsObeyed(t *testing.T) {
	var turn trace.Turn
	poison(reflect.ValueOf(&turn).Elem())
	turn.Origin = trace.Aloud
	turn.Models = map[budget.Stage]string{budget.STT: evil, budget.LLM: evil, budget.TTS: evil}
	turn.Report.Total = 2 * time.Second
	turn.Report.Stages = map[budget.Stage]time.Duration{budget.LLM: 2 * time.Second}
	turn.Report.Marks = map[budget.Mark]time.Duration{budget.Mark(evil): time.Second}
	var call trace.Call
	poison(reflect.ValueOf(&call).Elem())
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.WriteCall(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteTurns(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	turns, err := s.Turns(t.Context(), store.Filter{}, 0, 5)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := s.Calls(t.Context(), store.Filter{}, 0, 5)
	if err != nil {
		t.Fatal(err)
	}
	split := store.Split{By: store.ByModel}
	groups, err := s.Stats(t.Context(), store.Filter{}, split)
	if err != nil {
		t.Fatal(err)
	}
	both, err := s.Compare(t.Context(), store.Filter{}, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile("\x1b\\[[0-9]+m")
	for _, colour := range []bool{false, true} {
		for name, show := range map[string]func(canvas) error{
			"ls":         func(c canvas) error { return showRows(c, turns) },
			"ls --calls": func(c canvas) error { return showCalls(c, calls) },
			"show":       func(c canvas) error { return showTraced(c, turn, true) },
			"stats":      func(c canvas) error { return showStats(c, groups, split) },
			"diff":       func(c canvas) error { return showDiff(c, evil, evil, both) },
			"show --json": func(c canvas) error {
				return json.NewEncoder(escaped{c.out}).Encode(object.TurnOf(turn, true))
			},
		} {
			var b bytes.Buffer
			if err := show(canvas{out: &b, width: 400, colour: colour}); err != nil {
				t.Fatal(name, err)
			}
			text := b.String()
			if colour { // evil has none of our own styles in it
				text = ours.ReplaceAllString(text, "")
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || turning(r) || obeyed(r)) }); i >= 0 {
				t.Errorf("%s, colour %v: a terminal obeys %q", name, colour, text[i:min(i+20, len(text))])
			}
			if name == "show --json" {
				var o object.Turn
				if err := json.Unmarshal(b.Bytes(), &o); err != nil || o.Said != evil {
					t.Errorf("as JSON it is %q, %v", o.Said, err)
				}
			}
		}
	}
}
