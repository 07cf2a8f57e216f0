package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// A client is told of a call that the service runs as of an mcp_call, from its arguments to its result, and of the words before and after
// it as of two messages, all in one response.
func TestServerCalls(t *testing.T) {
	first := transport.Response{ID: "resp", Item: "a", Encoding: "audio/pcm"}
	second := first
	second.Item = "b"
	call := func(id, outcome, text string) transport.Item {
		return transport.Item{
			ID: id, Role: llm.Assistant, Server: "clerk", Outcome: outcome, Text: text,
			Call: &llm.ToolCall{ID: "call_" + id, Name: "get_weather", Arguments: json.RawMessage(`{"city": "Rome"}`)},
		}
	}
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, out := range []transport.Outbound{
			transport.ResponseStarted{Response: first},
			transport.MessageStarted{Response: first, Previous: "user"},
			transport.Words{Response: first, Text: "Let me "},
			transport.Words{Response: first, Text: "look."},
			transport.Called{Response: first, Item: call("x", "", ""), Previous: "a"},
			transport.Called{Response: first, Item: call("y", "", ""), Previous: "x"},
			transport.Called{Response: first, Item: call("z", "", ""), Previous: "y"},
			transport.Ran{Response: first, Item: call("y", "timed_out", "It took too long."), Previous: "x"},
			transport.Ran{Response: first, Item: call("x", transport.RanWell, "sunny"), Previous: "a"},
			transport.Ran{Response: first, Item: call("z", "failed", "No clouds."), Previous: "y"},
			transport.MessageStarted{Response: second, Previous: "z"},
			transport.Words{Response: second, Text: "It is sunny."},
			transport.Voice{Response: second, PCM: audio.PCM{1}},
			transport.ResponseDone{Response: second, Status: transport.Completed, Text: "Let me look. It is sunny."},
			transport.Found{Item: call("x", transport.RanWell, "sunny")},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	var got []string
	for {
		e := p.read()
		line := strings.TrimPrefix(e["type"].(string), "response.")
		for _, key := range []string{"output_index", "item_id", "delta", "arguments", "transcript"} {
			if v, ok := e[key]; ok {
				line += fmt.Sprintf(" %v", v)
			}
		}
		if it, ok := e["item"].(map[string]any); ok {
			line += fmt.Sprintf(" %v", it["id"])
			if status, ok := it["status"]; ok {
				line += fmt.Sprintf(" %v", status)
			}
			if it["type"] == "mcp_call" {
				line += fmt.Sprintf(" %v %v %v", it["server_label"], it["arguments"], it["output"])
				if why, ok := it["error"].(map[string]any); ok {
					line += fmt.Sprintf(" %v %v", why["type"], why["message"])
				}
			}
		}
		got = append(got, line)
		if e["type"] == "response.done" {
			output := e["response"].(map[string]any)["output"].([]any)
			if len(output) != 5 || output[1].(map[string]any)["output"] != "sunny" || output[0].(map[string]any)["content"].([]any)[0].(map[string]any)["transcript"] != "Let me look." {
				t.Errorf("the response has %v", output)
			}
			break
		}
	}
	const arguments = `{"city": "Rome"}`
	want := []string{
		"created",
		"output_item.added 0 a in_progress", "conversation.item.added a in_progress", "content_part.added 0 a",
		"output_audio_transcript.delta 0 a Let me ", "output_audio_transcript.delta 0 a look.",
	}
	for i, id := range []string{"x", "y", "z"} {
		want = append(want,
			fmt.Sprintf("output_item.added %d %s clerk  <nil>", i+1, id), fmt.Sprintf("conversation.item.added %s clerk  <nil>", id),
			fmt.Sprintf("mcp_call_arguments.delta %d %s %s", i+1, id, arguments), fmt.Sprintf("mcp_call_arguments.done %d %s %s", i+1, id, arguments),
			fmt.Sprintf("mcp_call.in_progress %d %s", i+1, id))
	}
	for _, c := range []struct{ end, item string }{
		{"failed 2 y", "y clerk " + arguments + " <nil> protocol_error It took too long."},
		{"completed 1 x", "x clerk " + arguments + " sunny"},
		{"failed 3 z", "z clerk " + arguments + " <nil> tool_execution_error No clouds."},
	} {
		want = append(want, "mcp_call."+c.end, "output_item.done "+strings.Fields(c.end)[1]+" "+c.item, "conversation.item.done "+c.item)
	}
	want = append(want,
		"output_audio.done 0 a", "output_audio_transcript.done 0 a Let me look.", "content_part.done 0 a", "output_item.done 0 a completed", "conversation.item.done a completed",
		"output_item.added 4 b in_progress", "conversation.item.added b in_progress", "content_part.added 4 b",
		"output_audio_transcript.delta 4 b It is sunny.", "output_audio.delta 4 b AQA=",
		"output_audio.done 4 b", "output_audio_transcript.done 4 b It is sunny.", "content_part.done 4 b", "output_item.done 4 b completed", "conversation.item.done b completed",
		"done")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e := p.read(); e["item"].(map[string]any)["output"] != "sunny" {
		t.Errorf("asked again, the item is %v", e)
	}
}
