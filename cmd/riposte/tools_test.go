package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"riposte/audio"
)

// A question that is spoken makes the model call a tool, whose result the client brings, and the model speaks its answer. The model
// is too small to call anything by itself, so that it is told to.
func TestToolCall(t *testing.T) {
	c := dial(t, sharedService(t))
	c.send(`{"type":"session.update","session":{"instructions":"You answer questions about the weather.","max_output_tokens":120,"tool_choice":"required","parallel_tool_calls":false,
		"tools":[{"type":"function","name":"get_weather","description":"The weather in a city.","parameters":{"type":"object",
			"properties":{"city":{"type":"string","maxLength":20},"unit":{"enum":["C","F"]}},"required":["city","unit"],"additionalProperties":false}}]}}`)
	c.until("session.updated")
	c.burst(append(question(t), make(audio.PCM, 2*24000)...)) // silence for whatever the words so far may be taken for
	done := c.until("response.function_call_arguments.done")
	var arguments struct {
		City *string
		Unit string
	}
	text, _ := done["arguments"].(string)
	if err := json.Unmarshal([]byte(text), &arguments); err != nil || done["name"] != "get_weather" || arguments.City == nil || arguments.Unit != "C" && arguments.Unit != "F" {
		t.Fatalf("the model called %v: %v", done, err)
	}
	t.Logf("called with %s", text)
	response := c.until("response.done")["response"].(map[string]any)
	if output := response["output"].([]any); len(output) != 1 || output[0].(map[string]any)["type"] != "function_call" || response["status"] != "completed" {
		t.Errorf("the answer was %v", response)
	}

	c.send(fmt.Sprintf(`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":%q,"output":"21 degrees and sunny"}}`, done["call_id"]))
	if it := c.until("conversation.item.done")["item"].(map[string]any); it["type"] != "function_call_output" {
		t.Errorf("the result became %v", it)
	}
	c.send(`{"type":"response.create","response":{"tool_choice":"none","max_output_tokens":40}}`)
	c.until("response.output_audio.delta")
	response = c.until("response.done")["response"].(map[string]any)
	message := response["output"].([]any)[0].(map[string]any)
	words, _ := message["content"].([]any)[0].(map[string]any)["transcript"].(string)
	if message["type"] != "message" || strings.TrimSpace(words) == "" || strings.Contains(words, "tool_call") {
		t.Errorf("the model said %q: %v", words, response)
	}
	t.Logf("said %q", words)
	if cached := response["usage"].(map[string]any)["input_token_details"].(map[string]any)["cached_tokens"].(float64); cached < 100 {
		t.Errorf("only %v tokens of the prompt were kept", cached)
	}
}
