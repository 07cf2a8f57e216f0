package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
	"riposte/transport"
)

func TestHistoryMessages(t *testing.T) {
	var h history
	add := func(it transport.Item) string {
		t.Helper()
		prev, err := h.add(it)
		if err != nil {
			t.Fatal(err)
		}
		return prev
	}
	add(transport.Item{ID: "a", Role: llm.User, Text: "hello"})
	add(transport.Item{ID: "b", Role: llm.Assistant}) // not heard
	add(transport.Item{ID: "c", Role: llm.User})
	h.setText("c", "are you there")
	if prev := add(transport.Item{ID: "d", Role: llm.Assistant, Text: "yes"}); prev != "c" {
		t.Errorf("the item before d is %q, want c", prev)
	}
	if prev := add(transport.Item{ID: "r", Role: llm.System, Text: "be kind", After: transport.Root}); prev != "" {
		t.Errorf("the item before r is %q, want none", prev)
	}
	add(transport.Item{ID: "a2", Role: llm.User, Text: "hi", After: "a"})

	want := []llm.Message{
		{Role: llm.System, Text: "be brief"},
		{Role: llm.System, Text: "be kind"},
		{Role: llm.User, Text: "hello"},
		{Role: llm.User, Text: "hi"},
		{Role: llm.User, Text: "are you there"},
		{Role: llm.Assistant, Text: "yes"},
	}
	if diff := cmp.Diff(want, h.messages("be brief", "")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if h.unanswered() {
		t.Error("the conversation ends with an answer, but is said to be unanswered")
	}
	if _, err := h.add(transport.Item{ID: "a"}); err == nil {
		t.Error("the same ID was taken twice")
	}
	if _, err := h.add(transport.Item{ID: "x", After: "nowhere"}); err == nil {
		t.Error("an item was put behind one that does not exist")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var h history
	if _, err := h.add(transport.Item{ID: "a", Role: llm.User, Text: strings.Repeat("x", maxHistory-1)}); err != nil {
		t.Fatal(err)
	}
	for what, it := range map[string]transport.Item{
		"text":           {ID: "b", Role: llm.User, Text: "more"},
		"a call":         {ID: "b", Role: llm.Assistant, Call: &llm.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage(`{"for": "it"}`)}},
		"a call's name":  {ID: "b", Role: llm.Assistant, Call: &llm.ToolCall{ID: "2", Name: strings.Repeat("look", 10)}},
		"a long item ID": {ID: strings.Repeat("b", 100), Role: llm.User, Text: "."},
	} {
		if _, err := h.add(it); err == nil {
			t.Errorf("a full conversation took %s", what)
		}
	}
	if _, err := h.add(transport.Item{ID: "c", Role: llm.User}); err != nil {
		t.Errorf("what is said aloud is always taken: %v", err)
	}
}

func TestHistoryHasFewItems(t *testing.T) {
	var h history
	for i := range maxItems {
		if _, err := h.add(transport.Item{ID: fmt.Sprint(i), Role: llm.Assistant, Call: &llm.ToolCall{ID: fmt.Sprint(i), Name: "look"}}); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := h.add(transport.Item{ID: "one more", Role: llm.User, Text: "more"}); err == nil {
		t.Error("a conversation takes any number of items")
	}
	if _, err := h.add(transport.Item{ID: "said", Role: llm.User}); err != nil {
		t.Errorf("what is said aloud is always taken: %v", err)
	}
}

func TestHeardText(t *testing.T) {
	spoken := []span{{text: "One two three. ", sound: 1500 * time.Millisecond}, {text: "Four five six.", sound: 1400 * time.Millisecond}}
	tests := []struct {
		heard time.Duration
		want  string
	}{
		{0, ""},
		{300 * time.Millisecond, "One"},
		{650 * time.Millisecond, "One"},
		{700 * time.Millisecond, "One two"},
		{1500 * time.Millisecond, "One two three."},
		{1500*time.Millisecond + 450*time.Millisecond, "One two three. Four"},
		{2900 * time.Millisecond, "One two three. Four five six."},
		{time.Hour, "One two three. Four five six."},
	}
	for _, tt := range tests {
		if got := heardText(spoken, tt.heard); got != tt.want {
			t.Errorf("after %v: %q, want %q", tt.heard, got, tt.want)
		}
	}
}

// All words of a sentence have been heard when the pause behind it begins, and none of them sounds in the pause.
func TestHeardTextPause(t *testing.T) {
	const pause = 500 * time.Millisecond
	spoken := []span{{text: "One two three. ", sound: 1500*time.Millisecond + pause, pause: pause}, {text: "Four.", sound: time.Second}}
	for heard, want := range map[time.Duration]string{
		700 * time.Millisecond:  "One two",
		1500 * time.Millisecond: "One two three.",
		1900 * time.Millisecond: "One two three.",
		2900 * time.Millisecond: "One two three.",
		3000 * time.Millisecond: "One two three. Four.",
	} {
		if got := heardText(spoken, heard); got != want {
			t.Errorf("after %v: %q, want %q", heard, got, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	var h history
	h.add(transport.Item{ID: "q", Role: llm.User, Text: "count"})
	h.add(transport.Item{ID: "a", Role: llm.Assistant})
	h.setSpoken("a", []span{{text: "One two three.", sound: 1400 * time.Millisecond}}, time.Hour, false)

	if err := h.truncate("a", 2*time.Second); err == nil {
		t.Error("more was heard than was sent, and nobody minded")
	}
	if err := h.truncate("q", 0); err == nil {
		t.Error("the caller's own words were truncated")
	}
	if err := h.truncate("nobody", 0); err == nil {
		t.Error("an item that does not exist was truncated")
	}
	if err := h.truncate("a", 800*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	got := h.messages("", "")
	if len(got) != 2 || got[1].Text != "One two" {
		t.Errorf("after the truncation the conversation is %v", got)
	}
}

// What the service says for itself stays in the conversation, and the model does not read it: it would begin to say it too.
func TestPhrasesAreNotRead(t *testing.T) {
	opener := span{text: "Let me see. ", sound: 600 * ms, ours: true}
	answer := span{text: "It is noon. ", sound: 800 * ms}
	apology := span{text: "Sorry, something went wrong.", sound: time.Second, ours: true}
	for _, c := range []struct {
		spoken     []span
		heard      time.Duration
		cut        bool
		said, read string
	}{
		{[]span{answer}, time.Second, false, "It is noon.", "It is noon."},
		{[]span{opener, answer}, 1400 * ms, false, "Let me see. It is noon.", "It is noon."},
		{[]span{opener, answer}, 1100 * ms, true, "Let me see. It is", "It is —"},
		{[]span{opener, answer}, 400 * ms, true, "Let me", ""},
		{[]span{answer, apology}, 1800 * ms, false, "It is noon. Sorry, something went wrong.", "It is noon."},
		{[]span{opener, apology}, 1600 * ms, false, "Let me see. Sorry, something went wrong.", ""},
	} {
		var h history
		if err := h.addAnswer("item", "resp", 0); err != nil {
			t.Fatal(err)
		}
		if said := h.setSpoken("item", c.spoken, c.heard, c.cut); said != c.said {
			t.Errorf("%v of %v were heard as %q, want %q", c.heard, c.spoken, said, c.said)
		}
		read := ""
		for _, m := range h.messages("", "") {
			read += m.Text
		}
		if read != c.read {
			t.Errorf("%v of %v are read as %q, want %q", c.heard, c.spoken, read, c.read)
		}
	}
}
