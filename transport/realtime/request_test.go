package realtime

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

// What a client asks of an answer beside the conversation reaches the pipeline.
func TestAside(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{}, listen(got))
	p.send(`{"type":"response.create","event_id":"e","response":{"conversation":"none","output_modalities":["text"],"metadata":{"topic":"mood"},"instructions":"Sort it.",
		"parallel_tool_calls":false,"audio":{"output":{"format":{"type":"audio/pcmu"},"voice":"marin"}},
		"input":[{"type":"item_reference","id":"item_1"},{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"7"}]}}`)
	yes := true
	instructions := "Sort it."
	want := transport.Respond{
		Ref: "e", Aside: true, Written: &yes, OneCall: &yes, Metadata: map[string]string{"topic": "mood"}, Instructions: &instructions, Rate: 8000, Encoding: "audio/pcmu",
		Input: []transport.Item{
			{ID: "item_1"}, {Role: llm.User, Text: "hi"},
			{Role: llm.Assistant, Call: &llm.ToolCall{ID: "c", Name: "f", Arguments: []byte("{}")}}, {Role: llm.ToolRole, Text: "7", Call: &llm.ToolCall{ID: "c"}},
		},
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("the pipeline was told (-want +got):\n%s", diff)
	}
	p.send(`{"type":"response.create","response":{"input":[]}}`)
	if in := (<-got).(transport.Respond); in.Aside || in.Input == nil || len(in.Input) != 0 {
		t.Errorf("of an answer to nothing the pipeline was told %+v", in)
	}
}

