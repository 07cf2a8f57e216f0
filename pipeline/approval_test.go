package pipeline

import (
	"encoding/json"
	"errors"
	"testing"

	"riposte/llm"
	"riposte/transport"
)

// Of what an answer asks for, nothing is run before all of it is decided; and each is decided once.
func TestDecide(t *testing.T) {
	var h history
	for _, id := range []string{"a", "b", "c"} {
		call := &llm.ToolCall{ID: "call_" + id, Name: "look_up", Arguments: json.RawMessage(`{}`)}
		if _, err := h.addOf("resp", 0, transport.Item{ID: id, Role: llm.Assistant, Call: call, Server: "clerk", Asked: true}); err != nil {
			t.Fatal(err)
		}
	}
	if m := h.messages("", ""); len(m) != 4 || m[1].Text != unapproved {
		t.Errorf("before, the model reads %+v", m)
	}
	for i, in := range []transport.Approve{{Request: "a", Yes: true}, {Request: "b", Reason: "too dear"}} {
		if may, done, err := h.decide(in); len(may) != 0 || done || err != nil {
			t.Errorf("decision %d: %v, %v, %v", i, may, done, err)
		}
	}
	may, done, err := h.decide(transport.Approve{Request: "c", Yes: true})
	if len(may) != 2 || may[0].request != "a" || may[1].request != "c" || !done || err != nil {
		t.Fatalf("%+v, %v, %v", may, done, err)
	}
	for _, request := range []string{"a", "b", "c", "none"} {
		if _, _, err := h.decide(transport.Approve{Request: request, Yes: true}); err == nil {
			t.Errorf("%s was decided twice", request)
		}
	}
	for _, a := range may {
		h.move(a.request)
	}
	if m := h.messages("", ""); len(m) != 2 || m[1].Text != "This call was not allowed. The reason that was given: too dear" || h.waiting(h.items[0].call.made.Add(-1)) {
		t.Errorf("then the model reads %+v", m)
	}
	h.cancel("resp")
	if _, _, err := h.decide(transport.Approve{Request: "a", Yes: true}); !errors.Is(err, errNotAsked) {
		t.Error(err)
	}
}

// Which calls the client is asked about is said by name, or for all others.
func TestAsks(t *testing.T) {
	for _, c := range []struct {
		to   transport.ToolServer
		asks bool
	}{
		{transport.ToolServer{}, true},
		{transport.ToolServer{Free: true}, false},
		{transport.ToolServer{Run: []string{"look_up"}}, false},
		{transport.ToolServer{Run: []string{"other"}}, true},
		{transport.ToolServer{Free: true, Ask: []string{"look_up"}}, true},
		{transport.ToolServer{Free: true, Ask: []string{"other"}}, false},
	} {
		if got := c.to.Asks("look_up"); got != c.asks {
			t.Errorf("%+v asks: %v", c.to, got)
		}
	}
}
