package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt/wer"
	"riposte/tts"
	"riposte/web"
)

// restURL returns where the shared service answers requests.
func restURL(t *testing.T) string { return strings.Replace(sharedService(t), "ws", "http", 1) + "/v1" }

// post sends JSON and returns what comes back, which has to be an answer.
func post(t *testing.T, url, body string) []byte {
	t.Helper()
	a, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, %v", url, a.Status, b, err)
	}
	return b
}

// dictate has a file written down, and returns the answer.
func dictate(t *testing.T, url string, file []byte, fields ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields = append(fields, "model", "whisper-1")
	for i := 0; i < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	f, _ := w.CreateFormFile("file", "speech")
	_, _ = f.Write(file)
	_ = w.Close()
	a, err := http.Post(url+"/audio/transcriptions", w.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s %s, %v", a.Status, text, err)
	}
	return text
}

// chatReply is what of a chat is looked at.
type chatReply struct {
	Choices []struct {
		Message, Delta struct {
			Content string
			Calls   []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish   string `json:"finish_reason"`
		LogProbs *struct {
			Content []struct {
				Token   string
				LogProb float64
				Top     []struct{ Token string } `json:"top_logprobs"`
			}
		}
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

func chat(t *testing.T, fields string) chatReply {
	t.Helper()
	var r chatReply
	b := post(t, restURL(t)+"/chat/completions", `{"model":"smollm2-135m-instruct-q8_0","temperature":0,`+fields+`}`)
	if err := json.Unmarshal(b, &r); err != nil || len(r.Choices) != 1 {
		t.Fatalf("%s: %v", b, err)
	}
	return r
}

// The model that answers callers answers chats: the same whole and streamed, with what is known of it, in the forms that are asked for.
func TestRESTChat(t *testing.T) {
	const question = `"messages":[{"role":"user","content":"What is the capital of France? Answer in one sentence."}],"max_tokens":24`
	whole := chat(t, question+`,"logprobs":true,"top_logprobs":2`)
	text := whole.Choices[0].Message.Content
	if !strings.Contains(text, "Paris") || whole.Usage.Prompt < 20 || whole.Usage.Completion == 0 {
		t.Errorf("it said %q, %+v", text, whole.Usage)
	}
	tokens := ""
	for _, o := range whole.Choices[0].LogProbs.Content {
		if tokens += o.Token; o.LogProb > 0 || len(o.Top) != 2 {
			t.Errorf("the token %+v", o)
		}
	}
	if tokens != text {
		t.Errorf("the tokens are %q, the text %q", tokens, text)
	}
	var streamed strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(post(t, restURL(t)+"/chat/completions", `{"model":"smollm2-135m-instruct-q8_0","temperature":0,"stream":true,`+question+`}`)))
	for lines.Scan() {
		var r chatReply
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			if err := json.Unmarshal([]byte("{"+data), &r); err != nil || len(r.Choices) == 0 {
				t.Fatal(lines.Text(), err)
			}
			streamed.WriteString(r.Choices[0].Delta.Content)
		}
	}
	if streamed.String() != text {
		t.Errorf("streamed it said %q, whole %q", &streamed, text)
	}
	again := chat(t, question+`,"stop":["France"]`)
	if got := again.Choices[0].Message.Content; strings.Contains(got, "France") || !strings.HasPrefix(text, got) || again.Usage.Details.Cached < 10 {
		t.Errorf("stopped, it said %q, with %+v", got, again.Usage)
	}
	if short := chat(t, `"messages":[{"role":"user","content":"Tell me a long story."}],"max_tokens":3`); short.Choices[0].Finish != "length" || short.Usage.Completion != 3 {
		t.Errorf("cut off: %+v", short)
	}
}

// Answers keep to a schema, and calls to their functions' parameters.
func TestRESTForms(t *testing.T) {
	r := chat(t, `"messages":[{"role":"user","content":"Bob is 42 years old."}],"max_tokens":80,"response_format":{"type":"json_schema","json_schema":{"name":"person","strict":true,
		"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":20},"age":{"type":"integer","minimum":0,"maximum":150}},"required":["name","age"],"additionalProperties":false}}}`)
	var person struct {
		Name string
		Age  *int
	}
	if err := json.Unmarshal([]byte(r.Choices[0].Message.Content), &person); err != nil || person.Age == nil || r.Choices[0].Finish != "stop" {
		t.Errorf("%+v, %v", r, err)
	}
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather in a city.","parameters":{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"],"additionalProperties":false}}}]`
	r = chat(t, `"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tool_choice":"required","parallel_tool_calls":false,`+tools)
	if calls := r.Choices[0].Message.Calls; len(calls) != 1 || calls[0].Function.Name != "get_weather" || !json.Valid([]byte(calls[0].Function.Arguments)) || r.Choices[0].Finish != "tool_calls" {
		t.Errorf("%+v", r)
	}
	b := post(t, restURL(t)+"/responses", `{"model":"smollm2-135m-instruct-q8_0","temperature":0,"input":"What is the capital of France? Answer in one sentence.","max_output_tokens":24}`)
	if !strings.Contains(string(b), "Paris") || !strings.Contains(string(b), `"status":"completed"`) {
		t.Errorf("the response is %s", b)
	}
}

// What is spoken in any form is understood when it is sent back.
func TestRESTSpeech(t *testing.T) {
	url := restURL(t)
	const text = "The quick brown fox jumps over the lazy dog, and then it goes home."
	for _, format := range []string{"wav", "mp3", "flac", "opus"} {
		file := post(t, url+"/audio/speech", `{"model":"tts-1","voice":"alloy","response_format":"`+format+`","input":"`+text+`"}`)
		if heard := string(dictate(t, url, file, "response_format", "text")); wer.WER(text, heard).Rate() > 0.15 {
			t.Errorf("%s: heard %q", format, heard)
		}
	}
}

// The times of words are those at which they are said: the voice knows them.
func TestRESTWordTimes(t *testing.T) {
	url := restURL(t)
	set := testSettings(t)
	voice, err := set.voice(set.TTS.Voice, "", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	voice.NoiseScale, voice.NoiseWidth = -1, -1 // it says everything the same each time
	if err := voice.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer voice.Close()
	var off []float64
	for _, text := range []string{
		"Yesterday morning I walked along the beach with my sister, and we found a small wooden boat. Nobody was inside.",
		"Please call me back when you have time. My number has changed since we last talked about the new kitchen.",
	} {
		var ends []tts.Word
		var sound audio.PCM
		for p, err := range voice.Speak(t.Context(), text, tts.Options{Words: func(w tts.Word) { ends = append(ends, w) }}) {
			if err != nil {
				t.Fatal(err)
			}
			sound = append(sound, p...)
		}
		path := t.TempDir() + "/speech.wav"
		if err := audio.WriteWAV(path, sound, voice.Rate()); err != nil {
			t.Fatal(err)
		}
		var heard struct {
			Text  string
			Words []struct {
				Word       string
				Start, End float64
			}
			Segments []struct{ Start, End float64 }
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b := dictate(t, url, file, "response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
		if err := json.Unmarshal(b, &heard); err != nil {
			t.Fatal(err)
		}
		if len(heard.Words) != len(ends) || len(heard.Segments) == 0 {
			t.Errorf("of %q it heard %q", text, heard.Text)
			continue
		}
		before := 0.0
		for i, w := range heard.Words {
			if w.Start < before || w.End <= w.Start {
				t.Errorf("%q lies at %v to %v, behind %v", w.Word, w.Start, w.End, before)
			}
			before = w.End
			off = append(off, math.Abs(w.End-audio.Duration(ends[i].Heard, voice.Rate()).Seconds()))
		}
	}
	slices.Sort(off)
	if n := len(off); n == 0 || off[n/2] > 0.08 || off[n*9/10] > 0.3 {
		t.Errorf("words end elsewhere than they do by %v", off)
	} else {
		t.Logf("%d words end within %.0f ms of where they do (median), 90 %% within %.0f ms", n, 1000*off[n/2], 1000*off[n*9/10])
	}
}

// A client that leaves in mid-answer gives back what was done for it, and is not answered on.
func TestRESTHangUp(t *testing.T) {
	url := restURL(t)
	ctx, cancel := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", url+"/chat/completions", strings.NewReader(
		`{"model":"smollm2-135m-instruct-q8_0","stream":true,"messages":[{"role":"user","content":"Tell me a very long story."}]}`))
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	a.Body.Close()
	for range 4 { // each needs one of the four places, which are not all taken by those who have left
		chat(t, `"messages":[{"role":"user","content":"Hi."}],"max_tokens":1`)
	}
}

// The same keys and origins let in as for calls; a client secret is for calls alone.
func TestRESTDoor(t *testing.T) {
	const key = "0123456789abcdef"
	s := newService(testSettings(t, "--keys="+key, "--origins=https://shop.example"), slog.New(slog.DiscardHandler))
	s.telemetry.metrics.Open()
	s.routes = map[string]*route{defaultRoute: {settings: s.settings}}
	calls := s.wire()
	rest := web.WithREST(http.NotFoundHandler(), s.openREST(calls), calls.Preflight)
	ask := func(method, path, auth, origin string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(`{"model":"default","messages":[{"role":"user","content":"Hi."}]}`))
		if auth != "" {
			r.Header.Set("Authorization", "Bearer "+auth)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		rest.ServeHTTP(w, r)
		return w
	}
	issued := httptest.NewRecorder()
	q := httptest.NewRequest("POST", "/v1/realtime/client_secrets", nil)
	q.Header.Set("Authorization", "Bearer "+key)
	calls.Issue(issued, q)
	var secret struct{ Value string }
	if err := json.Unmarshal(issued.Body.Bytes(), &secret); err != nil || secret.Value == "" {
		t.Fatalf("%s, %v", issued.Body, err)
	}
	const chats = "/v1/chat/completions"
	for _, test := range []struct {
		name, method, path, auth, origin string
		status                           int
	}{
		{"no key", "GET", "/v1/models", "", "", 401},
		{"another key", "GET", "/v1/models", "fedcba9876543210", "", 401},
		{"a client secret", "POST", chats, secret.Value, "", 403},
		{"another origin", "GET", "/v1/models", key, "https://other.example", 403},
		{"the origin", "GET", "/v1/models", key, "https://shop.example", 200},
		{"the key", "GET", "/v1/models", key, "", 200},
		{"before the models are there", "POST", chats, key, "", 503},
		{"no such route", "POST", chats + "?route=other", key, "", 404},
		{"preflight", "OPTIONS", chats, "", "https://shop.example", 204},
	} {
		if w := ask(test.method, test.path, test.auth, test.origin); w.Code != test.status {
			t.Errorf("%s: %d %s, want %d", test.name, w.Code, w.Body, test.status)
		}
	}
}

// Requests beyond the places that there are for them are refused, and all of them while calls take the machine.
func TestRESTAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := testSettings(t, "--rest-max=2", "--calls-load=0.5")
		s := newService(set, slog.New(slog.DiscardHandler))
		s.engines = &engines{cores: &budget.Executor{Cores: 1}}
		var releases []func()
		status := func() string {
			release, err := s.admitRequest()
			if err != nil {
				return err.Error()
			}
			releases = append(releases, release)
			return ""
		}
		if why := status(); !strings.Contains(why, "loaded") {
			t.Errorf("while loading: %q", why)
		}
		s.status.Set(web.Ready)
		if err := s.status.Enter(1); err != nil {
			t.Fatal(err)
		}
		if why := status(); why != "" {
			t.Errorf("beside a call that does nothing: %q", why)
		}
		work := func(class budget.Class) {
			_ = s.engines.cores.Run(t.Context(), budget.Job{Urgency: budget.Urgency{Class: class}, Kind: "test"}, func(context.Context, int) error {
				time.Sleep(20 * time.Second)
				return nil
			})
		}
		work(budget.Background)
		if why := status(); why != "" {
			t.Errorf("beside other requests: %q", why)
		}
		if why := status(); !strings.Contains(why, "All 2 places") {
			t.Errorf("beside as many as there may be: %q", why)
		}
		releases[0]()
		work(budget.Awaited)
		if why := status(); !strings.Contains(why, "Calls take the machine") {
			t.Errorf("while calls take it: %q", why)
		}
		s.status.Leave()
		if why := status(); why != "" {
			t.Errorf("when they are over: %q", why)
		}
		s.status.Set(web.Draining)
		if why := status(); !strings.Contains(why, "shutting down") {
			t.Errorf("in the end: %q", why)
		}
		for _, release := range releases[1:] {
			release()
		}
		s.calls.Wait()
	})
}
