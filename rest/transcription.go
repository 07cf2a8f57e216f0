package rest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"riposte/audio"
	"riposte/llm"
	"riposte/stt"
)

// transcribe answers POST /v1/audio/transcriptions.
func (s *Server) transcribe(x *exchange) error { return s.write(x, "transcribe") }

// translate answers POST /v1/audio/translations.
func (s *Server) translate(x *exchange) error { return s.write(x, "translate") }

// write writes down a recording.
func (s *Server) write(x *exchange, task string) error {
	u, err := s.readUpload(x)
	if err != nil {
		return err
	}
	route, set, err := s.find(x, u.value("model"), s.Models.STT)
	if err != nil {
		return err
	}
	q, err := s.transcriptionOf(u, task, set)
	if err != nil {
		return err
	}
	release, err := s.Admit()
	if err != nil {
		return err
	}
	defer release()
	if err := s.speaks(route, q.Language); err != nil { // what the recogniser knows is known when there is one
		return err
	}
	engines := s.Engines(route)
	sound, err := s.recording(x.ctx, engines.Cores, u)
	if err != nil {
		return err
	}
	x.heard(sound, audio.SpeechRate)
	t := transcript{task: task, language: q.Language, length: sound.Duration(audio.SpeechRate), sure: q.sure}
	for segment, err := range stt.Write(x.ctx, engines.STT, sound, q.Recording) {
		switch {
		case errors.Is(err, stt.ErrTranslate):
			return unsupported("model", "The recogniser %s does not translate. A multilingual Whisper does: the setting stt.model may name one, such as whisper-base.", s.Models.STT)
		case errors.Is(err, stt.ErrWords):
			return unsupported("timestamp_granularities", "The recogniser %s does not know when words are said: ask for segments alone.", s.Models.STT)
		case err != nil:
			return err
		case q.sure && segment.Text != "" && len(segment.Pieces) == 0:
			return unsupported("include", "The recogniser %s does not say how sure it is: leave out include.", s.Models.STT)
		}
		x.came()
		delta := t.add(segment)
		if q.stream && delta != "" {
			if err := x.event("", t.withOdds(map[string]any{"type": "transcript.text.delta", "delta": delta}, segment)); err != nil {
				return err
			}
		}
	}
	if q.stream {
		return x.event("", t.withOdds(map[string]any{"type": "transcript.text.done", "text": t.text(), "usage": t.usage()}, t.segments...))
	}
	return q.tell(x, &t)
}

// transcription is what is asked for.
type transcription struct {
	stt.Recording
	format string
	stream bool
	sure   bool            // How likely each token was is said as well.
	parts  map[string]bool // What verbose_json says: of segments, of words.
}

// transcriptionOf reads a form.
func (s *Server) transcriptionOf(u upload, task string, set Route) (q transcription, err error) {
	q.format = u.value("response_format")
	switch q.format {
	case "":
		q.format = "json"
	case "json", "text", "srt", "vtt", "verbose_json":
	default:
		return q, wrong("response_format", "response_format is %s; it can be json, text, srt, verbose_json or vtt.", quoted(q.format))
	}
	if q.stream, err = u.flag("stream"); err != nil {
		return q, err
	}
	if q.stream && q.format != "json" && q.format != "text" {
		return q, unsupported("stream", "Only json and text can be streamed: leave out response_format.")
	}
	if q.stream && task == "translate" {
		return q, unsupported("stream", "Translations are not streamed.")
	}
	temperature, err := u.number("temperature", 0, 1)
	if err != nil {
		return q, err
	}
	if temperature != 0 {
		return q, unsupported("temperature", "temperature is %v; this recogniser always takes the likeliest words: leave it out, or set it to 0.", temperature)
	}
	for _, asked := range u.list("include") {
		switch {
		case asked != "logprobs":
			return q, wrong("include", "include has %s; it can have logprobs.", quoted(asked))
		case task == "translate":
			return q, unsupported("include", "Of translations it is not said how sure the recogniser is: leave out include.")
		case q.format != "json":
			return q, wrong("include", "include goes with the response_format json only.")
		}
		q.sure = true
	}
	if err := q.granularity(u.list("timestamp_granularities")); err != nil {
		return q, err
	}
	q.Recording = stt.Recording{
		Language: u.value("language"), Prompt: u.value("prompt"), Translate: task == "translate", Words: q.parts["word"], Urgency: background,
	}
	if q.Language == "" && task == "transcribe" {
		q.Language = set.Language
	}
	return q, nil
}

