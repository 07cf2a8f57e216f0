package rest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
)

const responses = "/v1/responses"

func TestResponse(t *testing.T) {
	b := answering(llm.FinishStop, "Hel", "lo.")
	w := ask(t, server(Engines{LLM: b}), "POST", responses, `{"model":"small","input":"Hi.","instructions":"Be brief.","max_output_tokens":9,"store":true,"metadata":{"a":"b"},
		"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"string"}}},"temperature":1,"reasoning":{"effort":"low"}}`)
	o := object(t, w.Body.Bytes())
	if w.Code != 200 || at(t, o, "object") != "response" || at(t, o, "status") != "completed" || at(t, o, "store") != false || at(t, o, "temperature") != 1. ||
		at(t, o, "instructions") != "Be brief." || at(t, o, "metadata", "a") != "b" || at(t, o, "text", "format", "name") != "n" || at(t, o, "error") != nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	item := at(t, o, "output", 0)
	if at(t, item, "type") != "message" || at(t, item, "status") != "completed" || at(t, item, "content", 0, "type") != "output_text" || at(t, item, "content", 0, "text") != "Hello." {
		t.Errorf("the item is %v", item)
	}
	if u := at(t, o, "usage"); at(t, u, "input_tokens") != 10. || at(t, u, "output_tokens") != 2. || at(t, u, "total_tokens") != 12. || at(t, u, "input_tokens_details", "cached_tokens") != 4. {
		t.Errorf("the usage is %v", u)
	}
	want := llm.Request{
		Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Hi."}}, Whole: true, MaxTokens: 9,
		Sampling: llm.Sampling{Temperature: 1, TopP: 0.9}, Format: llm.Format{Schema: json.RawMessage(`{"type":"string"}`)}, Urgency: background,
	}
	if diff := cmp.Diff(want, b.asked); diff != "" {
		t.Errorf("the model was asked otherwise:\n%s", diff)
	}
}

