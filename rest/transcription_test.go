package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

const transcriptions, translations = "/v1/audio/transcriptions", "/v1/audio/translations"

// wav is a file of two seconds at 8 kHz.
func wav() []byte {
	b := wavHeader(8000)
	return append(b, make([]byte, 2*2*8000)...)
}

// form writes a form of pairs of names and values, and a file.
func form(file []byte, fields ...string) (body, kind string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if file != nil {
		f, _ := w.CreateFormFile("file", "speech.wav")
		_, _ = f.Write(file)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func send(t testing.TB, s *Server, path string, file []byte, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	body, kind := form(file, append([]string{"model", "whisper"}, fields...)...)
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// writing is a recogniser that hears two sentences.
func writing() *ear {
	word := func(text string, from, to int) stt.Word {
		return stt.Word{Text: text, From: time.Duration(from) * time.Millisecond, To: time.Duration(to) * time.Millisecond}
	}
	return &ear{segments: []stt.Segment{
		{From: 120 * time.Millisecond, To: 900 * time.Millisecond, Text: "Hello there.", Language: "en", Tokens: []int{1, 2, 3}, LogProb: -0.25, NoSpeech: 0.125,
			Words: []stt.Word{word("Hello", 120, 500), word("there.", 500, 900)}},
		{From: 3661 * time.Second, To: 3662*time.Second + 5*time.Millisecond, Text: "Bye --> now.", Language: "en", Words: []stt.Word{word("Bye", 3661000, 3661500), word("now.", 3661500, 3662005)}},
	}}
}

func TestTranscription(t *testing.T) {
	for format, want := range map[string]string{
		"":     `{"text":"Hello there. Bye --\u003e now.","usage":{"seconds":2,"type":"duration"}}` + "\n",
		"json": `{"text":"Hello there. Bye --\u003e now.","usage":{"seconds":2,"type":"duration"}}` + "\n",
		"text": "Hello there. Bye --> now.\n",
		"srt":  "1\n00:00:00,120 --> 00:00:00,900\nHello there.\n\n2\n01:01:01,000 --> 01:01:02,005\nBye --> now.\n\n",
		"vtt":  "WEBVTT\n\n00:00:00.120 --> 00:00:00.900\nHello there.\n\n01:01:01.000 --> 01:01:02.005\nBye -> now.\n\n",
	} {
		e := writing()
		fields := []string{"prompt", "Riposte", "language", "en"}
		if format != "" {
			fields = append(fields, "response_format", format)
		}
		w := send(t, server(Engines{STT: e}), transcriptions, wav(), fields...)
		if got := w.Body.String(); w.Code != 200 || got != want {
			t.Errorf("%s: %d %q", format, w.Code, got)
		}
		if e.heard != 2*audio.SpeechRate || e.asked != (stt.Recording{Language: "en", Prompt: "Riposte", Urgency: background}) {
			t.Errorf("%s: the recogniser was asked %+v, of %d samples", format, e.asked, e.heard)
		}
	}
}

func TestTranscriptionVerbose(t *testing.T) {
	e := writing()
	w := send(t, server(Engines{STT: e}), transcriptions, wav(), "response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	o := object(t, w.Body.Bytes())
	if at(t, o, "task") != "transcribe" || at(t, o, "language") != "english" || at(t, o, "duration") != 2. || !e.asked.Words {
		t.Errorf("%s", w.Body)
	}
	s := at(t, o, "segments", 0)
	if at(t, s, "id") != 0. || at(t, s, "seek") != 12. || at(t, s, "start") != 0.12 || at(t, s, "end") != 0.9 || at(t, s, "avg_logprob") != -0.25 || at(t, s, "no_speech_prob") != 0.125 || at(t, s, "tokens", 2) != 3. {
		t.Errorf("the segment is %v", s)
	}
	if word := at(t, o, "words", 1); at(t, word, "word") != "there." || at(t, word, "start") != 0.5 || at(t, word, "end") != 0.9 {
		t.Errorf("the word is %v", word)
	}
	o = object(t, send(t, server(Engines{STT: &ear{segments: []stt.Segment{{Text: "Hi.", Language: "de"}}}}), transcriptions, wav(), "response_format", "verbose_json").Body.Bytes())
	if at(t, o, "language") != "english" || at(t, o, "words") != nil || len(at(t, o, "segments").([]any)) != 1 {
		t.Errorf("without being asked for words: %v", o)
	}
	o = object(t, send(t, server(Engines{STT: writing()}), transcriptions, wav(), "response_format", "verbose_json", "timestamp_granularities[]", "word").Body.Bytes())
	if at(t, o, "segments") != nil || len(at(t, o, "words").([]any)) != 4 {
		t.Errorf("of words alone: %v", o)
	}
}

// The text comes as it is written down.
func TestTranscriptionStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := writing()
		e.every = time.Second
		w := send(t, server(Engines{STT: e}), transcriptions, wav(), "stream", "true")
		_, data := events(t, w.Body.String())
		if len(data) != 3 {
			t.Fatalf("%s", w.Body)
		}
		first, last := object(t, []byte(data[0])), object(t, []byte(data[2]))
		if at(t, first, "type") != "transcript.text.delta" || at(t, first, "delta") != "Hello there." || at(t, object(t, []byte(data[1])), "delta") != " Bye --> now." ||
			at(t, last, "type") != "transcript.text.done" || at(t, last, "text") != "Hello there. Bye --> now." || at(t, last, "usage", "seconds") != 2. {
			t.Errorf("%s", w.Body)
		}
	})
}

// How sure the recogniser was of each token is said where that is asked for: of the whole, and in a stream of each part, then of all.
func TestTranscriptionLogProbs(t *testing.T) {
	surely := func() *ear {
		e := writing()
		e.segments[0].Pieces = []stt.Token{{Text: " Hello", LogProb: -0.25}, {Text: " there.", LogProb: -1}}
		e.segments[1].Pieces = []stt.Token{{Text: "\xc3", LogProb: -2}}
		return e
	}
	const hello, bye = `{"token":" Hello","logprob":-0.25,"bytes":[32,72,101,108,108,111]},{"token":" there.","logprob":-1,"bytes":[32,116,104,101,114,101,46]}`, `{"token":"�","logprob":-2,"bytes":[195]}`
	w := send(t, server(Engines{STT: surely()}), transcriptions, wav(), "include[]", "logprobs")
	if want := `"logprobs":[` + hello + "," + bye + "]"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s, want %s", w.Body, want)
	}
	if w := send(t, server(Engines{STT: surely()}), transcriptions, wav()); strings.Contains(w.Body.String(), "logprobs") {
		t.Errorf("without being asked: %s", w.Body)
	}
	_, data := events(t, send(t, server(Engines{STT: surely()}), transcriptions, wav(), "include[]", "logprobs", "stream", "true").Body.String())
	for i, want := range []int{2, 1, 3} {
		if got := at(t, object(t, []byte(data[i])), "logprobs").([]any); len(got) != want {
			t.Errorf("event %d has %v", i, got)
		}
	}
	refused(t, send(t, server(Engines{STT: surely()}), translations, wav(), "include[]", "logprobs"), 400, "unsupported_parameter", "include")
}

