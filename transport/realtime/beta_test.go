package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// beta is what clients of the protocol's beta ask with.
var beta = http.Header{"Openai-Beta": {"realtime=v1"}}

// A client of the beta is spoken to in its form, and taken at its words.
func TestBeta(t *testing.T) {
	aloud := transport.Response{ID: "resp_1", Item: "item_2", Encoding: "audio/pcm"}
	written := transport.Response{ID: "resp_2", Item: "item_3", Written: true, Encoding: "audio/pcm"}
	settings := make(chan transport.Settings, 1)
	p, _, _ := serveAt(t, "", beta, func(s *Server) { s.Model = "gpt-4o-realtime-preview" }, func(ctx context.Context, c transport.Call) error {
		in, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		settings <- in.(transport.Configure).Settings
		for _, out := range []transport.Outbound{
			transport.Committed{Item: "item_1"},
			transport.Transcribed{Item: "item_1", Text: "hello", Speech: time.Second},
			transport.ResponseStarted{Response: aloud},
			transport.MessageStarted{Response: aloud, Previous: "item_1"},
			transport.Words{Response: aloud, Text: "Good day."},
			transport.Voice{Response: aloud, PCM: audio.PCM{1, 2}},
			weatherCall(aloud, "1"),
			transport.ResponseDone{Response: aloud, Status: transport.Completed, Text: "Good day."},
			transport.ResponseStarted{Response: written},
			transport.MessageStarted{Response: written, Previous: "item_2"},
			transport.Words{Response: written, Text: "Hi."},
			transport.ResponseDone{Response: written, Status: transport.Cancelled, Reason: "client_cancelled", Text: "Hi."},
			transport.Found{Item: transport.Item{ID: "i", Role: llm.Assistant, Text: "Hi."}, Aloud: true},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	for field, want := range map[string]any{"input_audio_format": "pcm16", "output_audio_format": "pcm16", "voice": "joe", "max_response_output_tokens": 100.} {
		if p.session[field] != want {
			t.Errorf("%s of the session is %v, want %v", field, p.session[field], want)
		}
	}
	if diff := cmp.Diff([]any{"text", "audio"}, p.session["modalities"]); diff != "" || p.session["audio"] != nil {
		t.Errorf("the session is %v", p.session)
	}
	p.send(`{"type":"session.update","session":{"modalities":["text","audio"],"instructions":"Sing.","voice":"alloy","input_audio_format":"g711_ulaw","turn_detection":{"type":"server_vad","silence_duration_ms":600},"temperature":0.8}}`)
	if s := <-settings; s.Instructions != "Sing." || s.Detection.Silence != 600*time.Millisecond || s.Written {
		t.Errorf("the pipeline was told %+v", s)
	}
	var types []string
	var events []map[string]any
	for len(types) == 0 || types[len(types)-1] != "conversation.item.retrieved" {
		e := p.read()
		types, events = append(types, e["type"].(string)), append(events, e)
	}
	want := []string{
		"session.updated", "input_audio_buffer.committed", "conversation.item.created",
		"conversation.item.input_audio_transcription.delta", "conversation.item.input_audio_transcription.completed",
		"response.created", "response.output_item.added", "conversation.item.created", "response.content_part.added",
		"response.audio_transcript.delta", "response.audio.delta",
		"response.output_item.added", "conversation.item.created", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
		"response.audio.done", "response.audio_transcript.done", "response.content_part.done", "response.output_item.done", "response.done",
		"response.created", "response.output_item.added", "conversation.item.created", "response.content_part.added",
		"response.text.delta", "response.text.done", "response.content_part.done", "response.output_item.done", "response.done",
		"conversation.item.retrieved",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if s := events[0]["session"].(map[string]any); s["input_audio_format"] != "g711_ulaw" || s["turn_detection"].(map[string]any)["silence_duration_ms"] != 600. {
		t.Errorf("confirmed with %v", s)
	}
	if sound, err := base64.StdEncoding.DecodeString(events[10]["delta"].(string)); err != nil || cmp.Diff(audio.PCM{1, 2}, audio.FromBytes(sound)) != "" {
		t.Errorf("the sound came as %v", events[10])
	}
	r := events[20]["response"].(map[string]any)
	part := r["output"].([]any)[0].(map[string]any)["content"].([]any)[0].(map[string]any)
	if part["type"] != "audio" || part["transcript"] != "Good day." || r["output_audio_format"] != "pcm16" || cmp.Diff([]any{"text", "audio"}, r["modalities"]) != "" {
		t.Errorf("the response is %v", r)
	}
	if r := events[29]["response"].(map[string]any); cmp.Diff([]any{"text"}, r["modalities"]) != "" {
		t.Errorf("the one in writing is %v", r)
	}
}

// So is one that only wants to be transcribed.
func TestBetaTranscription(t *testing.T) {
	p, _, _ := serveAt(t, "?intent=transcription", beta, nil, listen(make(chan transport.Inbound, 8)))
	p.send(`{"type":"transcription_session.update","session":{"input_audio_format":"g711_alaw","input_audio_transcription":{"model":"whisper-1","language":"en"},"turn_detection":null,"modalities":["text"]}}`)
	e := p.read()
	s, _ := e["session"].(map[string]any)
	if e["type"] != "transcription_session.updated" || s["input_audio_format"] != "g711_alaw" || s["turn_detection"] != nil || s["input_audio_transcription"].(map[string]any)["language"] != "en" {
		t.Errorf("confirmed with %v", e)
	}
}

// Whatever event there is, in the beta's form it is JSON with a type, or nothing.
func FuzzOld(f *testing.F) {
	for _, seed := range []string{
		`{"type":"session.created","session":{"type":"realtime","audio":{"input":{"format":{"type":"audio/pcm"}}}}}`, `{"type":"conversation.item.added","item":{"content":[{"type":"output_audio"}]}}`,
		`{"type":"response.done","response":{"output":[{"content":[7]}],"output_modalities":["audio"]}}`, `{"type":"response.output_audio.delta","delta":"AA=="}`, `{"type":7,"session":[],"item":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before map[string]any
		if json.Unmarshal(b, &before) != nil {
			return // the service's events are objects
		}
		after := old(b)
		if after == nil {
			return
		}
		var e map[string]any
		if err := json.Unmarshal(after, &e); err != nil {
			t.Fatalf("%s became %s: %v", b, after, err)
		}
		if (before["type"] == nil) != (e["type"] == nil) {
			t.Fatalf("%s became %s", b, after)
		}
	})
}

// Whatever a client says under the beta's names, it is a session or refused; and said again under the names of now it is the same.
func FuzzModern(f *testing.F) {
	for _, seed := range []string{`{"modalities":["text","audio"],"voice":"x"}`, `{"audio":{"output":7},"voice":"x"}`, `{"type":"transcription","modalities":["text"],"turn_detection":null}`, `7`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := modern(b, talks)
		if err != nil {
			return
		}
		twice, err := modern(once, talks)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%s became %s, and that %s: %v", b, once, twice, err)
		}
	})
}
