package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// Whatever is set to a time, in whatever way, and without a unit or with one that there is not, the error says how it is written.
func TestDurations(t *testing.T) {
	var cmd serving
	parser, err := newParser(t.Context(), &cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = kong.Visit(parser.Model, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok && f.Target.Type() == reflect.TypeFor[time.Duration]() {
			names = append(names, f.Name)
		}
		return next(nil)
	})
	if len(names) < 30 || !slices.Contains(names, "budget-llm") {
		t.Fatalf("settings of time: %v", names)
	}
	for _, name := range names {
		_, err := parse(t, "", "--"+name+"=400")
		if want := `--` + name + `: "400" is no duration: write a number with its unit and no space between, such as 400ms, 400s, 400m or 400h`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for file, want := range map[string]string{
		"budget:\n  llm: 400\n":                                       `:2: budget.llm: "400" is no duration`,
		"budget:\n  llm: 0.4 s\n":                                     `such as 0.4ms, 0.4s`,
		"budget:\n  llm: soon\n":                                      `such as 400ms, 5s, 1m30s or 2h`,
		"tools:\n  mcp:\n    a: {url: \"http://a\", timeout: 20}\n":   `"20" is no duration: write a number with its unit`,
		"tools:\n  http:\n    a: {url: \"http://a\", timeout: 2 s}\n": `"2 s" is no duration: write a number with its unit and no space between, such as 2ms, 2s`,
	} {
		if _, err := parse(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	if _, err := testSettings(t, "--routes=b="+routeFile(t, "budget:\n  llm: 400\n")).openRoutes(); err == nil || !strings.Contains(err.Error(), `"400" is no duration`) {
		t.Errorf("a route: %v", err)
	}
	s, err := parse(t, "budget:\n  llm: 0.4s\ntalk:\n  idle: 0\n")
	if err != nil || s.Budget.LLM != 400*time.Millisecond || s.Talk.Idle != 0 {
		t.Errorf("%v, %v", s, err)
	}
}