func TestTranslation(t *testing.T) {
	e := writing()
	w := send(t, server(Engines{STT: e}), translations, wav(), "response_format", "verbose_json")
	if o := object(t, w.Body.Bytes()); at(t, o, "task") != "translate" || !e.asked.Translate || e.asked.Language != "" {
		t.Errorf("%s, asked %+v", w.Body, e.asked)
	}
	refused(t, send(t, server(Engines{STT: &ear{fail: fmt.Errorf("%w: English only", stt.ErrTranslate)}}), translations, wav()), 400, "unsupported_parameter", "model")
	refused(t, send(t, server(Engines{STT: writing()}), translations, wav(), "stream", "true"), 400, "unsupported_parameter", "stream")
}

func TestTranscriptionRefuses(t *testing.T) {
	s := server(Engines{STT: writing()})
	for name, test := range map[string]struct {
		file   []byte
		fields []string
		status int
		code   string
		param  string
	}{
		"no file":         {nil, nil, 400, "missing_required_parameter", "file"},
		"an empty file":   {[]byte{}, nil, 400, "invalid_value", "file"},
		"no sound":        {[]byte("this is no sound at all"), nil, 400, "invalid_value", "file"},
		"no Opus":         {[]byte("OggS, it says"), nil, 400, "invalid_value", "file"},
		"model":           {wav(), []string{"model", "other"}, 404, "model_not_found", "model"},
		"format":          {wav(), []string{"response_format", "xml"}, 400, "invalid_value", "response_format"},
		"language":        {wav(), []string{"language", "xx"}, 400, "invalid_value", "language"},
		"temperature":     {wav(), []string{"temperature", "0.5"}, 400, "unsupported_parameter", "temperature"},
		"no temperature":  {wav(), []string{"temperature", "hot"}, 400, "invalid_value", "temperature"},
		"include":         {wav(), []string{"include[]", "speakers"}, 400, "invalid_value", "include"},
		"include in srt":  {wav(), []string{"include[]", "logprobs", "response_format", "srt"}, 400, "invalid_value", "include"},
		"include unknown": {wav(), []string{"include[]", "logprobs"}, 400, "unsupported_parameter", "include"},
		"granularity":     {wav(), []string{"response_format", "verbose_json", "timestamp_granularities[]", "letter"}, 400, "invalid_value", "timestamp_granularities"},
		"no granularity":  {wav(), []string{"timestamp_granularities[]", "word"}, 400, "invalid_value", "timestamp_granularities"},
		"stream":          {wav(), []string{"stream", "perhaps"}, 400, "invalid_value", "stream"},
		"streamed srt":    {wav(), []string{"stream", "true", "response_format", "srt"}, 400, "unsupported_parameter", "stream"},
		"too long a file": {make([]byte, 50000), nil, 413, "request_too_large", "file"},
		"a long prompt":   {wav(), []string{"prompt", strings.Repeat("x", mostValue+1)}, 413, "request_too_large", "prompt"},
	} {
		s.Limits.Upload = 40000
		t.Run(name, func(t *testing.T) {
			refused(t, send(t, s, transcriptions, test.file, test.fields...), test.status, test.code, test.param)
		})
	}
	s.Limits.Recording = time.Second
	refused(t, send(t, s, transcriptions, wav()), 413, "audio_too_long", "file")
	refused(t, ask(t, s, "POST", transcriptions, "{}"), 400, "invalid_content_type", "")
	if w := send(t, server(Engines{STT: writing()}), transcriptions, wav(), "temperature", "0"); w.Code != 200 {
		t.Errorf("temperature 0: %d %s", w.Code, w.Body)
	}
}

