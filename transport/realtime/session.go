package realtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"riposte/transport"
)

// session is the session object of the protocol: what a client sees and may change.
type session struct {
	Type            string          `json:"type"`
	Object          string          `json:"object"`
	ID              string          `json:"id"`
	Model           string          `json:"model"`
	ExpiresAt       int64           `json:"expires_at,omitempty"`
	Instructions    string          `json:"instructions"`
	Modalities      []string        `json:"output_modalities"`
	Audio           sessionAudio    `json:"audio"`
	Tools           tools           `json:"tools"`
	ToolChoice      toolChoice      `json:"tool_choice"`
	ParallelCalls   bool            `json:"parallel_tool_calls"`
	MaxOutputTokens tokenLimit      `json:"max_output_tokens"`
	Truncation      truncation      `json:"truncation"`
	Tracing         json.RawMessage `json:"tracing"` // Means nothing: what is kept of calls is the service's to say.
	Include         []string        `json:"include"`
	Prompt          json.RawMessage `json:"prompt"`
	Reasoning       json.RawMessage `json:"reasoning,omitempty"` // Means nothing: the model answers without.
	Riposte         *extension      `json:"riposte"`

	tooled bool // The service may run tools for the call besides.
}

type sessionAudio struct {
	Input  audioInput  `json:"input"`
	Output audioOutput `json:"output"`
}

type audioInput struct {
	Format         format          `json:"format"`
	NoiseReduction json.RawMessage `json:"noise_reduction"`
	Transcription  *transcription  `json:"transcription"`
	TurnDetection  *turnDetection  `json:"turn_detection"`
}

type audioOutput struct {
	Format format    `json:"format"`
	Voice  voiceName `json:"voice"`
	Speed  float32   `json:"speed"`
}

// transcription is how the caller's words are understood.
type transcription struct {
	Model     string   `json:"model,omitempty"`
	Language  string   `json:"language,omitempty"`
	Languages []string `json:"languages,omitempty"` // In place of language; one is as good as that.
	Prompt    string   `json:"prompt,omitempty"`
	Keywords  []string `json:"keywords,omitempty"` // Words that are likely.
	Delay     string   `json:"delay,omitempty"`    // Means nothing: words come when they are known.
}

// turnDetection is server_vad, which goes by silence alone, or semantic_vad, which goes by what is said and how. Its times
// are milliseconds.
type turnDetection struct {
	Type              string   `json:"type"`
	Eagerness         *string  `json:"eagerness,omitempty"`
	Threshold         *float32 `json:"threshold,omitempty"`
	PrefixPadding     *int     `json:"prefix_padding_ms,omitempty"`
	Silence           *int     `json:"silence_duration_ms,omitempty"`
	CreateResponse    *bool    `json:"create_response,omitempty"`
	InterruptResponse *bool    `json:"interrupt_response,omitempty"`
	IdleTimeout       *int     `json:"idle_timeout_ms,omitempty"`
}

// What a client may put into include, to be sent the events of that name; logProbs are fields of others.
const (
	turnReports = "riposte.turn"
	hypotheses  = "riposte.hypothesis"
	holds       = "riposte.hold"
	logProbs    = "item.input_audio_transcription.logprobs"
)

// voiceName is the name of a voice: a string, or an object with it as its ID.
type voiceName string

// UnmarshalJSON takes either.
func (v *voiceName) UnmarshalJSON(b []byte) error {
	var object struct {
		ID *string `json:"id"`
	}
	switch {
	case json.Unmarshal(b, (*string)(v)) == nil:
	case json.Unmarshal(b, &object) == nil && object.ID != nil:
		*v = voiceName(*object.ID)
	default:
		return invalid("audio.output.voice", "invalid_type", "voice must be a string, or an object with the voice's id.")
	}
	return nil
}

// The types of sessions. A transcription only listens.
const (
	talks   = "realtime"
	listens = "transcription"
	talkObj = "realtime.session"
	listObj = "realtime.transcription_session"
)

// voices are the names that clients of the protocol ask for without having looked. They all mean the service's own voice.
var voices = []string{"alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse"}