// granularity reads what is to have times.
func (q *transcription) granularity(asked []string) error {
	q.parts = map[string]bool{}
	for _, g := range asked {
		if g != "word" && g != "segment" {
			return wrong("timestamp_granularities", "timestamp_granularities has %s; it can have word and segment.", quoted(g))
		}
		if q.format != "verbose_json" {
			return wrong("timestamp_granularities", "timestamp_granularities goes with the response_format verbose_json only.")
		}
		q.parts[g] = true
	}
	if len(q.parts) == 0 {
		q.parts["segment"] = true
	}
	return nil
}

// speaks refuses a language that the recogniser does not know.
func (s *Server) speaks(route, code string) error {
	if code == "" || s.Language == nil || s.Language(route, code) {
		return nil
	}
	return wrong("language", "language is %s, which this recogniser does not know. It is an ISO 639-1 code, such as en; the setting stt.model may name a multilingual Whisper, such as whisper-base.", quoted(code))
}

// transcript is what was heard so far.
type transcript struct {
	task     string
	language string
	length   time.Duration
	sure     bool // How likely each token was is said as well.
	segments []stt.Segment
}

// withOdds adds to what is said of segments how likely each of their tokens was, where that is asked for.
func (t *transcript) withOdds(said map[string]any, segments ...stt.Segment) map[string]any {
	if !t.sure {
		return said
	}
	var tokens []llm.Token
	for _, s := range segments {
		for _, p := range s.Pieces {
			tokens = append(tokens, llm.Token{Text: p.Text, LogProb: p.LogProb})
		}
	}
	said["logprobs"] = oddsOf(tokens)
	return said
}

// add takes the next segment, and returns what the text grows by.
func (t *transcript) add(s stt.Segment) string {
	if s.Text == "" {
		return ""
	}
	if t.language == "" {
		t.language = s.Language
	}
	t.segments = append(t.segments, s)
	if len(t.segments) > 1 {
		return " " + s.Text
	}
	return s.Text
}

// text is all of it.
func (t *transcript) text() string {
	var all []string
	for _, s := range t.segments {
		all = append(all, s.Text)
	}
	return strings.Join(all, " ")
}

// usage says what was listened to.
func (t *transcript) usage() any {
	return map[string]any{"type": "duration", "seconds": int(math.Ceil(t.length.Seconds()))}
}

// languageName is what OpenAI calls a language: its English name.
func languageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return code
	}
	return strings.ToLower(display.English.Languages().Name(tag))
}

// tell sends the whole transcript in the form that is asked for.
func (q transcription) tell(x *exchange, t *transcript) error {
	switch q.format {
	case "text":
		return x.whole("text/plain; charset=utf-8", []byte(t.text()+"\n"))
	case "srt":
		return x.whole("text/plain; charset=utf-8", []byte(t.srt()))
	case "vtt":
		return x.whole("text/vtt; charset=utf-8", []byte(t.vtt()))
	case "verbose_json":
		return x.reply(t.verbose(q.parts))
	}
	return x.reply(t.withOdds(map[string]any{"text": t.text(), "usage": t.usage()}, t.segments...))
}

// subtitle writes a time as subtitles have it, with a mark before the milliseconds.
func subtitle(d time.Duration, mark string) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3600000, ms/60000%60, ms/1000%60, mark, ms%1000)
}

func (t *transcript) srt() string {
	var b strings.Builder
	for i, s := range t.segments {
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, subtitle(s.From, ","), subtitle(s.To, ","), s.Text)
	}
	return b.String()
}

func (t *transcript) vtt() string {
	var b strings.Builder
	b.WriteString("WEBVTT\n\n")
	for _, s := range t.segments {
		// A text with an arrow in it would be taken for a time.
		fmt.Fprintf(&b, "%s --> %s\n%s\n\n", subtitle(s.From, "."), subtitle(s.To, "."), strings.ReplaceAll(s.Text, "-->", "->"))
	}
	return b.String()
}