// Items become the messages of one conversation: what an answer said and called is one of them.
func TestResponseInput(t *testing.T) {
	got, err := inputOf(json.RawMessage(`[{"role":"developer","content":"Be brief."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Weather?"}]},
		{"type":"reasoning","summary":[]},{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Let me see.","annotations":[]}]},
		{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"2","name":"g","arguments":"{\"a\":1}"},
		{"type":"function_call_output","call_id":"1","output":"sunny"},{"type":"function_call_output","call_id":"2","output":[{"type":"input_text","text":"warm"}]}]`))
	want := []llm.Message{
		{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Weather?"},
		{Role: llm.Assistant, Text: "Let me see.", Calls: []llm.ToolCall{{ID: "1", Name: "f", Arguments: json.RawMessage("{}")}, {ID: "2", Name: "g", Arguments: json.RawMessage(`{"a":1}`)}}},
		{Role: llm.ToolRole, Call: "1", Text: "sunny"}, {Role: llm.ToolRole, Call: "2", Text: "warm"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestResponseRefuses(t *testing.T) {
	s := server(Engines{LLM: answering(llm.FinishStop, "Yes.")})
	for fields, want := range map[string]string{
		``:            "missing_required_parameter input",
		`,"input":""`: "invalid_value input",
		`,"input":5`:  "invalid_value input",
		`,"input":[{"type":"item_reference","id":"x"}]`:                                      "unsupported_parameter input[0].type",
		`,"input":[{"role":"boss","content":"x"}]`:                                           "invalid_value input[0].role",
		`,"input":[{"role":"user"}]`:                                                         "missing_required_parameter input[0].content",
		`,"input":[{"role":"user","content":[{"type":"input_image"}]}]`:                      "unsupported_parameter input[0].content",
		`,"input":[{"type":"function_call_output","call_id":"1","output":"x"}]`:              "invalid_value input[0].call_id",
		`,"input":[{"type":"function_call_output","call_id":"1"}]`:                           "invalid_value input[0].output",
		`,"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"no JSON"}]`: "invalid_value input[0]",
		`,"input":"x","previous_response_id":"resp_1"`:                                       "unsupported_parameter previous_response_id",
		`,"input":"x","conversation":"conv_1"`:                                               "unsupported_parameter conversation",
		`,"input":"x","prompt":{"id":"p"}`:                                                   "unsupported_parameter prompt",
		`,"input":"x","background":true`:                                                     "unsupported_parameter background",
		`,"input":"x","truncation":"some"`:                                                   "invalid_value truncation",
		`,"input":"x","max_output_tokens":0`:                                                 "invalid_value max_output_tokens",
		`,"input":"x","top_logprobs":99`:                                                     "invalid_value top_logprobs",
		`,"input":"x","tools":[{"type":"web_search"}]`:                                       "unsupported_parameter tools[0].type",
		`,"input":"x","text":{"format":{"type":"xml"}}`:                                      "invalid_value text.format.type",
	} {
		code, param, _ := strings.Cut(want, " ")
		t.Run(fields, func(t *testing.T) {
			refused(t, ask(t, s, "POST", responses, `{"model":"small"`+fields+`}`), 400, code, param)
		})
	}
	refused(t, ask(t, s, "GET", responses+"/resp_1", ""), 404, "response_not_found", "")
}

// stream returns the types of a stream's events, which are numbered and named by their types, and the last one.
func stream(t *testing.T, b *brain, fields string) (types []string, last map[string]any) {
	t.Helper()
	w := ask(t, server(Engines{LLM: b}), "POST", responses, `{"model":"small","input":"Hi.","stream":true`+fields+`}`)
	names, data := events(t, w.Body.String())
	for i, d := range data {
		last = object(t, []byte(d))
		if at(t, last, "sequence_number") != float64(i) || at(t, last, "type") != names[i] {
			t.Errorf("event %d is %s %s", i, names[i], d)
		}
	}
	return names, last
}

func TestResponseStream(t *testing.T) {
	types, last := stream(t, answering(llm.FinishStop, "Hel", "lo."), "")
	if want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}; !slices.Equal(types, want) {
		t.Errorf("events %v", types)
	}
	if at(t, last, "response", "output", 0, "content", 0, "text") != "Hello." || at(t, last, "response", "usage", "total_tokens") != 12. {
		t.Errorf("in the end %v", last)
	}
	types, last = stream(t, answering(llm.FinishLength, "Hel"), "")
	if types[len(types)-1] != "response.incomplete" || at(t, last, "response", "incomplete_details", "reason") != "max_output_tokens" || at(t, last, "response", "output", 0, "status") != "incomplete" {
		t.Errorf("cut off, it ended with %v", last)
	}
	b := answering(llm.FinishTools, "So.")
	b.pieces = slices.Insert(b.pieces, 1, llm.Piece{Call: &llm.ToolCall{ID: "1", Name: "f", Arguments: json.RawMessage(`{"a":1}`)}})
	types, last = stream(t, b, `,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`)
	if want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.done",
		"response.content_part.done", "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
		"response.function_call_arguments.done", "response.output_item.done", "response.completed",
	}; !slices.Equal(types, want) {
		t.Errorf("events %v", types)
	}
	if call := at(t, last, "response", "output", 1); at(t, call, "type") != "function_call" || at(t, call, "call_id") != "1" || at(t, call, "arguments") != `{"a":1}` || at(t, call, "status") != "completed" {
		t.Errorf("the call is %v", call)
	}
	if b.asked.Tools[0].Name != "f" {
		t.Errorf("the tools were %v", b.asked.Tools)
	}
	types, last = stream(t, &brain{pieces: []llm.Piece{{Text: "Hel"}}, fail: errors.New("broken")}, "")
	if types[len(types)-1] != "response.failed" || at(t, last, "response", "status") != "failed" || at(t, last, "response", "error", "message") == "" {
		t.Errorf("broken, it ended with %v", last)
	}
	refused(t, ask(t, server(Engines{LLM: &brain{fail: llm.ErrBusy}}), "POST", responses, `{"model":"small","input":"Hi.","stream":true}`), 429, "rate_limit_exceeded", "")
}

func FuzzResponseRequest(f *testing.F) {
	for _, body := range []string{
		`{"input":"x"}`, `{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"y"}]}`,
		`{"input":"x","text":{"format":{"type":"json_schema","schema":{}}},"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f"}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q responseRequest
		err := decodeJSON(body, &q)
		var r llm.Request
		if err == nil {
			r, err = q.request(Route{})
		}
		if err != nil {
			if p, ok := errors.AsType[*Problem](err); !ok || p.Status < 400 || p.Message == "" {
				t.Errorf("%s: %v", body, err)
			}
			return
		}
		if _, err := json.Marshal(q.object(r)); err != nil || len(r.Messages) == 0 {
			t.Errorf("%s became %+v, %v", body, r, err)
		}
	})
}
