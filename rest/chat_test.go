package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
	"riposte/remote"
)

const chats = "/v1/chat/completions"

// chatBody is a request with fields beside a message.
func chatBody(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"small","messages":[{"role":"user","content":"Hi."}]` + fields + `}`
}

func TestChat(t *testing.T) {
	b := answering(llm.FinishStop, "Hel", "lo.")
	w := ask(t, server(Engines{LLM: b}), "POST", chats, chatBody(`"unknown":{"to":"us"},"store":true,"metadata":{},"user":"ann"`))
	o := object(t, w.Body.Bytes())
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || at(t, o, "object") != "chat.completion" || at(t, o, "model") != "small" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	choice := at(t, o, "choices", 0)
	if at(t, choice, "message", "content") != "Hello." || at(t, choice, "message", "role") != "assistant" || at(t, choice, "finish_reason") != "stop" || at(t, choice, "logprobs") != nil {
		t.Errorf("the choice is %v", choice)
	}
	u := at(t, o, "usage")
	if at(t, u, "prompt_tokens") != 10. || at(t, u, "completion_tokens") != 2. || at(t, u, "total_tokens") != 12. || at(t, u, "prompt_tokens_details", "cached_tokens") != 4. {
		t.Errorf("the usage is %v", u)
	}
	if f, _ := at(t, o, "system_fingerprint").(string); !strings.HasPrefix(f, "fp_") {
		t.Errorf("the fingerprint is %q", f)
	}
	want := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}, Whole: true, Sampling: llm.Sampling{Temperature: 0.3, TopP: 0.9}, Urgency: background}
	if diff := cmp.Diff(want, b.asked); diff != "" {
		t.Errorf("the model was asked otherwise:\n%s", diff)
	}
}

// All that changes an answer reaches the model.
func TestChatRequest(t *testing.T) {
	s := server(Engines{})
	for name, test := range map[string]struct {
		body string
		want func(*llm.Request)
	}{
		"sampling": {chatBody(`"temperature":0,"top_p":0.5,"presence_penalty":1,"frequency_penalty":-1,"seed":-3,"top_k":5,"min_p":0.1,"repetition_penalty":1.2`), func(r *llm.Request) {
			r.Sampling = llm.Sampling{TopP: 0.5, PresencePenalty: 1, FrequencyPenalty: -1, Seed: 2, TopK: 5, MinP: 0.1, RepeatPenalty: 1.2}
		}},
		"seed 0":            {chatBody(`"seed":0`), func(r *llm.Request) { r.Sampling.Seed = 1 << 31 }},
		"stop":              {chatBody(`"stop":"\n"`), func(r *llm.Request) { r.Stop = []string{"\n"} }},
		"stops":             {chatBody(`"stop":["a","b"]`), func(r *llm.Request) { r.Stop = []string{"a", "b"} }},
		"null":              {chatBody(`"stop":null,"max_tokens":null,"tools":null,"tool_choice":null,"response_format":null,"n":null,"seed":null,"logit_bias":null`), func(*llm.Request) {}},
		"max_tokens":        {chatBody(`"max_tokens":5`), func(r *llm.Request) { r.MaxTokens = 5 }},
		"completion tokens": {chatBody(`"max_tokens":5,"max_completion_tokens":7`), func(r *llm.Request) { r.MaxTokens = 7 }},
		"logprobs":          {chatBody(`"logprobs":true,"top_logprobs":3`), func(r *llm.Request) { r.Sampling.LogProbs, r.Sampling.Top = true, 3 }},
		"json_object":       {chatBody(`"response_format":{"type":"json_object"}`), func(r *llm.Request) { r.Format.Schema = json.RawMessage("{}") }},
		"text":              {chatBody(`"response_format":{"type":"text"}`), func(*llm.Request) {}},
		"json_schema":       {chatBody(`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"string"}}}`), func(r *llm.Request) { r.Format.Schema = json.RawMessage(`{"type":"string"}`) }},
		"route": {strings.Replace(chatBody(""), `"small"`, `"sales"`, 1), func(r *llm.Request) {
			r.Messages = append([]llm.Message{{Role: llm.System, Text: "You sell coffee."}}, r.Messages...)
			r.Sampling = llm.Sampling{Temperature: 0.7}
		}},
		"route, instructed": {`{"model":"sales","messages":[{"role":"developer","content":"Be kind."},{"role":"user","content":"Hi."}]}`, func(r *llm.Request) {
			r.Messages = append([]llm.Message{{Role: llm.System, Text: "Be kind."}}, r.Messages...)
			r.Sampling = llm.Sampling{Temperature: 0.7}
		}},
		"tools": {chatBody(`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g"}}],"tool_choice":"required","parallel_tool_calls":false`), func(r *llm.Request) {
			r.Tools = []llm.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "g"}}
			r.Choice, r.OneCall = llm.ChoiceRequired, true
		}},
		"one tool": {chatBody(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}}`), func(r *llm.Request) {
			r.Tools, r.Choice = []llm.Tool{{Name: "f"}}, "f"
		}},
		"allowed tools": {chatBody(`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}}`), func(r *llm.Request) {
			r.Tools = []llm.Tool{{Name: "g"}}
		}},
		"conversation": {`{"model":"small","messages":[{"role":"system","content":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}]},{"role":"user","content":"Weather?","name":"ann"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},
			{"role":"tool","tool_call_id":"2","content":"b"},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"Fine."}]}`, func(r *llm.Request) {
			r.Messages = []llm.Message{{Role: llm.System, Text: "Be\nbrief."}, {Role: llm.User, Text: "Weather?"},
				{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "1", Name: "f", Arguments: json.RawMessage(`{"a":1}`)}, {ID: "2", Name: "g", Arguments: json.RawMessage("{}")}}},
				{Role: llm.ToolRole, Call: "2", Text: "b"}, {Role: llm.ToolRole, Call: "1", Text: "a"}, {Role: llm.Assistant, Text: "Fine."}}
		}},
	} {
		b := answering(llm.FinishStop, "Yes.")
		s.Engines = func(string) Engines { return Engines{LLM: b} }
		if w := ask(t, s, "POST", chats, test.body); w.Code != 200 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		want := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}, Whole: true, Sampling: llm.Sampling{Temperature: 0.3, TopP: 0.9}, Urgency: background}
		test.want(&want)
		if diff := cmp.Diff(want, b.asked); diff != "" {
			t.Errorf("%s: the model was asked otherwise:\n%s", name, diff)
		}
	}
}

func TestChatRefuses(t *testing.T) {
	s := server(Engines{LLM: answering(llm.FinishStop, "Yes.")})
	for body, want := range map[string]string{
		``:   "invalid_json ",
		`[]`: "invalid_json ",
		`{`:  "invalid_json ",
		`{"messages":[{"role":"user","content":"Hi."}]}`:                 "missing_required_parameter model",
		`{"model":"other","messages":[{"role":"user","content":"Hi."}]}`: "model_not_found model",
		`{"model":"small"}`:                                                                             "missing_required_parameter messages",
		`{"model":"small","messages":[]}`:                                                               "missing_required_parameter messages",
		`{"model":"small","messages":[{"role":"user","content":" "}]}`:                                  "invalid_value messages",
		`{"model":"small","messages":[{"role":"user"}]}`:                                                "missing_required_parameter messages[0].content",
		`{"model":"small","messages":[{"role":"boss","content":"Hi."}]}`:                                "invalid_value messages[0].role",
		`{"model":"small","messages":[{"role":"tool","tool_call_id":"x","content":"1"}]}`:               "invalid_value messages[0].tool_call_id",
		`{"model":"small","messages":[{"role":"user","content":5}]}`:                                    "unsupported_parameter messages[0].content",
		`{"model":"small","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`:               "unsupported_parameter messages[0].content",
		`{"model":"small","messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"custom"}]}]}`: "unsupported_parameter messages[0].tool_calls[0].type",
		`{"model":"small","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]}`:  "invalid_value messages[0].tool_calls[0]",
		`{"model":"small","messages":[{"role":"assistant","content":"","function_call":{}}]}`:           "unsupported_parameter messages[0].function_call",
		chatBody(`"n":2`):                                                     "unsupported_parameter n",
		chatBody(`"logit_bias":{"5":1}`):                                      "unsupported_parameter logit_bias",
		chatBody(`"modalities":["text","audio"]`):                             "unsupported_parameter modalities",
		chatBody(`"audio":{"voice":"alloy"}`):                                 "unsupported_parameter audio",
		chatBody(`"functions":[]`):                                            "unsupported_parameter functions",
		chatBody(`"web_search_options":{}`):                                   "unsupported_parameter web_search_options",
		chatBody(`"temperature":3`):                                           "invalid_value temperature",
		chatBody(`"temperature":"hot"`):                                       "invalid_value temperature",
		chatBody(`"top_p":-1`):                                                "invalid_value top_p",
		chatBody(`"top_k":-2`):                                                "invalid_value top_k",
		chatBody(`"max_tokens":0`):                                            "invalid_value max_tokens",
		chatBody(`"top_logprobs":3`):                                          "invalid_value top_logprobs",
		chatBody(`"logprobs":true,"top_logprobs":21`):                         "invalid_value top_logprobs",
		chatBody(`"stop":["1","2","3","4","5"]`):                              "invalid_value stop",
		chatBody(`"stop":""`):                                                 "invalid_value stop",
		chatBody(`"stop":5`):                                                  "invalid_value stop",
		chatBody(`"response_format":{"type":"xml"}`):                          "invalid_value response_format.type",
		chatBody(`"response_format":{"type":"json_schema"}`):                  "missing_required_parameter response_format.schema",
		chatBody(`"tools":[{"type":"custom"}]`):                               "unsupported_parameter tools[0].type",
		chatBody(`"tools":[{"type":"function"}]`):                             "missing_required_parameter tools[0].function.name",
		chatBody(`"tool_choice":"required"`):                                  "invalid_value tool_choice",
		chatBody(`"tool_choice":"perhaps"`):                                   "invalid_value tool_choice",
		chatBody(`"tool_choice":{"type":"function","function":{"name":"f"}}`): "invalid_value tool_choice",
		chatBody(`"tool_choice":{"type":"custom"}`):                           "unsupported_parameter tool_choice",
		chatBody(`"tool_choice":[]`):                                          "invalid_value tool_choice",
	} {
		code, param, _ := strings.Cut(want, " ")
		status := 400
		if code == "model_not_found" {
			status = 404
		}
		t.Run(body, func(t *testing.T) { refused(t, ask(t, s, "POST", chats, body), status, code, param) })
	}
}

