package realtime

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/transport"
)

// wireCases are client events and what is wrong with them: a code, or nothing.
var wireCases = []struct {
	name, in, code string
}{
	{"append", `{"type":"input_audio_buffer.append","audio":"AAECAw==","event_id":"e"}`, ""},
	{"commit", `{"type":"input_audio_buffer.commit"}`, ""},
	{"clear", `{"type":"input_audio_buffer.clear"}`, ""},
	{"update", `{"type":"session.update","session":{"type":"realtime","instructions":"hi"}}`, ""},
	{"item", `{"type":"conversation.item.create","previous_item_id":null,"item":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`, ""},
	{"item of sound", `{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AQACAA==","transcript":null}]}}`, ""},
	{"truncate", `{"type":"conversation.item.truncate","item_id":"i","content_index":0,"audio_end_ms":1500}`, ""},
	{"retrieve", `{"type":"conversation.item.retrieve","item_id":"i"}`, ""},
	{"delete", `{"type":"conversation.item.delete","item_id":"i"}`, ""},
	{"create", `{"type":"response.create"}`, ""},
	{"create with much", `{"type":"response.create","response":{"instructions":"x","output_modalities":["text"],"max_output_tokens":"inf","metadata":{"a":"b"}}}`, ""},
	{"cancel", `{"type":"response.cancel","response_id":"r"}`, ""},
	{"call", `{"type":"conversation.item.create","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"x\":\"<1>\"}"}}`, ""},
	{"result", `{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":""}}`, ""},
	{"create with tools", `{"type":"response.create","response":{"tools":[{"type":"function","name":"f","parameters":{"type":"object","description":"a < b"},"strict":true}],"tool_choice":{"type":"function","name":"f"}}}`, ""},
	{"create beside the conversation", `{"type":"response.create","response":{"conversation":"none","metadata":{"a":"b"},"output_modalities":["text"],"parallel_tool_calls":false,"audio":{"output":{"format":{"type":"audio/pcmu"},"voice":{"id":"x"}}},"reasoning":{"effort":"low"},"input":[{"type":"item_reference","id":"i"},{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}}`, ""},
	{"create to nothing", `{"type":"response.create","response":{"conversation":"none","input":[]}}`, ""},
	{"create as in the beta", `{"type":"response.create","response":{"modalities":["text","audio"],"voice":"x","output_audio_format":"pcm16","max_response_output_tokens":7,"temperature":0.8}}`, ""},
	{"update of a transcription", `{"type":"transcription_session.update","session":{"input_audio_format":"pcm16"}}`, ""},
	{"create without tools", `{"type":"response.create","response":{"tools":[],"tool_choice":"none"}}`, ""},

	{"heard", `{"type":"riposte.heard","response_id":"r","mouth_to_ear_ms":612.5,"jitter_ms":3,"buffer_ms":40,"round_trip_ms":12,"lost_percent":0.5}`, ""},

	{"nothing", ``, "invalid_json"},
	{"a time in words", `{"type":"riposte.heard","response_id":"r","mouth_to_ear_ms":"soon"}`, "invalid_type"},
	{"no JSON", `hello`, "invalid_json"},
	{"cut off", `{"type":"response.create"`, "invalid_json"},
	{"no object", `[1,2]`, "invalid_type"},
	{"a number", `7`, "invalid_type"},
	{"no type", `{"event_id":"e"}`, "missing_required_parameter"},
	{"type of another type", `{"type":7}`, "invalid_type"},
	{"unknown", `{"type":"response.destroy"}`, "invalid_value"},
	{"no base64", `{"type":"input_audio_buffer.append","audio":"!!"}`, "invalid_value"},
	{"audio of another type", `{"type":"input_audio_buffer.append","audio":7}`, "invalid_type"},
	{"time of another type", `{"type":"conversation.item.truncate","item_id":"i","audio_end_ms":"soon"}`, "invalid_type"},
	{"a tool of another type", `{"type":"response.create","response":{"tools":[{"type":"mcp","server_url":"x"}]}}`, "invalid_value"},
	{"a tool without a type", `{"type":"response.create","response":{"tools":[{"name":"f"}]}}`, "missing_required_parameter"},
	{"a tool as of another protocol", `{"type":"response.create","response":{"tools":[{"type":"function","function":{"name":"f"}}]}}`, "unknown_parameter"},
	{"no tool", `{"type":"response.create","response":{"tools":[7]}}`, "invalid_type"},
	{"no tools", `{"type":"response.create","response":{"tools":"f"}}`, "invalid_type"},
	{"no choice", `{"type":"response.create","response":{"tool_choice":"sometimes"}}`, "invalid_value"},
	{"a choice of nothing", `{"type":"response.create","response":{"tool_choice":{"type":"function"}}}`, "invalid_value"},
	{"no tokens", `{"type":"response.create","response":{"max_output_tokens":0}}`, "invalid_value"},
}