// Voices returns the names that clients ask for without having looked, of this protocol and of the speech endpoint.
func Voices() []string { return append(slices.Clone(voices), "fable", "nova", "onyx") }

// newSession returns the session of a type that a call begins with.
func newSession(kind, id, model, voice string, s transport.Settings) session {
	out := session{
		Type: kind, Object: talkObj, ID: id, Model: model,
		Instructions: s.Instructions, Modalities: []string{"audio"},
		Tools: tools{}, ParallelCalls: true, MaxOutputTokens: tokenLimit(s.MaxTokens), Truncation: truncation{Type: "auto"},
		Audio: sessionAudio{
			Input: audioInput{
				Format:        format{Type: "audio/pcm", Rate: PCMRate},
				Transcription: &transcription{Language: s.Language, Prompt: s.Vocabulary},
			},
			Output: audioOutput{Format: format{Type: "audio/pcm", Rate: PCMRate}, Voice: voiceName(voice), Speed: cmp.Or(s.Speed, 1)},
		},
		Riposte: &extension{},
	}
	out.Riposte.complete(s.Plan)
	if kind == listens {
		out.Object = listObj
	}
	if d := s.Detection; d != nil {
		kind := serverVAD
		if d.Silence == 0 {
			kind = semanticVAD
		}
		out.Audio.Input.TurnDetection = &turnDetection{Type: kind}
		out.Audio.Input.TurnDetection.complete(d)
	}
	return out
}

// The kinds of turn detection.
const (
	serverVAD   = "server_vad"
	semanticVAD = "semantic_vad"
)

// usualSilence is what ends a turn by silence alone if nobody says how much of it: the protocol's own 500 ms.
const usualSilence = 500 * time.Millisecond

// complete fills in what is left out.
func (t *turnDetection) complete(d *transport.Detection) {
	fill(&t.Threshold, d.Threshold)
	fill(&t.PrefixPadding, int(d.Padding.Milliseconds()))
	fill(&t.CreateResponse, d.Respond)
	fill(&t.InterruptResponse, d.Interrupt)
	switch t.Type {
	case serverVAD:
		fill(&t.Silence, int(cmp.Or(d.Silence, usualSilence).Milliseconds()))
	case semanticVAD:
		fill(&t.Eagerness, cmp.Or(string(d.Eagerness), "auto"))
	}
}

// fill gives a field a value if it has none.
func fill[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// update returns the session with the fields of the patch changed: what is absent stays as it is. defaults fills in what
// a new turn detection leaves out. The error is a *wireError, and nothing is changed.
func (s session) update(patch json.RawMessage, defaults transport.Settings, voice string) (session, error) {
	next, err := s.clone()
	if err != nil {
		return s, err
	}
	if isNull(bytes.TrimSpace(patch)) {
		return s, invalid("session", "missing_required_parameter", "session.update needs a session.")
	}
	if patch, err = modern(patch, s.Type); err != nil {
		return s, err
	}
	if s.Type == listens {
		if err := onlyListens(patch); err != nil {
			return s, err
		}
	}
	if kind := detectionOf(patch); kind != "" && next.Audio.Input.TurnDetection != nil && kind != next.Audio.Input.TurnDetection.Type {
		next.Audio.Input.TurnDetection = nil // nothing of one kind is meant for the other
	}
	d := json.NewDecoder(bytes.NewReader(patch))
	d.DisallowUnknownFields()
	err = d.Decode(&next)
	if _, ok := unknownField(err); ok {
		if path := unknownPath(reflect.TypeFor[session](), patch); path != "" {
			return s, invalid("session."+path, "unknown_parameter", "There is no field session.%.100s.", path)
		}
	}
	if err != nil {
		return s, badSession(err)
	}
	if next.Tools == nil {
		next.Tools = tools{}
	}
	next.Model = cmp.Or(next.Model, s.Model)
	next.tooled = defaults.Tooled
	if err := next.validate(s, voice); err != nil {
		return s, err
	}
	if next.Riposte == nil {
		next.Riposte = &extension{}
	}
	next.Riposte.complete(defaults.Plan)
	if d := next.Audio.Input.TurnDetection; d != nil && defaults.Detection != nil {
		d.complete(defaults.Detection)
	}
	return next, nil
}

// unknownPath returns where in an object there is a field that its type does not have; empty where it cannot be found. What reads itself
// says so itself.
func unknownPath(t reflect.Type, raw json.RawMessage) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var object map[string]json.RawMessage
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, ok := t.FieldByNameFunc(func(name string) bool {
			f, _ := t.FieldByName(name)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return strings.EqualFold(tag, key)
		})
		if !ok {
			return key
		}
		if below := unknownPath(field.Type, object[key]); below != "" {
			return key + "." + below
		}
	}
	return ""
}