// A stream begins with who speaks, goes on in pieces and ends with why it ended; the usage is told to who asks for it.
func TestChatStream(t *testing.T) {
	b := answering(llm.FinishLength, "Hel", "lo")
	s := server(Engines{LLM: b})
	w := ask(t, s, "POST", chats, chatBody(`"stream":true,"stream_options":{"include_usage":true}`))
	if w.Header().Get("Content-Type") != "text/event-stream" || !w.Flushed {
		t.Errorf("headers %v", w.Header())
	}
	_, data := events(t, w.Body.String())
	if n := len(data); n != 6 || data[n-1] != "[DONE]" {
		t.Fatalf("got %d events:\n%s", n, w.Body)
	}
	var text strings.Builder
	for i, d := range data[:4] {
		o := object(t, []byte(d))
		delta := at(t, o, "choices", 0, "delta").(map[string]any)
		if content, ok := delta["content"].(string); ok {
			text.WriteString(content)
		}
		if role := delta["role"]; (role == "assistant") != (i == 0) {
			t.Errorf("chunk %d has the role %v", i, role)
		}
		if finish := at(t, o, "choices", 0, "finish_reason"); (finish == "length") != (i == 3) {
			t.Errorf("chunk %d ends with %v", i, finish)
		}
		if at(t, o, "object") != "chat.completion.chunk" {
			t.Errorf("chunk %s", d)
		}
	}
	if text.String() != "Hello" {
		t.Errorf("said %q", &text)
	}
	if o := object(t, []byte(data[4])); len(at(t, o, "choices").([]any)) != 0 || at(t, o, "usage", "total_tokens") != 12. {
		t.Errorf("the usage is %s", data[4])
	}
	w = ask(t, s, "POST", chats, chatBody(`"stream":true`))
	if _, data = events(t, w.Body.String()); len(data) != 5 || strings.Contains(w.Body.String(), "usage") {
		t.Errorf("without being asked for, the usage is told:\n%s", w.Body)
	}
}