func TestDecode(t *testing.T) {
	for _, tt := range wireCases {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := decode([]byte(tt.in))
			var wrong *wireError
			switch {
			case tt.code == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.code != "" && (!errors.As(err, &wrong) || wrong.code != tt.code):
				t.Errorf("got %#v, want the code %s", err, tt.code)
			case tt.code != "" && !strings.HasSuffix(wrong.message, "."):
				t.Errorf("the message is no sentence: %q", wrong.message)
			}
		})
	}
}

// Whatever comes, decode answers; and what it takes it takes again, the same, after having written it.
func FuzzDecode(f *testing.F) {
	for _, tt := range wireCases {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, _, err := decode(b)
		if err != nil {
			var wrong *wireError
			if !errors.As(err, &wrong) {
				t.Fatalf("%q: %#v is no fault of the wire's", b, err)
			}
			return
		}
		var head struct {
			Type string `json:"type"`
		}
		json.Unmarshal(b, &head)
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		json.Unmarshal(body, &all)
		all["type"] = head.Type
		again, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		e2, _, err := decode(again)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", b, again, err)
		}
		if u, ok := e.(*sessionUpdate); ok { // raw, and so with its own spaces
			if isNull(u.Session) != isNull(e2.(*sessionUpdate).Session) {
				t.Fatalf("%q lost its session", b)
			}
			return
		}
		if diff := cmp.Diff(e, e2, sameJSON, cmp.AllowUnexported(responseCreate{}, itemCreate{})); diff != "" {
			t.Fatalf("%q changed (-before +after):\n%s", b, diff)
		}
	})
}

// sameJSON compares JSON that is kept as it came by what it means.
var sameJSON = cmp.Transformer("JSON", func(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v) // it has been read before
	return v
})

