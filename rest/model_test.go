package rest

import (
	"testing"

	"riposte/llm"
)

func TestModels(t *testing.T) {
	s := server(Engines{})
	o := object(t, ask(t, s, "GET", "/v1/models", "").Body.Bytes())
	var names []any
	for _, m := range at(t, o, "data").([]any) {
		names = append(names, at(t, m, "id"))
	}
	if len(names) != 4 || names[0] != "small" || names[1] != "whisper" || names[2] != "joe" || names[3] != "sales" || at(t, o, "object") != "list" {
		t.Errorf("the models are %v", names)
	}
	for _, name := range []string{"small", "sales", "whisper-1"} {
		o := object(t, ask(t, s, "GET", "/v1/models/"+name, "").Body.Bytes())
		if at(t, o, "id") != name || at(t, o, "object") != "model" || at(t, o, "created") != 1000. || at(t, o, "owned_by") != "riposte" {
			t.Errorf("%s is %v", name, o)
		}
	}
	refused(t, ask(t, s, "GET", "/v1/models/a/b", ""), 404, "model_not_found", "model")
}

// Any name does where that is set, and a route goes by the address as well.
func TestFind(t *testing.T) {
	s := server(Engines{})
	s.Models.Aliases = []string{"*"}
	if route, set, err := s.find(&exchange{}, "gpt-9", "small"); err != nil || route != "" || set.Sampling != (llm.Sampling{Temperature: 0.3, TopP: 0.9}) {
		t.Errorf("%q, %+v, %v", route, set, err)
	}
	if route, set, err := s.find(&exchange{route: "sales"}, "small", "small"); err != nil || route != "sales" || set.Speed != 1.5 {
		t.Errorf("%q, %+v, %v", route, set, err)
	}
}

func TestElsewhere(t *testing.T) {
	s := server(Engines{})
	refused(t, ask(t, s, "GET", "/v1/nothing", ""), 404, "unknown_url", "")
	refused(t, ask(t, s, "POST", "/v1/embeddings", "{}"), 404, "unknown_url", "")
	w := ask(t, s, "GET", "/v1/chat/completions", "")
	refused(t, w, 405, "method_not_supported", "")
	if w.Header().Get("Allow") != "POST" {
		t.Errorf("headers %v", w.Header())
	}
	refused(t, ask(t, s, "DELETE", "/v1/models", ""), 405, "method_not_supported", "")
}