func TestChatCalls(t *testing.T) {
	b := answering(llm.FinishTools)
	b.pieces = append([]llm.Piece{
		{Call: &llm.ToolCall{ID: "call_1", Name: "f", Arguments: json.RawMessage(`{"a": 1}`)}}, {Call: &llm.ToolCall{ID: "call_2", Name: "g"}},
	}, b.pieces...)
	s := server(Engines{LLM: b})
	const body = `"tools":[{"type":"function","function":{"name":"f"}}]`
	w := ask(t, s, "POST", chats, chatBody(body))
	choice := at(t, object(t, w.Body.Bytes()), "choices", 0)
	if at(t, choice, "message", "content") != nil || at(t, choice, "finish_reason") != "tool_calls" {
		t.Errorf("%v", choice)
	}
	call := at(t, choice, "message", "tool_calls", 0)
	if at(t, call, "id") != "call_1" || at(t, call, "type") != "function" || at(t, call, "function", "name") != "f" || at(t, call, "function", "arguments") != `{"a": 1}` ||
		at(t, choice, "message", "tool_calls", 1, "function", "arguments") != "{}" {
		t.Errorf("%v", choice)
	}
	w = ask(t, s, "POST", chats, chatBody(body+`,"stream":true`))
	_, data := events(t, w.Body.String())
	for i, name := range []string{"f", "g"} {
		call := at(t, object(t, []byte(data[1+i])), "choices", 0, "delta", "tool_calls", 0)
		if at(t, call, "index") != float64(i) || at(t, call, "function", "name") != name {
			t.Errorf("%v", call)
		}
	}
}