func TestSessionUpdate(t *testing.T) {
	base := newSession(talks, "sess_1", "m", "joe", defaults())
	tests := []struct {
		name, patch string
		param       string // Of the refusal; empty when it is to be taken.
		want        func(*session)
	}{
		{"nothing changes", `{}`, "", func(*session) {}},
		{"one field", `{"instructions":"Be kind."}`, "", func(s *session) { s.Instructions = "Be kind." }},
		{"a field is cleared", `{"instructions":""}`, "", func(s *session) { s.Instructions = "" }},
		{"text", `{"output_modalities":["text"]}`, "", func(s *session) { s.Modalities = []string{"text"} }},
		{"no detection", `{"audio":{"input":{"turn_detection":null}}}`, "", func(s *session) { s.Audio.Input.TurnDetection = nil }},
		{"part of the detection", `{"audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":700}}}}`, "",
			func(s *session) { *s.Audio.Input.TurnDetection.Silence = 700 }},
		{"another detection", `{"audio":{"input":{"turn_detection":{"type":"semantic_vad","eagerness":"low"}}}}`, "",
			func(s *session) {
				low := "low"
				d := s.Audio.Input.TurnDetection
				d.Type, d.Eagerness, d.Silence = "semantic_vad", &low, nil
			}},
		{"telephone", `{"audio":{"input":{"format":{"type":"audio/pcmu"}},"output":{"format":{"type":"audio/pcma"}}}}`, "",
			func(s *session) {
				s.Audio.Input.Format, s.Audio.Output.Format = format{"audio/pcmu", 8000}, format{"audio/pcma", 8000}
			}},
		{"the beta's names", `{"audio":{"input":{"format":"g711_ulaw"}}}`, "", func(s *session) { s.Audio.Input.Format = format{"audio/pcmu", 8000} }},
		{"tokens", `{"max_output_tokens":100}`, "", func(s *session) { s.MaxOutputTokens = 100 }},
		{"a voice of the protocol's", `{"audio":{"output":{"voice":"marin"}}}`, "", func(s *session) { s.Audio.Output.Voice = "marin" }},
		{"reports", `{"include":["riposte.turn"]}`, "", func(s *session) { s.Include = []string{"riposte.turn"} }},
		{"tools", `{"tools":[{"type":"function","name":"f","description":"d"}],"tool_choice":"required","parallel_tool_calls":false}`, "", func(s *session) {
			s.Tools, s.ToolChoice, s.ParallelCalls = tools{{Type: "function", Name: "f", Description: "d"}}, "required", false
		}},
		{"the model's name", `{"model":"other"}`, "", func(s *session) { s.Model = "other" }},
		{"no model's name", `{"model":""}`, "", func(*session) {}},
		{"reduction of noise", `{"audio":{"input":{"noise_reduction":{"type":"near_field"}}}}`, "", func(s *session) {
			s.Audio.Input.NoiseReduction = json.RawMessage(`{"type":"near_field"}`)
		}},
		{"reasoning", `{"reasoning":{"effort":"low"}}`, "", func(s *session) { s.Reasoning = json.RawMessage(`{"effort":"low"}`) }},
		{"tracing", `{"tracing":"auto"}`, "", func(s *session) { s.Tracing = json.RawMessage(`"auto"`) }},
		{"a model of transcription", `{"audio":{"input":{"transcription":{"model":"gpt-4o-mini-transcribe"}}}}`, "", func(s *session) {
			s.Audio.Input.Transcription.Model = "gpt-4o-mini-transcribe"
		}},
		{"no tools", `{"tools":null,"tool_choice":null}`, "", func(*session) {}},

		{"unknown field", `{"temprature":1}`, "session.temprature", nil},
		{"unknown field deep down", `{"audio":{"input":{"formt":"x"}}}`, "session.audio.input.formt", nil},
		{"unknown field of the budget", `{"riposte":{"budget":{"foo":1}}}`, "session.riposte.budget.foo", nil},
		{"unknown field of a format", `{"audio":{"input":{"format":{"foo":1}}}}`, "session", nil},
		{"unknown format", `{"audio":{"input":{"format":{"type":"audio/opus"}}}}`, "session.audio.input.format.type", nil},
		{"another rate", `{"audio":{"output":{"format":{"type":"audio/pcm","rate":16000}}}}`, "session.audio.output.format.rate", nil},
		{"both modalities", `{"output_modalities":["text","audio"]}`, "session.output_modalities", nil},
		{"no modality", `{"output_modalities":[]}`, "session.output_modalities", nil},
		{"a long name of a model", `{"model":"` + strings.Repeat("x", maxID+1) + `"}`, "session.model", nil},
		{"another reduction of noise", `{"audio":{"input":{"noise_reduction":{"type":"all"}}}}`, "session.audio.input.noise_reduction", nil},
		{"reduction of noise in a word", `{"audio":{"input":{"noise_reduction":"near_field"}}}`, "session.audio.input.noise_reduction", nil},
		{"the ID", `{"id":"sess_2"}`, "session", nil},
		{"unknown voice", `{"audio":{"output":{"voice":"bob"}}}`, "session.audio.output.voice", nil},
		{"too fast", `{"audio":{"output":{"speed":3}}}`, "session.audio.output.speed", nil},
		{"threshold", `{"audio":{"input":{"turn_detection":{"type":"server_vad","threshold":2}}}}`, "session.audio.input.turn_detection.threshold", nil},
		{"silence", `{"audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":0}}}}`, "session.audio.input.turn_detection.silence_duration_ms", nil},
		{"eagerness", `{"audio":{"input":{"turn_detection":{"type":"semantic_vad","eagerness":"very"}}}}`, "session.audio.input.turn_detection.eagerness", nil},
		{"silence of the semantic", `{"audio":{"input":{"turn_detection":{"type":"semantic_vad","silence_duration_ms":500}}}}`, "session.audio.input.turn_detection.silence_duration_ms", nil},
		{"eagerness of silence", `{"audio":{"input":{"turn_detection":{"type":"server_vad","eagerness":"low"}}}}`, "session.audio.input.turn_detection.eagerness", nil},
		{"idle", `{"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":6000}}}}`, "", func(s *session) {
			idle := 6000
			s.Audio.Input.TurnDetection.IdleTimeout = &idle
		}},
		{"idle for too short", `{"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":10}}}}`, "session.audio.input.turn_detection.idle_timeout_ms", nil},
		{"idle for ever", `{"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":100000000}}}}`, "session.audio.input.turn_detection.idle_timeout_ms", nil},
		{"idle of the semantic", `{"audio":{"input":{"turn_detection":{"type":"semantic_vad","idle_timeout_ms":6000}}}}`, "session.audio.input.turn_detection.idle_timeout_ms", nil},
		{"no such detection", `{"audio":{"input":{"turn_detection":{"type":"psychic"}}}}`, "session.audio.input.turn_detection.type", nil},
		{"a tool's name", `{"tools":[{"type":"function","name":"of the day"}]}`, "session.tools", nil},
		{"two tools of one name", `{"tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]}`, "session.tools", nil},
		{"a tool's parameters", `{"tools":[{"type":"function","name":"f","parameters":{"properties":{"x":{"not":{}}}}}]}`, "session.tools", nil},
		{"a tool's type", `{"tools":[{"type":"mcp","server_label":"x"}]}`, "session.tools", nil},
		{"many tools", `{"tools":[` + strings.Repeat(`{"type":"function","name":"f"},`, maxTools) + `{"type":"function","name":"f"}]}`, "session.tools", nil},
		{"long tools", `{"tools":[{"type":"function","name":"f","description":"` + strings.Repeat("x", maxToolBytes) + `"}]}`, "session.tools", nil},
		{"a choice without tools", `{"tool_choice":"required"}`, "session.tool_choice", nil},
		{"a choice of another tool", `{"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}}`, "session.tool_choice", nil},
		{"another choice", `{"tool_choice":"maybe"}`, "session.tool_choice", nil},
		{"tokens below 1", `{"max_output_tokens":-5}`, "session.max_output_tokens", nil},
		{"another type", `{"instructions":7}`, "session.instructions", nil},
		{"no object", `7`, "session", nil},
		{"much of tracing", `{"tracing":{"a":"` + strings.Repeat("x", maxKept) + `"}}`, "session", nil},
		{"much of tracing and reasoning", `{"tracing":"` + strings.Repeat("x", maxKept/2) + `","reasoning":"` + strings.Repeat("x", maxKept/2) + `"}`, "session", nil},
		{"much of noise reduction", `{"audio":{"input":{"noise_reduction":{"type":"near_field","x":"` + strings.Repeat("x", maxKept) + `"}}}}`, "session", nil},
		{"truncation", `{"truncation":{"type":"retention_ratio","retention_ratio":0.5}}`, "", func(s *session) {
			half := float32(0.5)
			s.Truncation = truncation{"retention_ratio", &half}
		}},
		{"no truncation", `{"truncation":"disabled"}`, "", func(s *session) { s.Truncation.Type = "disabled" }},
		{"an unknown truncation", `{"truncation":"some"}`, "session.truncation", nil},
		{"truncation to nothing", `{"truncation":{"type":"retention_ratio","retention_ratio":0}}`, "session.truncation.retention_ratio", nil},
		{"truncation to a limit", `{"truncation":{"type":"retention_ratio","retention_ratio":0.8,"token_limits":{"post_instructions":100}}}`, "session.truncation.token_limits", nil},
		{"tracing by a group", `{"tracing":{"workflow_name":"w","group_id":"g","metadata":{"a":1}}}`, "", func(s *session) {
			s.Tracing = json.RawMessage(`{"workflow_name":"w","group_id":"g","metadata":{"a":1}}`)
		}},
		{"unknown tracing", `{"tracing":"always"}`, "session.tracing", nil},
		{"unknown reasoning", `{"reasoning":{"effort":7}}`, "session.reasoning", nil},
		{"a voice by its ID", `{"audio":{"output":{"voice":{"id":"joe"}}}}`, "", func(*session) {}},
		{"a number for a voice", `{"audio":{"output":{"voice":7}}}`, "session.audio.output.voice", nil},
		{"keywords", `{"audio":{"input":{"transcription":{"keywords":["Riposte"],"languages":["en"],"delay":"low"}}}}`, "", func(s *session) {
			tr := s.Audio.Input.Transcription
			tr.Keywords, tr.Languages, tr.Delay = []string{"Riposte"}, []string{"en"}, "low"
		}},
		{"two languages", `{"audio":{"input":{"transcription":{"languages":["en","de"]}}}}`, "session.audio.input.transcription.languages", nil},
		{"another delay", `{"audio":{"input":{"transcription":{"delay":"none"}}}}`, "session.audio.input.transcription.delay", nil},
		{"log probabilities", `{"include":["item.input_audio_transcription.logprobs"]}`, "", func(s *session) { s.Include = []string{logProbs} }},
		{"something unknown", `{"include":["item.everything"]}`, "session.include", nil},
		{"a transcription", `{"type":"transcription"}`, "session.type", nil},
		{"the beta's session", `{"modalities":["text","audio"],"voice":"marin","input_audio_format":"g711_ulaw","output_audio_format":"g711_alaw","input_audio_transcription":{"model":"whisper-1"},"turn_detection":{"type":"server_vad","silence_duration_ms":700},"max_response_output_tokens":50,"temperature":0.8}`, "",
			func(s *session) {
				s.Audio.Input.Format, s.Audio.Output.Format, s.Audio.Output.Voice = format{"audio/pcmu", 8000}, format{"audio/pcma", 8000}, "marin"
				s.Audio.Input.Transcription.Model, s.MaxOutputTokens = "whisper-1", 50
				*s.Audio.Input.TurnDetection.Silence = 700
			}},
		{"the beta's text", `{"modalities":["text"],"turn_detection":null}`, "", func(s *session) {
			s.Modalities, s.Audio.Input.TurnDetection = []string{"text"}, nil
		}},
		{"the beta's field of another type", `{"audio":7,"voice":"marin"}`, "session", nil},
		{"an event included twice", `{"include":["riposte.turn","riposte.turn"]}`, "session.include", nil},
		{"a long language", `{"audio":{"input":{"transcription":{"language":"` + strings.Repeat("x", 1000) + `"}}}}`, "session.audio.input.transcription.language", nil},
		{"a prompt", `{"prompt":{"id":"` + strings.Repeat("x", 1000) + `"}}`, "session.prompt", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := base.update(json.RawMessage(tt.patch), defaults(), "joe")
			if tt.want == nil {
				var wrong *wireError
				if !errors.As(err, &wrong) || wrong.param != tt.param {
					t.Fatalf("got %#v, want a refusal of %s", err, tt.param)
				}
				if diff := cmp.Diff(base, got, cmp.AllowUnexported(session{})); diff != "" {
					t.Errorf("a refused change changed the session:\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want, _ := base.clone()
			tt.want(&want)
			wantJSON, _ := json.Marshal(want)
			gotJSON, _ := json.Marshal(got)
			if diff := cmp.Diff(string(wantJSON), string(gotJSON)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// After detection was off it comes back with the service's own settings.
func TestDetectionComesBack(t *testing.T) {
	s := newSession(talks, "sess_1", "m", "joe", defaults())
	for _, patch := range []string{
		`{"audio":{"input":{"turn_detection":null}}}`,
		`{"audio":{"input":{"turn_detection":{"type":"server_vad","create_response":false}}}}`,
	} {
		var err error
		if s, err = s.update(json.RawMessage(patch), defaults(), "joe"); err != nil {
			t.Fatal(err)
		}
	}
	got, want := s.settings(defaults()).Detection, *defaults().Detection
	want.Respond = false
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A service that goes by what is said does so until a client asks for silence, and again when it is asked to.
func TestDetectionKinds(t *testing.T) {
	def := defaults()
	def.Detection.Silence = 0
	s := newSession(talks, "sess_1", "m", "joe", def)
	for _, step := range []struct {
		patch     string
		silence   time.Duration
		eagerness transport.Eagerness
	}{
		{`{}`, 0, ""},
		{`{"audio":{"input":{"turn_detection":{"type":"semantic_vad","eagerness":"high"}}}}`, 0, transport.High},
		{`{"audio":{"input":{"turn_detection":{"type":"semantic_vad","create_response":true}}}}`, 0, transport.High},
		{`{"audio":{"input":{"turn_detection":{"type":"server_vad"}}}}`, 500 * time.Millisecond, ""},
		{`{"audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":300}}}}`, 300 * time.Millisecond, ""},
		{`{"audio":{"input":{"turn_detection":{"type":"semantic_vad"}}}}`, 0, ""},
	} {
		var err error
		if s, err = s.update(json.RawMessage(step.patch), def, "joe"); err != nil {
			t.Fatalf("%s: %v", step.patch, err)
		}
		d := s.settings(def).Detection
		if d.Silence != step.silence || d.Eagerness != step.eagerness {
			t.Errorf("after %s: silence %v, eagerness %q, want %v and %q", step.patch, d.Silence, d.Eagerness, step.silence, step.eagerness)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, f := range []format{{"audio/pcm", 24000}, {"audio/pcmu", 8000}, {"audio/pcma", 8000}} {
		b, _ := base64.StdEncoding.DecodeString("AAECAwQFBgcICQ==")
		pcm, err := f.decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.encode(nil, pcm); string(got) != string(b) {
			t.Errorf("%s: % x became % x", f.Type, b, got)
		}
	}
	if _, err := (format{"audio/pcm", 24000}).decode([]byte{1, 2, 3}); !errors.Is(err, errOdd) {
		t.Errorf("an odd number of bytes: %v", err)
	}
}

// What is wrong is said in words that are right, and what a client has sent does not come back whole.
func TestWording(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	base := newSession(talks, "sess_1", "m", "joe", defaults())
	update := func(patch string) error { _, err := base.update(json.RawMessage(patch), defaults(), "joe"); return err }
	event := func(e string) error { _, _, err := decode([]byte(e)); return err }
	for _, tt := range []struct {
		err         error
		param, says string
	}{
		{update(`[]`), "session", "session must be an object, not a list."},
		{update(`{"audio":[]}`), "session.audio", "audio must be an object, not a list."},
		{update(`{"instructions":true}`), "session.instructions", "instructions must be a string, not true or false."},
		{update(`{"audio":{"output":{"speed":1e40}}}`), "session.audio.output.speed", "audio.output.speed is 1e40: that number is too large."},
		{update(`{"audio":{"input":{"turn_detection":{"type":"server_vad","prefix_padding_ms":1.5}}}}`),
			"session.audio.input.turn_detection.prefix_padding_ms", "audio.input.turn_detection.prefix_padding_ms must be a whole number, not 1.5."},
		{update(`{"audio":{"input":{"turn_detection":{"type":"server_vad","threshold":1e-300}}}}`),
			"session.audio.input.turn_detection.threshold", "threshold must be above 0 and at most 1, and no number that is so small that it counts as 0."},
		{update(`{"riposte":{"budget":{"foo":1}}}`), "session.riposte.budget.foo", "There is no field session.riposte.budget.foo."},
		{event(`{"type":"response.create","response":{"metadata":{"a":1}}}`), "response.metadata", "response.metadata must be an object whose values are strings."},
		{event(`[]`), "", "The event must be an object, not a list."},
		{event(`{"type":"input_audio_buffer.clear","event_id":"` + long + `"}`), "event_id", ""},
		{event(`{"type":"` + long + `"}`), "type", ""},
		{event(`{"type":"response.create","response":{"` + long + `":1}}`), "", ""},
		{update(`{"` + long + `":1}`), "", ""},
		{update(`{"output_modalities":["` + strings.Repeat(`x","`, 10_000) + `"]}`), "session.output_modalities", ""},
		{update(`{"audio":{"output":{"voice":"` + long + `"}}}`), "session.audio.output.voice", ""},
		{update(`{"max_output_tokens":"` + long + `"}`), "session.max_output_tokens", ""},
	} {
		var wrong *wireError
		if !errors.As(tt.err, &wrong) {
			t.Errorf("%v is no refusal", tt.err)
			continue
		}
		if tt.says != "" && wrong.message != tt.says || (tt.says != "" || tt.param != "") && wrong.param != tt.param {
			t.Errorf("%q says %q, want %q: %q", wrong.param, wrong.message, tt.param, tt.says)
		}
		if len(wrong.param)+len(wrong.message) > 3000 {
			t.Errorf("%.40q... comes back with %d bytes", wrong.message, len(wrong.message))
		}
	}
}
