package realtime

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// The protocol had a beta, whose names many clients still say. They are taken from everybody, as aliases; events in the beta's form go only to
// clients that ask for it.

// betaSession says where in a session a field of the beta's belongs; empty for what means nothing any more.
var betaSession = map[string]string{
	"modalities":                  "output_modalities",
	"voice":                       "audio.output.voice",
	"speed":                       "audio.output.speed",
	"input_audio_format":          "audio.input.format",
	"output_audio_format":         "audio.output.format",
	"input_audio_transcription":   "audio.input.transcription",
	"input_audio_noise_reduction": "audio.input.noise_reduction",
	"turn_detection":              "audio.input.turn_detection",
	"max_response_output_tokens":  "max_output_tokens",
	"temperature":                 "",
	"client_secret":               "",
}

// betaResponse is the same for what one answer may do differently.
var betaResponse = map[string]string{
	"modalities":                 "output_modalities",
	"voice":                      "audio.output.voice",
	"output_audio_format":        "audio.output.format",
	"max_response_output_tokens": "max_output_tokens",
	"temperature":                "",
}

// betaListener is betaSession for a transcription, which says nothing, in no modality.
var betaListener = func() map[string]string {
	m := maps.Clone(betaSession)
	m["modalities"] = ""
	return m
}()

// modern returns a session of a type with the beta's fields where they belong now.
func modern(patch json.RawMessage, kind string) (json.RawMessage, error) {
	if kind == listens {
		return rename(patch, betaListener)
	}
	return rename(patch, betaSession)
}

// rename moves fields of an object. One that is there under its new name as well gives way to that.
func rename(raw json.RawMessage, names map[string]string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw, nil // what is no object is refused later
	}
	moved := false
	for old, path := range names {
		value, ok := object[old]
		if !ok {
			continue
		}
		moved = true
		delete(object, old)
		if old == "modalities" {
			value = modality(value)
		}
		if path != "" {
			if err := place(object, strings.Split(path, "."), value); err != nil {
				return nil, err
			}
		}
	}
	if !moved {
		return raw, nil
	}
	return json.Marshal(object)
}

// place puts a value into an object, at a path.
func place(object map[string]json.RawMessage, path []string, value json.RawMessage) error {
	here, there := object[path[0]], len(path) == 1
	if there {
		if here == nil {
			object[path[0]] = value
		}
		return nil
	}
	below := map[string]json.RawMessage{}
	if !isNull(here) {
		if err := json.Unmarshal(here, &below); err != nil {
			return badSession(err)
		}
	}
	if err := place(below, path[1:], value); err != nil {
		return err
	}
	b, err := json.Marshal(below)
	object[path[0]] = b
	return err
}

// modality makes one of the beta's modalities, which were text, or text and audio.
func modality(raw json.RawMessage) json.RawMessage {
	var all []string
	if json.Unmarshal(raw, &all) != nil || len(all) != 2 || all[0]+all[1] != "textaudio" && all[0]+all[1] != "audiotext" {
		return raw
	}
	return json.RawMessage(`["audio"]`)
}

// wantsBeta reports whether a client asks for the beta's events, by header or, from a browser, by subprotocol.
func wantsBeta(r *http.Request) bool {
	return strings.Contains(r.Header.Get("OpenAI-Beta"), "realtime=v1") ||
		strings.Contains(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), "openai-beta.realtime-v1")
}

// betaEvents are the names that events had in the beta; empty for those that it had not.
var betaEvents = map[string]string{
	"response.output_audio.delta":            "response.audio.delta",
	"response.output_audio.done":             "response.audio.done",
	"response.output_audio_transcript.delta": "response.audio_transcript.delta",
	"response.output_audio_transcript.done":  "response.audio_transcript.done",
	"response.output_text.delta":             "response.text.delta",
	"response.output_text.done":              "response.text.done",
	"conversation.item.added":                "conversation.item.created",
	"conversation.item.done":                 "",
}