// clone returns a copy that shares nothing with s.
func (s session) clone() (session, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the model reads the tools' parameters as they are written
	if err := e.Encode(s); err != nil {
		return s, err
	}
	var out session
	return out, json.Unmarshal(b.Bytes(), &out)
}

// validate says what of a changed session cannot be had. old is the session before the change.
func (s session) validate(old session, voice string) error {
	if s.ID != old.ID || s.Object != old.Object || s.ExpiresAt != old.ExpiresAt {
		return invalid("session", "invalid_value", "id, object and expires_at of a session cannot be changed.")
	}
	if s.Type != talks && s.Type != listens {
		return invalid("session.type", "invalid_value", "session.type is %.64q; this service offers %q and %q.", s.Type, talks, listens)
	}
	if s.Type != old.Type {
		return invalid("session.type", "invalid_value", "This session is of the type %q, and stays so. For the other one connect anew: with ?intent=transcription for transcriptions, without it to talk.", old.Type)
	}
	if len(s.Model) > maxID && s.Model != old.Model {
		return invalid("session.model", "invalid_value", "The model's name has %d bytes; it may have %d.", len(s.Model), maxID)
	}
	if err := validModalities("session.output_modalities", s.Modalities); err != nil {
		return err
	}
	if err := validInstructions("session.instructions", s.Instructions); err != nil {
		return err
	}
	if err := s.Audio.Input.Transcription.validate(); err != nil {
		return err
	}
	if s.MaxOutputTokens < 0 || s.MaxOutputTokens > maxTokens {
		return invalid("session.max_output_tokens", "invalid_value", "max_output_tokens is %d; it must be 1 to %d or \"inf\".", s.MaxOutputTokens, maxTokens)
	}
	if err := validTools("session", s.Tools, s.ToolChoice, s.tooled); err != nil {
		return err
	}
	if !isNull(s.Prompt) {
		return invalid("session.prompt", "invalid_value", "This service keeps no prompts: put the text into session.instructions.")
	}
	for i, inc := range s.Include {
		if inc != turnReports && inc != hypotheses && inc != holds && inc != logProbs {
			return invalid("session.include", "invalid_value", "session.include holds %.64q; this service can include %q, %q, %q and %q.",
				inc, logProbs, turnReports, hypotheses, holds)
		}
		if slices.Contains(s.Include[:i], inc) {
			return invalid("session.include", "invalid_value", "session.include holds %q twice; each event is included once.", inc)
		}
	}
	if err := s.validKept(); err != nil {
		return err
	}
	if err := s.Riposte.validate(old.Riposte); err != nil {
		return err
	}
	return s.Audio.validate(old.Audio, voice)
}

// validKept bounds what is taken by habit, means nothing, and goes back to the client with each session.updated.
func (s session) validKept() error {
	size := 0
	for _, kept := range []json.RawMessage{s.Tracing, s.Reasoning, s.Audio.Input.NoiseReduction} {
		size += len(kept)
	}
	if size > maxKept {
		return invalid("session", "invalid_value", "tracing, reasoning and noise_reduction have %d bytes; together they may have %d. This service makes nothing of them.", size, maxKept)
	}
	if err := validTracing(s.Tracing); err != nil {
		return err
	}
	return validReasoning("session.reasoning", s.Reasoning)
}

// detectionOf returns the kind of turn detection that a patch asks for; empty when it leaves that as it is.
func detectionOf(patch json.RawMessage) string {
	var p struct {
		Audio struct {
			Input struct {
				TurnDetection struct {
					Type string `json:"type"`
				} `json:"turn_detection"`
			} `json:"input"`
		} `json:"audio"`
	}
	_ = json.Unmarshal(patch, &p) // what is wrong with it is found out when it is applied
	return p.Audio.Input.TurnDetection.Type
}

