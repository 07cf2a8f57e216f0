package trace

import (
	"context"
	"strings"
	"testing"

	"riposte/budget"
)

const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParent(t *testing.T) {
	for in, want := range map[string]string{
		caller:                                  caller,
		" " + caller + " ":                      caller,
		"01" + caller[2:] + "-what-comes-later": "01" + caller[2:] + "-what-comes-later",
		"":                                      "",
		"00":                                    "",
		caller + "-more":                        "",
		"ff" + caller[2:]:                       "",
		strings.ToUpper(caller):                 "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x": "",
	} {
		if got := Parent(WithParent(context.Background(), in)); got != want {
			t.Errorf("of %q is kept %q, want %q", in, got, want)
		}
	}
}

// What goes out names the span that the work is part of, in the trace of the caller's side.
func TestTraceparent(t *testing.T) {
	ctx := context.Background()
	if got := Traceparent(ctx, budget.LLM); got != "" {
		t.Errorf("outside of all calls %q is sent", got)
	}
	if got := Traceparent(InTurn(WithParent(ctx, caller), "turn"), budget.LLM); got != caller {
		t.Errorf("without spans of our own %q is sent, want what came in", got)
	}

	call := Call{ID: "call", Parent: strings.TrimSuffix(caller, "01") + "00"}
	inCall := InCall(ctx, call)
	seen := map[string]string{}
	for name, tp := range map[string]string{
		"call":                  Traceparent(inCall, budget.LLM),
		"llm":                   Traceparent(InTurn(inCall, "turn"), budget.LLM),
		"tts":                   Traceparent(InTurn(inCall, "turn"), budget.TTS),
		"llm of the next":       Traceparent(InTurn(inCall, "next"), budget.LLM),
		"call without a parent": Traceparent(InCall(ctx, Call{ID: "call"}), budget.LLM),
	} {
		if !valid(tp) {
			t.Fatalf("%s: %q is no traceparent", name, tp)
		}
		span := tp[36:52]
		if other, twice := seen[span]; twice && name != "call without a parent" && other != "call without a parent" {
			t.Errorf("%s has the span of %s: %s", name, other, span)
		}
		seen[span] = name
		own := name == "call without a parent"
		if (tp[3:35] == caller[3:35]) == own {
			t.Errorf("%s: the trace is %s", name, tp[3:35])
		}
		if flags := map[bool]string{false: "00", true: "01"}[own]; tp[53:] != flags {
			t.Errorf("%s: the flags are %s, want %s", name, tp[53:], flags)
		}
	}
	if a, b := Traceparent(InTurn(inCall, "turn"), budget.LLM), Traceparent(InTurn(InCall(ctx, call), "turn"), budget.LLM); a != b {
		t.Errorf("the same work has two places: %s and %s", a, b)
	}
}