// Answers beside the conversation are told of each by itself, whatever is told of others in between, and no item of theirs is one of the
// conversation's.
func TestAsidesTold(t *testing.T) {
	main := transport.Response{ID: "resp_1", Item: "item_1", Encoding: "audio/pcm"}
	aside := transport.Response{ID: "resp_2", Item: "item_2", Aside: true, Written: true, Encoding: "audio/pcmu", Metadata: map[string]string{"k": "v"}}
	p, _, _ := serveAt(t, "", nil, func(s *Server) { s.Rates = func() []Rate { return []Rate{{"requests", 8, 7, 0}} } }, func(ctx context.Context, c transport.Call) error {
		for _, out := range []transport.Outbound{
			transport.ResponseStarted{Response: main},
			transport.ResponseStarted{Response: aside},
			transport.Called{Response: aside, Item: weatherCall(aside, "1").Item},
			transport.MessageStarted{Response: main, Previous: "item_0"},
			transport.MessageStarted{Response: aside},
			transport.Words{Response: main, Text: "Hello."},
			transport.Words{Response: aside, Text: "Calm."},
			transport.Voice{Response: main, PCM: audio.PCM{1}},
			transport.ResponseDone{Response: main, Status: transport.Completed, Text: "Hello."},
			transport.ResponseDone{Response: aside, Status: transport.Completed, Text: "Calm."},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
	var types []string
	for len(types) == 0 || types[len(types)-1] != "resp_2 response.done" {
		e := p.read()
		id, _ := e["response_id"].(string)
		r, _ := e["response"].(map[string]any)
		if r != nil {
			id = r["id"].(string)
		}
		types = append(types, id+" "+e["type"].(string))
		if at, ok := e["output_index"]; ok && e["type"] == "response.output_text.delta" && at != 1. {
			t.Errorf("the words are at %v", e)
		}
		if id == "resp_2" && r != nil {
			if r["conversation_id"] != nil || r["metadata"].(map[string]any)["k"] != "v" || r["audio"].(map[string]any)["output"].(map[string]any)["format"].(map[string]any)["type"] != "audio/pcmu" {
				t.Errorf("the response is %v", r)
			}
		}
		if e["type"] == "rate_limits.updated" {
			if diff := cmp.Diff([]any{map[string]any{"name": "requests", "limit": 8., "remaining": 7., "reset_seconds": 0.}}, e["rate_limits"]); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		}
	}
	want := []string{
		"resp_1 response.created", " rate_limits.updated", "resp_2 response.created", " rate_limits.updated",
		"resp_2 response.output_item.added", "resp_2 response.function_call_arguments.delta", "resp_2 response.function_call_arguments.done", "resp_2 response.output_item.done",
		"resp_1 response.output_item.added", " conversation.item.added", "resp_1 response.content_part.added",
		"resp_2 response.output_item.added", "resp_2 response.content_part.added",
		"resp_1 response.output_audio_transcript.delta", "resp_2 response.output_text.delta", "resp_1 response.output_audio.delta",
		"resp_1 response.output_audio.done", "resp_1 response.output_audio_transcript.done", "resp_1 response.content_part.done", "resp_1 response.output_item.done", " conversation.item.done", "resp_1 response.done",
		"resp_2 response.output_text.done", "resp_2 response.content_part.done", "resp_2 response.output_item.done", "resp_2 response.done",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A session that only transcribes has what that needs, and nothing is answered in it.
func TestTranscription(t *testing.T) {
	began := make(chan transport.Settings, 1)
	p, _, _ := serveAt(t, "?intent=transcription", nil, func(s *Server) {
		hold := s.Hold
		s.Hold = func(ctx context.Context, c transport.Call, settings transport.Settings) error {
			began <- settings
			return hold(ctx, c, settings)
		}
	}, listen(make(chan transport.Inbound, 8)))
	if s := <-began; !s.Listens || s.Detection.Respond || s.Instructions != "" {
		t.Errorf("the call begins with %+v", s)
	}
	if p.session["type"] != "transcription" || p.session["object"] != "realtime.transcription_session" || p.session["instructions"] != nil || p.session["expires_at"] == nil {
		t.Errorf("the session is %v", p.session)
	}
	p.send(`{"type":"session.update","session":{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcmu"},"transcription":{"model":"whisper-1","language":"en","prompt":"Riposte","keywords":["Piper"]},"turn_detection":{"type":"server_vad","silence_duration_ms":700}}}}}`)
	e := p.read()
	in, _ := dig(e, "session", "audio", "input").(map[string]any)
	if e["type"] != "session.updated" || dig(in, "format", "type") != "audio/pcmu" || dig(in, "turn_detection", "silence_duration_ms") != 700. || dig(in, "turn_detection", "create_response") != nil {
		t.Errorf("confirmed with %v", e)
	}
	for _, tt := range []struct{ event, code, about string }{
		{`{"type":"response.create","event_id":"answer"}`, "invalid_value", "answer"},
		{`{"type":"session.update","session":{"type":"realtime"},"event_id":"type"}`, "invalid_value", "type"},
		{`{"type":"session.update","session":{"type":"transcription","instructions":"x"},"event_id":"instructions"}`, "unknown_parameter", "instructions"},
		{`{"type":"session.update","session":{"type":"transcription","audio":{"output":{"voice":"marin"}}},"event_id":"voice"}`, "unknown_parameter", "voice"},
	} {
		p.send(tt.event)
		if code, about := p.code(); code != tt.code || about != tt.about {
			t.Errorf("%s: %s about %q", tt.event, code, about)
		}
	}
}

// A client secret may be for a transcription; and what an address intends has to be known.
func TestTranscriptionBySecret(t *testing.T) {
	s := gated("a key of this service")
	code, answer := issue(s, "a key of this service", `{"session":{"type":"transcription","audio":{"input":{"transcription":{"language":"en"}}}}}`)
	session, _ := answer["session"].(map[string]any)
	if code != http.StatusOK || session["type"] != "transcription" || session["object"] != "realtime.transcription_session" || session["model"] != nil {
		t.Errorf("%d, %v", code, answer)
	}
	code, answer = issue(s, "a key of this service", `{"session":{"type":"transcription","tools":[]}}`)
	if code != http.StatusBadRequest || errorCode(answer) != "unknown_parameter" {
		t.Errorf("with tools: %d, %v", code, answer)
	}
}

// What becomes of a call is told in the protocol's words, whatever it is.
func TestOtherEvents(t *testing.T) {
	for want, out := range map[string]transport.Outbound{
		"input_audio_buffer.cleared":                            transport.Cleared{},
		"conversation.item.truncated":                           transport.Truncated{Item: "i", Heard: 1500 * time.Millisecond},
		"conversation.item.deleted":                             transport.Removed{Item: "i"},
		"conversation.item.added":                               transport.Added{Item: transport.Item{ID: "i", Role: llm.System, Text: "x"}, Previous: "h"},
		"conversation.item.input_audio_transcription.failed":    transport.TranscriptionFailed{Item: "i"},
		"conversation.item.input_audio_transcription.completed": transport.Transcribed{Item: "i"},
	} {
		p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error { return c.Send(ctx, out) })
		if e := p.read(); e["type"] != want {
			t.Errorf("%T became %v", out, e)
		}
	}
	r := transport.Response{ID: "resp_1", Item: "item_1", Written: true}
	statuses := []transport.ResponseDone{
		{Response: r, Status: transport.Cancelled, Reason: "turn_detected"}, {Response: r, Status: transport.Incomplete, Reason: "max_output_tokens"},
		{Response: r, Status: transport.Failed, Err: llm.ErrTooLong}, {Response: r, Status: transport.Completed, Usage: llm.Usage{Prompt: 30, Cached: 20, Output: 5}},
	}
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, s := range statuses {
			c.Send(ctx, transport.ResponseStarted{Response: r})
			c.Send(ctx, s)
		}
		<-ctx.Done()
		return nil
	})
	var got []string
	for range statuses {
		p.read()
		done := p.read()
		got = append(got, dig(done, "response", "status").(string))
		if tokens := dig(done, "response", "usage", "input_token_details", "cached_tokens_details", "text_tokens"); len(got) == 4 && tokens != 20. {
			t.Errorf("the usage is %v", done)
		}
	}
	if !slices.Equal(got, []string{"cancelled", "incomplete", "failed", "completed"}) {
		t.Errorf("answers ended %v", got)
	}
}