func (a sessionAudio) validate(old sessionAudio, voice string) error {
	for param, f := range map[string]format{"session.audio.input.format": a.Input.Format, "session.audio.output.format": a.Output.Format} {
		if err := f.validate(param); err != nil {
			return err
		}
	}
	if err := validReduction(a.Input.NoiseReduction); err != nil {
		return err
	}
	if o := a.Output; o.Speed != old.Output.Speed && (o.Speed < 0.25 || o.Speed > 1.5) {
		return invalid("session.audio.output.speed", "invalid_value", "speed is %v; it must be 0.25 to 1.5.", o.Speed)
	}
	if v := a.Output.Voice; v != old.Output.Voice {
		if err := validVoice("session.audio.output.voice", string(v), voice); err != nil {
			return err
		}
	}
	d := a.Input.TurnDetection
	if d == nil {
		return nil
	}
	const param = "session.audio.input.turn_detection"
	switch {
	case d.Type != serverVAD && d.Type != semanticVAD:
		return invalid(param+".type", "invalid_value", "turn_detection is %.64q; this service offers %q, %q, and null for turns that the client commits.",
			d.Type, serverVAD, semanticVAD)
	case d.Type == serverVAD && d.Eagerness != nil:
		return invalid(param+".eagerness", "invalid_value", "eagerness is for semantic_vad; server_vad has silence_duration_ms.")
	case d.Type == semanticVAD && d.Silence != nil:
		return invalid(param+".silence_duration_ms", "invalid_value", "silence_duration_ms is for server_vad; semantic_vad has eagerness.")
	case d.Eagerness != nil && !slices.Contains([]string{"low", "medium", "high", "auto"}, *d.Eagerness):
		return invalid(param+".eagerness", "invalid_value", "eagerness is %.64q; it must be low, medium, high or auto.", *d.Eagerness)
	case d.Threshold != nil && *d.Threshold == 0:
		return invalid(param+".threshold", "invalid_value", "threshold must be above 0 and at most 1, and no number that is so small that it counts as 0.")
	case d.Threshold != nil && (*d.Threshold <= 0 || *d.Threshold > 1):
		return invalid(param+".threshold", "invalid_value", "threshold is %v; it must be above 0 and at most 1.", *d.Threshold)
	case d.PrefixPadding != nil && (*d.PrefixPadding < 0 || *d.PrefixPadding > 5000):
		return invalid(param+".prefix_padding_ms", "invalid_value", "prefix_padding_ms is %d; it must be 0 to 5000.", *d.PrefixPadding)
	case d.Silence != nil && (*d.Silence < 100 || *d.Silence > 10000):
		return invalid(param+".silence_duration_ms", "invalid_value", "silence_duration_ms is %d; it must be 100 to 10000.", *d.Silence)
	case d.IdleTimeout != nil && d.Type != serverVAD:
		return invalid(param+".idle_timeout_ms", "invalid_value", "idle_timeout_ms is for server_vad.")
	case d.IdleTimeout != nil && (*d.IdleTimeout < 1000 || *d.IdleTimeout > 300000):
		return invalid(param+".idle_timeout_ms", "invalid_value", "idle_timeout_ms is %d; it must be 1000 to 300000, or null for none.", *d.IdleTimeout)
	}
	return nil
}

// validVoice takes the service's own voice, and the names that mean the same.
func validVoice(param, v, voice string) error {
	if v == voice || slices.Contains(voices, v) {
		return nil
	}
	return invalid(param, "invalid_value", "The voice %.64q is not known. This service speaks with %q; the names %s mean the same.",
		v, voice, strings.Join(voices, ", "))
}

// validReduction takes the kinds of noise reduction that clients ask for by habit. Either means the same: sound is heard as it comes.
func validReduction(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var asked struct {
		Type     string   `json:"type"`
		Strength *float64 `json:"strength"`
	}
	if err := json.Unmarshal(raw, &asked); err != nil || asked.Type != "near_field" && asked.Type != "far_field" {
		return invalid("session.audio.input.noise_reduction", "invalid_value", "noise_reduction must be null or have the type near_field or far_field. This service reduces no noise with either.")
	}
	return nil
}