// A recording is decoded in parts, between which calls go first; for nobody it is not.
func TestRecordingInParts(t *testing.T) {
	x := &budget.Executor{Cores: 1}
	s := server(Engines{})
	s.Limits = s.Limits.withDefaults()
	file := append(wavHeader(16000), make([]byte, 40*partBytes)...)
	sound, err := s.recording(t.Context(), x, upload{file: file})
	if err != nil || len(sound) != 20*partBytes {
		t.Fatalf("%d samples, %v", len(sound), err)
	}
	if done := x.Load().Counts[budget.Background].Done; done < 30 {
		t.Errorf("it was decoded in %d parts", done)
	}
	// What has to make room before it has begun is done later.
	synctest.Test(t, func(t *testing.T) {
		x := &budget.Executor{Cores: 1}
		var calls sync.WaitGroup
		parts := 0
		err := inParts(t.Context(), x, "test", func(yield func(struct{}) bool) {
			for parts = range 50 {
				calls.Go(func() {
					_ = x.Run(t.Context(), budget.Job{Kind: "call"}, func(context.Context, int) error { time.Sleep(time.Millisecond); return nil })
				})
				time.Sleep(time.Millisecond / 2)
				if !yield(struct{}{}) {
					return
				}
			}
		})
		calls.Wait()
		if err != nil || parts != 49 {
			t.Errorf("%d parts beside calls, %v", parts+1, err)
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone, parts := errors.New("gone"), 0
	err = inParts(ctx, x, "test", func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
			if parts++; parts == 3 {
				cancel(gone)
			}
		}
	})
	if !errors.Is(err, gone) || parts != 3 {
		t.Errorf("it went on for %d parts: %v", parts, err)
	}
}

// A small file may hold hours of silence at a high rate: no more of it is unpacked than may be heard.
func TestRecordingUnpacked(t *testing.T) {
	var file bytes.Buffer
	flac, err := audio.OpenFLAC(&file, 192000)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := flac.Write(make(audio.PCM, 192000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := flac.Close(); err != nil {
		t.Fatal(err)
	}
	s := server(Engines{STT: writing()})
	s.Limits.Recording = 2 * time.Second
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, send(t, s, transcriptions, file.Bytes()), 413, "audio_too_long", "file")
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 16 {
		t.Errorf("of a file of %d KiB %d MiB were made", file.Len()>>10, mb)
	}
}

// Whatever a form holds, it is read or refused.
func FuzzUpload(f *testing.F) {
	body, kind := form(append(wavHeader(8000), make([]byte, 20)...), "model", "whisper", "timestamp_granularities[]", "word", "stream", "true", "temperature", "0", "include[]", "logprobs")
	boundary := kind[strings.Index(kind, "boundary=")+len("boundary="):]
	f.Add([]byte(body), boundary)
	f.Add([]byte(body[:len(body)/2]), boundary)
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nabc\r\n--x--"), "x")
	s := server(Engines{})
	s.Limits = s.Limits.withDefaults()
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		u, err := parseUpload(bytes.NewReader(body), boundary, 1000)
		if err != nil {
			return
		}
		if len(u.file) == 0 || len(u.file) > 1000 {
			t.Errorf("a file of %d bytes", len(u.file))
		}
		if _, err := s.transcriptionOf(u, "transcribe", Route{}); err != nil {
			if p, ok := errors.AsType[*Problem](err); !ok || p.Message == "" {
				t.Errorf("%v", err)
			}
		}
		_, _ = s.recording(t.Context(), nil, u)
	})
}