func TestChatLogProbs(t *testing.T) {
	b := answering(llm.FinishStop)
	token := llm.Token{Text: "é"[:1], LogProb: -0.5, Top: []llm.Token{{Text: "é"[:1], LogProb: -0.5}, {Text: "x", LogProb: float32(-1e30)}}}
	b.pieces = append([]llm.Piece{{Text: "é", Tokens: []llm.Token{token, {Text: "é"[1:]}}}}, b.pieces...)
	for _, body := range []string{`"logprobs":true,"top_logprobs":2`, `"logprobs":true,"top_logprobs":2,"stream":true`} {
		w := ask(t, server(Engines{LLM: b}), "POST", chats, chatBody(body))
		raw := w.Body.Bytes()
		if strings.Contains(body, "stream") {
			_, data := events(t, w.Body.String())
			raw = []byte(data[1])
		}
		tokens := at(t, object(t, raw), "choices", 0, "logprobs", "content").([]any)
		if len(tokens) != 2 || at(t, tokens[0], "token") != "\uFFFD" || at(t, tokens[0], "bytes", 0) != 195. || at(t, tokens[0], "logprob") != -0.5 ||
			at(t, tokens[0], "top_logprobs", 1, "logprob") != -9999. || at(t, tokens[1], "bytes", 0) != 169. {
			t.Errorf("%s", raw)
		}
	}
}

// What goes wrong before anything is said has a status; what goes wrong later ends the stream with an error.
func TestChatFails(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		code   string
		param  string
	}{
		{llm.ErrBusy, 429, "rate_limit_exceeded", ""},
		{fmt.Errorf("%w: 5000 tokens", llm.ErrTooLong), 400, "context_length_exceeded", "messages"},
		{fmt.Errorf("%w: no", llm.ErrFormat), 400, "invalid_value", "response_format"},
		{errors.New("broken"), 500, "internal_error", ""},
		{fmt.Errorf("asking: %w", remote.ErrUnreachable), 503, "engine_unreachable", ""},
		{remote.ErrResting, 503, "engine_unreachable", ""},
		{&remote.Refused{Status: 429, Retry: time.Minute}, 503, "engine_busy", ""},
		{&remote.Refused{Status: 401}, 502, "engine_failed", ""},
		{remote.ErrCut, 502, "engine_failed", ""},
		{remote.ErrLate, 504, "engine_timeout", ""},
	} {
		for _, body := range []string{"", `"stream":true`} {
			w := ask(t, server(Engines{LLM: &brain{fail: test.err}}), "POST", chats, chatBody(body))
			refused(t, w, test.status, test.code, test.param)
			if (w.Header().Get("Retry-After") != "") != (test.status == 429 || test.status == 503) {
				t.Errorf("%v: headers %v", test.err, w.Header())
			}
		}
	}
	w := ask(t, server(Engines{LLM: &brain{fail: llm.ErrFormat}}), "POST", chats, chatBody(`"tools":[{"type":"function","function":{"name":"no spaces"}}]`))
	refused(t, w, 400, "invalid_value", "tools")
	w = ask(t, server(Engines{LLM: &brain{pieces: []llm.Piece{{Text: "Hel"}}, fail: errors.New("broken")}}), "POST", chats, chatBody(`"stream":true`))
	_, data := events(t, w.Body.String())
	if last := object(t, []byte(data[len(data)-1])); w.Code != 200 || at(t, last, "error", "code") != "internal_error" || strings.Contains(w.Body.String(), "[DONE]") {
		t.Errorf("in mid-stream: %s", w.Body)
	}
}