// settings returns what the session means for the pipeline, over the service's own settings.
func (s session) settings(defaults transport.Settings) transport.Settings {
	out := defaults
	out.Instructions = s.Instructions
	out.Written = slices.Contains(s.Modalities, "text")
	out.Holds = slices.Contains(s.Include, holds)
	out.MaxTokens, out.Whole, out.Keep = int(s.MaxOutputTokens), s.Truncation.Type == "disabled", s.Truncation.keep()
	out.Tools, out.Choice, out.OneCall = s.Tools.offered(), s.ToolChoice.choice(), !s.ParallelCalls
	out.Servers = s.Tools.servers()
	out.Rate, out.Encoding = s.Audio.Output.Format.Rate, s.Audio.Output.Format.Type
	out.Speed = s.Audio.Output.Speed
	out.Plan = s.Riposte.plan()
	if t := s.Audio.Input.Transcription; t != nil {
		out.Language, out.Vocabulary = t.language(), t.vocabulary()
	}
	if s.Type == listens {
		out.Listens, out.Instructions, out.Tools, out.Servers = true, "", nil, nil
	}
	out.Detection = nil
	if d := s.Audio.Input.TurnDetection; d != nil {
		out.Detection = &transport.Detection{
			Threshold: *d.Threshold,
			Padding:   time.Duration(*d.PrefixPadding) * time.Millisecond,
			Respond:   *d.CreateResponse,
			Interrupt: *d.InterruptResponse,
		}
		out.Detection.Respond = out.Detection.Respond && s.Type != listens
		if d.Silence != nil {
			out.Detection.Silence = time.Duration(*d.Silence) * time.Millisecond
		}
		if d.IdleTimeout != nil {
			out.Detection.Idle = time.Duration(*d.IdleTimeout) * time.Millisecond
		}
		if d.Eagerness != nil && *d.Eagerness != "auto" {
			out.Detection.Eagerness = transport.Eagerness(*d.Eagerness)
		}
	}
	return out
}

// The longest texts that a session may bring. Models read far less; these only keep memory bounded.
const (
	maxInstructions = 64 << 10
	maxPrompt       = 4 << 10
	maxKept         = 4 << 10
	maxLanguage     = 35 // As the longest tags of languages that anybody is asked to take (RFC 5646).
)

// maxTokens is the longest answer that a client may ask for, in tokens, as the protocol has it.
const maxTokens = 4096

func validInstructions(param, text string) error {
	if len(text) > maxInstructions {
		return invalid(param, "invalid_value", "The instructions have %d bytes; they may have %d.", len(text), maxInstructions)
	}
	return nil
}

func validModalities(param string, m []string) error {
	if len(m) == 1 && (m[0] == "audio" || m[0] == "text") {
		return nil
	}
	return invalid(param, "invalid_value", "%s is %.64q; it must be [\"audio\"] or [\"text\"].", param, m)
}

// badSession says what is wrong with a session that encoding/json does not take.
func badSession(err error) *wireError {
	if field, ok := unknownField(err); ok {
		return invalid("session", "unknown_parameter", "The session has no field %.64q.", field)
	}
	e := misread("session", err)
	if e.param == "" && e.code == "invalid_type" {
		e.param = "session"
	}
	if e.param != "" && !strings.HasPrefix(e.param, "session") {
		e.param = "session." + e.param
	}
	return e
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// tokenLimit is a number of tokens, or "inf", which is 0 here.
type tokenLimit int

// UnmarshalJSON takes a number of at least 1, or "inf".
func (l *tokenLimit) UnmarshalJSON(b []byte) error {
	if string(b) == `"inf"` {
		*l = 0
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil || n < 1 {
		return invalid("max_output_tokens", "invalid_value", "max_output_tokens is %.64s; it must be 1 to 4096 or \"inf\".", b)
	}
	*l = tokenLimit(n)
	return nil
}

// MarshalJSON writes 0 as "inf".
func (l tokenLimit) MarshalJSON() ([]byte, error) {
	if l == 0 {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(int(l))
}
