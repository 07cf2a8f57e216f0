package realtime

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxKeywords is how many words may be named that are likely.
const maxKeywords = 100

// validate says what of it cannot be had. nil can.
func (t *transcription) validate() error {
	const of = "session.audio.input.transcription"
	if t == nil {
		return nil
	}
	size := len(t.Prompt) + len(t.Model)
	for _, k := range t.Keywords {
		size += len(k)
	}
	switch {
	case size > maxPrompt:
		return invalid(of, "invalid_value", "The prompt, the keywords and the model's name have %d bytes; they may have %d.", size, maxPrompt)
	case len(t.Keywords) > maxKeywords:
		return invalid(of+".keywords", "invalid_value", "There are %d keywords; there may be %d.", len(t.Keywords), maxKeywords)
	case len(t.Language) > maxLanguage:
		return invalid(of+".language", "invalid_value", "The language's code has %d bytes; it may have %d, such as \"en\".", len(t.Language), maxLanguage)
	case len(t.Languages) > 1:
		return invalid(of+".languages", "invalid_value", "There are %d languages; this recogniser takes one, or finds it out where none is named.", len(t.Languages))
	case len(t.Languages) == 1 && len(t.Languages[0]) > maxLanguage:
		return invalid(of+".languages", "invalid_value", "The language's code has %d bytes; it may have %d, such as \"en\".", len(t.Languages[0]), maxLanguage)
	case t.Delay != "" && !slices.Contains([]string{"minimal", "low", "medium", "high", "xhigh"}, t.Delay):
		return invalid(of+".delay", "invalid_value", "delay is %.64q; it must be minimal, low, medium, high or xhigh. All mean the same here.", t.Delay)
	}
	return nil
}

// language is what the caller speaks; empty where that is to be found out.
func (t *transcription) language() string {
	if len(t.Languages) == 1 {
		return t.Languages[0]
	}
	return t.Language
}

// vocabulary is what the recogniser is told of likely words.
func (t *transcription) vocabulary() string {
	return strings.Join(append(slices.DeleteFunc([]string{t.Prompt}, func(p string) bool { return p == "" }), t.Keywords...), ", ")
}

// shown is what a client is shown of the session: of a transcription what it can have.
func (s session) shown() any {
	if s.Type != listens {
		s.Tools = s.Tools.shown()
		return s
	}
	in := s.Audio.Input
	if in.TurnDetection != nil {
		d := *in.TurnDetection
		d.CreateResponse, d.InterruptResponse = nil, nil
		in.TurnDetection = &d
	}
	include := slices.DeleteFunc(slices.Clone(s.Include), func(i string) bool { return i == turnReports || i == holds })
	return fields{
		"type": s.Type, "object": s.Object, "id": s.ID, "expires_at": s.ExpiresAt, "audio": fields{"input": in}, "include": append([]string{}, include...),
	}
}

// onlyListens refuses fields of a session that a transcription does not have.
func onlyListens(patch json.RawMessage) error {
	var p map[string]json.RawMessage
	if json.Unmarshal(patch, &p) != nil {
		return nil // what is no object is refused later
	}
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains([]string{"type", "object", "id", "expires_at", "audio", "include"}, k) {
			return invalid("session."+k, "unknown_parameter", "A transcription session has no field %.64q: it has audio.input and include.", k)
		}
	}
	var audio map[string]json.RawMessage
	if json.Unmarshal(p["audio"], &audio) != nil {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(audio)) {
		if k != "input" {
			return invalid("session.audio."+k, "unknown_parameter", "A transcription session has no field audio.%.64s: it says nothing.", k)
		}
	}
	return nil
}