// A client that leaves stops the model, and so does a request that takes too long.
func TestChatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := answering(llm.FinishStop, slices.Repeat([]string{"word "}, 100)...)
		b.every = time.Second
		released := 0
		s := server(Engines{LLM: b})
		s.Admit = func() (func(), error) { return func() { released++ }, nil }
		s.Limits.Time = 30 * time.Second
		began := time.Now()
		refused(t, ask(t, s, "POST", chats, chatBody("")), 503, "timeout", "")
		if took := time.Since(began); took != 30*time.Second || released != 1 {
			t.Errorf("it ended after %v, and its place is free: %d", took, released)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5500*time.Millisecond, cancel)
		r := httptest.NewRequestWithContext(ctx, "POST", chats, strings.NewReader(chatBody(`"stream":true`)))
		began = time.Now()
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(began); took != 5500*time.Millisecond || !errors.Is(b.ended, context.Canceled) || released != 2 {
			t.Errorf("for nobody it went on for %v, and ended with %v", took, b.ended)
		}
	})
}

// Whoever may not enter, or finds no place, gets nothing of the engines.
func TestDoor(t *testing.T) {
	s := server(Engines{LLM: answering(llm.FinishStop, "Yes.")})
	s.Engines = func(string) Engines { panic("nobody is in") }
	s.Admit = func() (func(), error) {
		return nil, &Problem{Status: 429, Code: "overloaded", Message: "Calls take the machine.", Retry: 5 * time.Second}
	}
	w := ask(t, s, "POST", chats, chatBody(""))
	refused(t, w, 429, "overloaded", "")
	if w.Header().Get("Retry-After") != "5" {
		t.Errorf("headers %v", w.Header())
	}
	s.Enter = func(w http.ResponseWriter, _ *http.Request) (string, bool) { w.WriteHeader(401); return "", false }
	for _, path := range []string{chats, "/v1/models", "/v1/nothing"} {
		if w := ask(t, s, "POST", path, chatBody("")); w.Code != 401 || w.Body.Len() > 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestTooLong(t *testing.T) {
	s := server(Engines{LLM: answering(llm.FinishStop, "Yes.")})
	s.Limits.Body = 2000
	refused(t, ask(t, s, "POST", chats, chatBody(`"user":"`+strings.Repeat("x", 2000)+`"`)), 413, "request_too_large", "")
}

// Whatever is asked, the answer is one, or an error in OpenAI's form; and what is taken means the same when it is written anew.
func FuzzChatRequest(f *testing.F) {
	for _, body := range []string{
		chatBody(""), chatBody(`"stop":["a"],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":{"type":"function","function":{"name":"f"}}`),
		chatBody(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), `{"model":"small","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		`{"model":"small","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":null}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q chatRequest
		err := decodeJSON(body, &q)
		var r llm.Request
		if err == nil {
			r, err = q.request(Route{})
		}
		if err != nil {
			p, ok := errors.AsType[*Problem](err)
			if !ok || p.Status < 400 || p.Message == "" {
				t.Errorf("%s: %v", body, err)
			}
			return
		}
		if len(r.Messages) == 0 || r.Sampling.Check() != nil || len(r.Stop) > mostStops {
			t.Errorf("%s became %+v", body, r)
		}
	})
}
