package realtime

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// What a client says of tools reaches the pipeline as it was written.
func TestToolsArrive(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{}, listen(got))
	const parameters = `{"type":"object","properties":{"city":{"type":"string","description":"where <it> is & when"}}}`
	p.send(`{"type":"session.update","session":{"tools":[{"type":"function","name":"weather","description":"a < b","parameters":` + parameters + `},{"type":"function","name":"time"}],` +
		`"tool_choice":{"type":"function","name":"weather"},"parallel_tool_calls":false}}`)
	s := p.read()["session"].(map[string]any)
	if len(s["tools"].([]any)) != 2 || s["parallel_tool_calls"] != false || s["tool_choice"].(map[string]any)["name"] != "weather" {
		t.Errorf("confirmed with %v", s)
	}
	want := []llm.Tool{{Name: "weather", Description: "a < b", Parameters: json.RawMessage(parameters)}, {Name: "time"}}
	in := (<-got).(transport.Configure).Settings
	if diff := cmp.Diff(want, in.Tools); diff != "" || in.Choice != "weather" || !in.OneCall {
		t.Errorf("choice %q, one call: %v, tools:\n%s", in.Choice, in.OneCall, diff)
	}
	p.send(`{"type":"session.update","session":{"instructions":"Be kind."}}`)
	p.read()
	if in := (<-got).(transport.Configure).Settings; cmp.Diff(want, in.Tools) != "" {
		t.Errorf("another change has changed the tools: %s", cmp.Diff(want, in.Tools))
	}

	none, required := llm.ChoiceNone, llm.ChoiceRequired
	auto, weather := llm.ChoiceAuto, llm.Choice("weather")
	for event, want := range map[string]transport.Respond{
		`{"type":"response.create"}`:                                                                                   {},
		`{"type":"response.create","response":{"tool_choice":"none"}}`:                                                 {Choice: &none},
		`{"type":"response.create","response":{"tools":[]}}`:                                                           {Tools: []llm.Tool{}, Choice: &auto},
		`{"type":"response.create","response":{"tools":[{"type":"function","name":"call"}],"tool_choice":"required"}}`: {Tools: []llm.Tool{{Name: "call"}}, Choice: &required},
		`{"type":"response.create","response":{"tools":[{"type":"function","name":"weather"}]}}`:                       {Tools: []llm.Tool{{Name: "weather"}}, Choice: &weather},
		`{"type":"response.create","response":{"tools":null,"tool_choice":{"type":"function","name":"weather"}}}`:      {Choice: &weather},
	} {
		p.send(event)
		if diff := cmp.Diff(want, (<-got).(transport.Respond)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}

	for event, want := range map[string]transport.Item{
		`{"type":"conversation.item.create","item":{"id":"i","type":"function_call","call_id":"c","name":"weather","arguments":"{\"city\": \"Rome\"}"}}`: {
			ID: "i", Role: llm.Assistant, Call: &llm.ToolCall{ID: "c", Name: "weather", Arguments: json.RawMessage(`{"city": "Rome"}`)},
		},
		`{"type":"conversation.item.create","previous_item_id":"i","item":{"type":"function_call_output","call_id":"c","output":"sunny"}}`: {
			Role: llm.ToolRole, Text: "sunny", Call: &llm.ToolCall{ID: "c"}, After: "i",
		},
	} {
		p.send(event)
		if diff := cmp.Diff(want, (<-got).(transport.Add).Item); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
}

// told sends a client what a pipeline says, and returns the events that it reads, up to the last of a kind.
func told(t *testing.T, last string, outs ...transport.Outbound) (events []map[string]any, types []string) {
	t.Helper()
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, out := range outs {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	for len(types) == 0 || types[len(types)-1] != last {
		e := p.read()
		events, types = append(events, e), append(types, e["type"].(string))
	}
	return events, types
}

func weatherCall(r transport.Response, n string) transport.Called {
	return transport.Called{Response: r, Previous: "before" + n, Item: transport.Item{ID: "call_item" + n, Role: llm.Assistant, Call: &llm.ToolCall{
		ID: "call" + n, Name: "weather", Arguments: json.RawMessage(`{"city": "Rome"}`),
	}}}
}

// callEvents are the events of one call.
var callEvents = []string{
	"response.output_item.added", "conversation.item.added", "response.function_call_arguments.delta",
	"response.function_call_arguments.done", "response.output_item.done", "conversation.item.done",
}

// An answer that only calls tools has no other items, and its calls are told whole, in the protocol's order.
func TestCalls(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_never", Encoding: "audio/pcm"}
	events, types := told(t, "response.done",
		transport.ResponseStarted{Response: r}, weatherCall(r, "1"), weatherCall(r, "2"),
		transport.ResponseDone{Response: r, Status: transport.Completed},
	)
	want := append(append(append([]string{"response.created"}, callEvents...), callEvents...), "response.done")
	if diff := cmp.Diff(want, types); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for n, first := range []int{1, 7} {
		at := float64(n)
		id, call := []string{"call_item1", "call_item2"}[n], []string{"call1", "call2"}[n]
		added, delta, done, item := events[first], events[first+2], events[first+3], events[first+4]
		if it := added["item"].(map[string]any); it["type"] != "function_call" || it["status"] != "in_progress" || it["arguments"] != "" || it["call_id"] != call || added["output_index"] != at {
			t.Errorf("the call was added as %v", added)
		}
		if events[first+1]["previous_item_id"] != "before"+[]string{"1", "2"}[n] {
			t.Errorf("its place is %v", events[first+1])
		}
		if delta["delta"] != `{"city": "Rome"}` || delta["call_id"] != call || delta["item_id"] != id || delta["output_index"] != at || delta["response_id"] != "resp_1" {
			t.Errorf("its arguments came as %v", delta)
		}
		if done["arguments"] != `{"city": "Rome"}` || done["name"] != "weather" || done["call_id"] != call || done["item_id"] != id {
			t.Errorf("its arguments were done as %v", done)
		}
		if it := item["item"].(map[string]any); it["status"] != "completed" || it["arguments"] != `{"city": "Rome"}` || it["name"] != "weather" || it["object"] != "realtime.item" {
			t.Errorf("it was done as %v", it)
		}
	}
	response := events[len(events)-1]["response"].(map[string]any)
	if output := response["output"].([]any); len(output) != 2 || output[1].(map[string]any)["call_id"] != "call2" || response["status"] != "completed" {
		t.Errorf("the response is %v", response)
	}
}

// A call may come while the words before it are still sounding; each keeps its place.
func TestCallAmidWords(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_2", Encoding: "audio/pcm"}
	events, types := told(t, "response.done",
		transport.ResponseStarted{Response: r},
		transport.MessageStarted{Response: r, Previous: "item_1"},
		weatherCall(r, "1"),
		transport.Words{Response: r, Text: "Let me look."},
		transport.Voice{Response: r, PCM: audio.PCM{1, 2}},
		transport.ResponseDone{Response: r, Status: transport.Cancelled, Reason: "turn_detected", Text: "Let me look."},
	)
	want := append([]string{"response.created", "response.output_item.added", "conversation.item.added", "response.content_part.added"}, callEvents...)
	want = append(want, "response.output_audio_transcript.delta", "response.output_audio.delta", "response.output_audio.done",
		"response.output_audio_transcript.done", "response.content_part.done", "response.output_item.done", "conversation.item.done", "response.done")
	if diff := cmp.Diff(want, types); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for i, e := range events {
		index, ok := e["output_index"]
		if want := map[bool]float64{true: 1}[i >= 4 && i < 10]; ok && index != want {
			t.Errorf("event %d, %s, has the index %v, want %v", i, types[i], index, want)
		}
	}
	output := events[len(events)-1]["response"].(map[string]any)["output"].([]any)
	words, call := output[0].(map[string]any), output[1].(map[string]any)
	if words["type"] != "message" || words["status"] != "incomplete" || call["type"] != "function_call" || call["status"] != "completed" {
		t.Errorf("the output is %v", output)
	}
}

// Words that come behind a call have the next place.
func TestWordsBehindACall(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_2", Encoding: "audio/pcmu"}
	events, _ := told(t, "response.done",
		transport.ResponseStarted{Response: r}, weatherCall(r, "1"),
		transport.MessageStarted{Response: r, Previous: "call_item1"},
		transport.Words{Response: r, Text: "I am looking."}, transport.Voice{Response: r, PCM: audio.PCM{1, 2}},
		transport.ResponseDone{Response: r, Status: transport.Completed, Text: "I am looking."},
	)
	for i, e := range events[7:] {
		if index, ok := e["output_index"]; ok && index != 1. {
			t.Errorf("event %d, %s, has the index %v, want 1", i+7, e["type"], index)
		}
	}
	if e := events[len(events)-2]; e["type"] != "conversation.item.done" || e["previous_item_id"] != "call_item1" {
		t.Errorf("the last event before the end is %v", e)
	}
}

// An answer of which nothing came has no items at all.
func TestNothingCame(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_2"}
	events, types := told(t, "response.done", transport.ResponseStarted{Response: r}, transport.ResponseDone{Response: r, Status: transport.Cancelled, Reason: "client_cancelled"})
	if output := events[1]["response"].(map[string]any)["output"]; len(types) != 2 || len(output.([]any)) != 0 {
		t.Errorf("events %v, output %v", types, output)
	}
}

// What the client adds of calls and results it is told of, as it is.
func TestAddedCalls(t *testing.T) {
	events, _ := told(t, "error",
		transport.Added{Item: transport.Item{ID: "a", Role: llm.Assistant, Call: &llm.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(`{}`)}}},
		transport.Added{Item: transport.Item{ID: "b", Role: llm.ToolRole, Call: &llm.ToolCall{ID: "c"}}, Previous: "a"},
		transport.Fault{Code: "end"},
	)
	call, result := events[1]["item"].(map[string]any), events[3]["item"].(map[string]any)
	want := map[string]any{"id": "a", "object": "realtime.item", "type": "function_call", "status": "completed", "call_id": "c", "name": "f", "arguments": "{}"}
	if diff := cmp.Diff(want, call); diff != "" {
		t.Errorf("the call (-want +got):\n%s", diff)
	}
	want = map[string]any{"id": "b", "object": "realtime.item", "type": "function_call_output", "status": "completed", "call_id": "c", "output": ""}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
}
