package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/scenario"
)

// parse reads a script.
func parse(t *testing.T, text string) scenario.Script {
	t.Helper()
	s, err := scenario.Parse("x", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What only fake engines can do is named, line by line; what is for them alone is left out.
func TestNeeds(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string // Beginnings.
	}{
		{"caller says \"stop\"\nmodel says \"All right.\"\nmodel answers \"why\" with \"So.\"\nexpect turn \"stop\" within 400ms\nnow 1 turn", nil},
		{"stt fails\ncaller says \"stop\"\nstt recovers", []string{"x:1: a real stt does not fail", "x:3: a real stt does not fail and recover"}},
		{"fake stt fails\nfake now model asked 2 times\nfake model says \"\"", nil},
		{"model 3s 10ms", []string{"x:1: real engines take as long as they take, the model too"}},
		{"model says \"\"", []string{"x:1: a real model says something"}},
		{"model says \"One.\"\ncaller waits 1s\nmodel says \"Two.\"", []string{"x:3: a real model is taught its answers before the call"}},
		{"settings tools weather\nmodel answers \"what\" calling weather \"Rome\"", nil},
		{"settings tools weather\nmodel answers \"sunny\" calling weather \"Rome\"\ncaller returns weather \"sunny\"", []string{"x:2: a real model that has a result"}},
		{"model answers \"what\" calling weather \"Rome\"", []string{"x:1: a real model only calls tools that there are"}},
		{"line stalls 1s\nlimits turns 2\nnow read empty", []string{"x:1: a real line has buffers", "x:2: the service has no setting", "x:3: what the model read"}},
	} {
		got := Needs(parse(t, test.text))
		if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
			t.Errorf("%q needs %q, want %q", test.text, got, test.want)
		}
	}
}

// A script is not acted for what it only wants of the service, but with a service that has it.
func TestWants(t *testing.T) {
	l, down := Wants(parse(t, "limits utterance 4s\nlimits guesses 0\nfake limits steps 1\nservice shuts down"))
	if l.Utterance == nil || *l.Utterance != 4*time.Second || l.Guesses == nil || *l.Guesses != 0 || l.Steps != nil || !down {
		t.Errorf("wants %+v, down %v", l, down)
	}
	if l, down := Wants(parse(t, "caller waits 1s\nfake service shuts down")); l != (Limits{}) || down {
		t.Errorf("wants %+v, down %v", l, down)
	}
}
