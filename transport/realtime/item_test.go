package realtime

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// What a client asks of items reaches the pipeline, and what they are is written as it was said: aloud, or in writing.
func TestItems(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{}, listen(got))
	p.send(`{"type":"conversation.item.retrieve","item_id":"i","event_id":"e"}`)
	if in := <-got; in != (transport.Look{Ref: "e", Item: "i"}) {
		t.Errorf("the pipeline was told %+v", in)
	}
	p.send(`{"type":"conversation.item.delete","item_id":"i","event_id":"e"}`)
	if in := <-got; in != (transport.Remove{Ref: "e", Item: "i"}) {
		t.Errorf("the pipeline was told %+v", in)
	}
}

func TestRetrieved(t *testing.T) {
	said := func(role llm.Role, text string) transport.Item {
		return transport.Item{ID: "i", Role: role, Text: text}
	}
	call := &llm.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(`{"x":1}`)}
	for _, tt := range []struct {
		name string
		out  transport.Found
		want string
	}{
		{"speech", transport.Found{Item: said(llm.User, "hello"), Aloud: true}, `"type":"message","status":"completed","role":"user","content":[{"type":"input_audio","transcript":"hello"}]`},
		{"speech, not recognised yet", transport.Found{Item: said(llm.User, ""), Aloud: true}, `"type":"message","status":"completed","role":"user","content":[{"type":"input_audio","transcript":null}]`},
		{"writing", transport.Found{Item: said(llm.User, "hello")}, `"type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"hello"}]`},
		{"an answer", transport.Found{Item: said(llm.Assistant, "Hi."), Aloud: true}, `"type":"message","status":"completed","role":"assistant","content":[{"type":"output_audio","transcript":"Hi."}]`},
		{"an answer that was interrupted", transport.Found{Item: said(llm.Assistant, "Hi"), Aloud: true, Cut: true}, `"type":"message","status":"incomplete","role":"assistant","content":[{"type":"output_audio","transcript":"Hi"}]`},
		{"an answer that sounds", transport.Found{Item: said(llm.Assistant, ""), Open: true}, `"type":"message","status":"in_progress","role":"assistant","content":[{"type":"output_audio"}]`},
		{"a written answer", transport.Found{Item: said(llm.Assistant, "Hi.")}, `"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi."}]`},
		{"a call", transport.Found{Item: transport.Item{ID: "i", Role: llm.Assistant, Call: call}}, `"type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{\"x\":1}"`},
		{"a result", transport.Found{Item: transport.Item{ID: "i", Role: llm.ToolRole, Call: call, Text: "2"}}, `"type":"function_call_output","status":"completed","call_id":"c","output":"2"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error { return c.Send(ctx, tt.out) })
			e := p.read()
			var want map[string]any
			if err := json.Unmarshal([]byte(`{"id":"i","object":"realtime.item",`+tt.want+`}`), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, e["item"]); e["type"] != "conversation.item.retrieved" || diff != "" {
				t.Errorf("%v (-want +got):\n%s", e["type"], diff)
			}
		})
	}
}

// What the pipeline finds wrong is told with the field that it is about.
func TestFaultParam(t *testing.T) {
	for want, f := range map[string]transport.Fault{
		"previous_item_id": {Code: "invalid_value", Part: transport.PartAfter},
		"item.call_id":     {Code: "invalid_value", Part: transport.PartCall},
		"item.content":     {Code: "invalid_value", Part: transport.PartContent},
		"item.id":          {Code: "invalid_value", Part: transport.PartItem},
		"item_id":          {Code: "item_delete_invalid_item_id", Part: transport.PartItem},
		"":                 {Code: "too_many_turns"},
	} {
		if got := param(f); got != want {
			t.Errorf("%+v is about %q, want %q", f, got, want)
		}
	}
}

// Every event that has not been refused reaches the pipeline as what it is.
func TestClientEvents(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{}, listen(got))
	for _, tt := range []struct {
		event string
		want  transport.Inbound
	}{
		{`{"type":"input_audio_buffer.commit","event_id":"e"}`, transport.Commit{Ref: "e"}},
		{`{"type":"input_audio_buffer.clear","event_id":"e"}`, transport.Clear{Ref: "e"}},
		{`{"type":"conversation.item.create","event_id":"e","previous_item_id":"root","item":{"id":"mine","type":"message","role":"system","content":[{"type":"input_text","text":"Hi."}]}}`,
			transport.Add{Ref: "e", Item: transport.Item{ID: "mine", Role: llm.System, Text: "Hi.", After: transport.Root}}},
		{`{"type":"conversation.item.create","event_id":"e","previous_item_id":"root","item":{"id":"mine","type":"message","role":"user","content":[{"type":"input_audio","audio":"AQACAA==","transcript":"what it may be"}]}}`,
			transport.Recording{Ref: "e", Item: transport.Item{ID: "mine", Role: llm.User, After: transport.Root}, PCM: audio.PCM{1, 2}, Rate: 24000}},
		{`{"type":"conversation.item.truncate","event_id":"e","item_id":"i","content_index":0,"audio_end_ms":1500}`, transport.Truncate{Ref: "e", Item: "i", Heard: 1500 * time.Millisecond}},
		{`{"type":"response.cancel","event_id":"e","response_id":"r"}`, transport.Cancel{Ref: "e", Response: "r"}},
		{`{"type":"response.create","event_id":"e"}`, transport.Respond{Ref: "e"}},
	} {
		p.send(tt.event)
		if diff := cmp.Diff(tt.want, <-got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.event, diff)
		}
	}
}
