package pipeline

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
	"riposte/transport"
)

// The caller's side may ask what an item is: what was said, and of an answer what was heard of it.
func TestLook(t *testing.T) {
	e := quick()
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	e.hears = []string{"count", "stop"}
	session(t, e, nil, func(l *line) {
		l.speak(600*ms, 2500*ms)
		answer := told[transport.ResponseStarted](l)[0].Response.Item
		question := told[transport.Committed](l)[0].Item
		l.in <- transport.Look{Ref: "q", Item: question}
		l.in <- transport.Look{Ref: "a", Item: answer}
		l.in <- transport.Look{Ref: "x", Item: "nothing"}
		l.in <- transport.Remove{Ref: "early", Item: answer}
		l.speak(600*ms, 9000*ms)
		l.in <- transport.Look{Ref: "a", Item: answer}
		l.in <- transport.Remove{Ref: "late", Item: question}
		l.in <- transport.Look{Ref: "gone", Item: question}
		l.in <- transport.Add{Ref: "after", Item: transport.Item{After: question, Role: llm.User, Text: "x"}}
		l.in <- transport.Add{Ref: "twice", Item: transport.Item{ID: answer, Role: llm.User, Text: "x"}}
		l.in <- transport.Add{Ref: "result", Item: transport.Item{Role: llm.ToolRole, Text: "x", Call: &llm.ToolCall{ID: "c"}}}
		l.in <- transport.Truncate{Ref: "cut", Item: question}
		time.Sleep(100 * ms)

		found := told[transport.Found](l)
		want := []transport.Found{
			{Item: transport.Item{ID: question, Role: llm.User, Text: "count"}, Aloud: true},
			{Item: transport.Item{ID: answer, Role: llm.Assistant}, Open: true},
			{Item: transport.Item{ID: answer, Role: llm.Assistant, Text: told[transport.TurnReport](l)[0].Answer}, Aloud: true, Cut: true},
		}
		if diff := cmp.Diff(want, found); diff != "" || found[2].Item.Text == "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		var faults []string
		for _, f := range told[transport.Fault](l) {
			faults = append(faults, f.Ref+" "+f.Code+" "+string(f.Part))
		}
		if diff := cmp.Diff([]string{
			"x item_retrieve_invalid_item_id item", "early invalid_value ", "gone item_retrieve_invalid_item_id item",
			"after invalid_value after", "twice invalid_value item", "result invalid_value call", "cut item_truncate_invalid_item_id item",
		}, faults); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
		if removed := told[transport.Removed](l); len(removed) != 1 || removed[0].Item != question {
			t.Errorf("removed %v", removed)
		}
	})
}

// A call takes its result with it; a result leaves its call waiting for another one.
func TestDiscard(t *testing.T) {
	var h history
	call := &llm.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage("{}")}
	result := transport.Item{ID: "result", Role: llm.ToolRole, Call: &llm.ToolCall{ID: "c"}, Text: "21"}
	for _, it := range []transport.Item{{ID: "q", Role: llm.User, Text: "how warm"}, {ID: "call", Role: llm.Assistant, Call: call}, result} {
		if _, err := h.add(it); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.addOf("resp", 0, transport.Item{ID: "a", Role: llm.Assistant, Text: "well"}); err != nil {
		t.Fatal(err)
	}
	if err := h.addAnswer("untold", "resp2", 0); err != nil {
		t.Fatal(err)
	}
	given := func(answer string) bool { return answer == "resp" }
	discard := func(id string, want error, items ...string) {
		t.Helper()
		removed, err := h.discard(id, given)
		if !errors.Is(err, want) || !cmp.Equal(items, removed) {
			t.Errorf("%s: %v were removed, %v", id, removed, err)
		}
	}
	discard("a", errInUse)
	discard("untold", errNoItem)
	discard("nothing", errNoItem)
	discard("result", nil, "result")
	if !h.waiting(time.Now().Add(-time.Minute)) {
		t.Error("nobody waits for another result")
	}
	if _, err := h.add(result); err != nil {
		t.Errorf("another result is refused: %v", err)
	}
	discard("call", nil, "call", "result")
	want := []llm.Message{{Role: llm.User, Text: "how warm"}, {Role: llm.Assistant, Text: "well"}}
	if diff := cmp.Diff(want, h.messages("", "")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