// frequent begins the one event that is not worth reading anew.
var frequent = []byte(`{"type":"response.output_audio.delta"`)

// old returns an event as the beta had it; nil if it had none.
func old(event []byte) []byte {
	if rest, ok := bytes.CutPrefix(event, frequent); ok {
		return append([]byte(`{"type":"response.audio.delta"`), rest...)
	}
	var e map[string]any
	d := json.NewDecoder(bytes.NewReader(event))
	d.UseNumber()
	if d.Decode(&e) != nil {
		return event // our own events are JSON
	}
	kind, _ := e["type"].(string)
	if name, ok := betaEvents[kind]; ok {
		if name == "" {
			return nil
		}
		e["type"] = name
	}
	if s, ok := e["session"].(map[string]any); ok {
		if s["type"] == listens {
			e["type"] = "transcription_" + kind
		}
		e["session"] = oldSession(s)
	}
	if it, ok := e["item"].(map[string]any); ok {
		oldItem(it)
	}
	if r, ok := e["response"].(map[string]any); ok {
		oldResponse(r)
	}
	if kind == "response.function_call_arguments.done" {
		delete(e, "name")
	}
	b, err := json.Marshal(e)
	if err != nil {
		return event
	}
	return b
}

// oldSession writes a session flat.
func oldSession(s map[string]any) map[string]any {
	at := func(path ...string) any { return dig(s, path...) }
	flat := map[string]any{
		"id": s["id"], "object": s["object"], "input_audio_format": oldFormat(at("audio", "input", "format")),
		"input_audio_transcription": at("audio", "input", "transcription"), "turn_detection": at("audio", "input", "turn_detection"),
	}
	if n := at("audio", "input", "noise_reduction"); n != nil {
		flat["input_audio_noise_reduction"] = n
	}
	if s["type"] == listens {
		return flat
	}
	for _, k := range []string{"model", "instructions", "tools", "tool_choice", "expires_at", "tracing"} {
		flat[k] = s[k]
	}
	flat["modalities"], flat["max_response_output_tokens"] = oldModalities(s["output_modalities"]), s["max_output_tokens"]
	flat["output_audio_format"] = oldFormat(at("audio", "output", "format"))
	flat["voice"], flat["speed"] = at("audio", "output", "voice"), at("audio", "output", "speed")
	return flat
}

func oldResponse(r map[string]any) {
	r["modalities"] = oldModalities(r["output_modalities"])
	r["voice"], r["output_audio_format"] = dig(r, "audio", "output", "voice"), oldFormat(dig(r, "audio", "output", "format"))
	if in, ok := dig(r, "usage", "input_token_details").(map[string]any); ok {
		delete(in, "image_tokens")
		delete(in, "cached_tokens_details")
	}
	delete(r, "output_modalities")
	delete(r, "audio")
	output, _ := r["output"].([]any)
	for _, it := range output {
		if it, ok := it.(map[string]any); ok {
			oldItem(it)
		}
	}
}

func oldItem(it map[string]any) {
	parts, _ := it["content"].([]any)
	for _, p := range parts {
		if p, ok := p.(map[string]any); ok {
			if kind, ok := p["type"].(string); ok {
				p["type"] = strings.TrimPrefix(kind, "output_")
			}
		}
	}
}

func oldModalities(m any) any {
	if all, ok := m.([]any); ok && len(all) == 1 && all[0] == "audio" {
		return []string{"text", "audio"}
	}
	return m
}

// oldFormat returns the name that a format had.
func oldFormat(f any) any {
	for name, kind := range formatAliases {
		if f, ok := f.(map[string]any); ok && f["type"] == kind {
			return name
		}
	}
	return f
}

// dig returns what lies at a path of an object; nil where nothing does.
func dig(object map[string]any, path ...string) any {
	var at any = object
	for _, p := range path {
		below, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = below[p]
	}
	return at
}
