package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// A question that comes as the sound of an item is understood as one that is said into the call, and answered when that is asked for.
func TestRecordedQuestion(t *testing.T) {
	c := dial(t, sharedService(t))
	c.send(fmt.Sprintf(`{"type":"conversation.item.create","item":{"id":"asked","type":"message","role":"user","content":[{"type":"input_audio","audio":%q}]}}`,
		base64.StdEncoding.EncodeToString(question(t).AppendBytes(nil))))
	c.send(`{"type":"response.create","response":{"max_output_tokens":40}}`)
	added := c.until("conversation.item.added")["item"].(map[string]any)
	if part := added["content"].([]any)[0].(map[string]any); added["id"] != "asked" || part["type"] != "input_audio" || part["transcript"] != nil {
		t.Errorf("it was added as %v", added)
	}
	heard := c.until("conversation.item.input_audio_transcription.completed")
	if text, _ := heard["transcript"].(string); heard["item_id"] != "asked" || !strings.Contains(strings.ToLower(text), "dog or a cat") {
		t.Errorf("it was understood as %v", heard)
	}
	c.until("response.output_audio.delta")
	if r := c.until("response.done")["response"].(map[string]any); r["status"] == "failed" || len(r["output"].([]any)) != 1 {
		t.Errorf("the answer was %v", r)
	}
}
