package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/caller"
	"riposte/llm"
	"riposte/native/nativetest"
	"riposte/remote"
	"riposte/stt"
	"riposte/tts"
)

// cloud is a server that hears, answers and speaks, and can be told to have a fault.
type cloud struct {
	URL  string
	says string

	hearing, thinking, speaking atomic.Pointer[http.HandlerFunc] // In place of what it does; nil while it works.
	asked                       atomic.Int32
}

// cloudKey is the key that it asks for.
const cloudKey = "sk-of-the-cloud-0123456789"

// newCloud starts one.
func newCloud(t *testing.T, says string) *cloud {
	c := &cloud{says: says}
	mux := http.NewServeMux()
	on := func(path string, fault *atomic.Pointer[http.HandlerFunc], does http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+cloudKey {
				http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
				return
			}
			if fault != nil {
				c.asked.Add(1)
				if f := fault.Load(); f != nil {
					(*f)(w, r)
					return
				}
			}
			does(w, r)
		})
	}
	on("GET /v1/models", nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"all"}]}`) })
	on("POST /v1/audio/transcriptions", &c.hearing, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text":"Should I get a dog or a cat?"}`)
	})
	on("POST /v1/chat/completions", &c.thinking, func(w http.ResponseWriter, _ *http.Request) { c.think(w) })
	on("POST /v1/audio/speech", &c.speaking, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(hum(time.Duration(len(body.Input))*70*time.Millisecond, 24000).AppendBytes(nil))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL + "/v1#all"
	return c
}

// has lets the server have a fault.
func (c *cloud) has(s budget.Stage, fault http.HandlerFunc) {
	map[budget.Stage]*atomic.Pointer[http.HandlerFunc]{budget.STT: &c.hearing, budget.LLM: &c.thinking, budget.TTS: &c.speaking}[s].Store(&fault)
}

// think streams an answer, word by word.
func (c *cloud) think(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range strings.SplitAfter(c.says, " ") {
		b, _ := json.Marshal(word)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", b)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

func refuses(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }
}

func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// answers sends what is no answer, or the beginning of one, after which the server dies.
func answers(kind, body string, dies bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
		w.(http.Flusher).Flush()
		if dies {
			panic(http.ErrAbortHandler)
		}
	}
}

// remoteCase is a call whose engines are elsewhere, one of which has a fault.
type remoteCase struct {
	name    string
	stage   budget.Stage
	fault   http.HandlerFunc
	reserve bool   // Other engines are there.
	answer  string // That is heard.
	verdict budget.Verdict
	blame   budget.Stage
}

// remoteCases are all faults of all stages, with engines in reserve and without.
func remoteCases() (all []remoteCase) {
	const own, spare, sorry = "Get a dog. It is a friend.", "Take the cat. It is quiet.", "Sorry."
	all = []remoteCase{{"all is well", "", nil, true, own, budget.Met, ""}, {"all is well alone", "", nil, false, own, budget.Met, ""}}
	begun := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Get a dog. It \"}}]}\n\n"
	sound := string(hum(300*time.Millisecond, 24000).AppendBytes(nil))
	for _, s := range []struct {
		stage        budget.Stage
		who          string
		garbage, cut http.HandlerFunc
		instead      string // What is heard where the other engine takes over,
		broken       string // where this one dies in the middle,
		alone        string // and where there is no other then.
	}{
		{budget.STT, "the recogniser", answers("application/json", `{"segments":7}`, false), answers("application/json", `{"text":"Should I`, true), own, own, sorry},
		{budget.LLM, "the model", answers("text/event-stream", "data: {\"choices\":\n\n", false), answers("text/event-stream", begun, true), spare, "Get a dog. Sorry.", "Get a dog. Sorry."},
		{budget.TTS, "the voice", answers("text/html", "<html>", false), answers("audio/pcm", sound, true), own, own, "Get Sorry."},
	} {
		for _, f := range []struct {
			does  string
			fault http.HandlerFunc
		}{
			{"is slow", hangs}, {"says 500", refuses(http.StatusInternalServerError)}, {"says 429", refuses(http.StatusTooManyRequests)},
			{"says 401", refuses(http.StatusUnauthorized)}, {"brings garbage", s.garbage}, {"dies in the middle", s.cut},
		} {
			with := remoteCase{s.who + " " + f.does, s.stage, f.fault, true, s.instead, budget.Masked, s.stage}
			without := remoteCase{with.name + " alone", s.stage, f.fault, false, sorry, budget.Failed, s.stage}
			if f.does == "dies in the middle" {
				with.answer, without.answer = s.broken, s.alone
				if s.stage == budget.LLM { // what it has said is said: another one would begin anew
					with.verdict = budget.Failed
				}
			}
			all = append(all, with, without)
		}
	}
	return all
}

// All three stages are served elsewhere, with others in reserve. Whatever goes wrong there, the caller hears an answer; and without a reserve
// an apology, and the verdict says whose fault it is. Each call has a route and a server of its own, so that several go on at once.
func TestRemoteCalls(t *testing.T) {
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	const atOnce = 6
	cases := remoteCases()
	first, spare := newCloud(t, "Get a dog. It is a friend."), newCloud(t, "Take the cat. It is quiet.")
	clouds, routes, ended := map[string]*cloud{}, []string{}, map[string]chan trace.Turn{}
	for i, tt := range cases {
		c, name := newCloud(t, first.says), fmt.Sprint("case", i)
		text := fmt.Sprintf("stt: {model: %[1]q, key: %[2]q}\nllm: {model: %[1]q, key: %[2]q}\ntts: {voice: %[1]q, key: %[2]q}\n", c.URL, cloudKey)
		if !tt.reserve {
			text = strings.NewReplacer("stt: {", `stt: {fallback: "", `, "llm: {", `llm: {hedge: "", `, "tts: {", `tts: {fallback: "", `).Replace(text)
		}
		clouds[name], ended[name] = c, make(chan trace.Turn, 1)
		routes = append(routes, name+"="+routeFile(t, text))
	}
	var logged strings.Builder
	s := newService(testSettings(t, "--stt-model="+first.URL, "--stt-fallback="+spare.URL, "--llm-model="+first.URL, "--llm-hedge="+spare.URL, "--tts-voice="+first.URL,
		"--tts-fallback="+spare.URL, "--stt-key="+cloudKey, "--stt-fallback-key="+cloudKey, "--llm-key="+cloudKey, "--llm-hedge-key="+cloudKey, "--tts-key="+cloudKey,
		"--tts-fallback-key="+cloudKey, "--vad-turn=", "--talk-silence=300ms", "--talk-guesses=0", "--talk-stall=5s", "--remote-failures=1000", "--remote-idle=1s",
		"--budget-stt=2s", "--budget-llm=2s", "--budget-tts=2s", // so that a busy machine is not late for other reasons
		"--calls-max=16", "--talk-apology=Sorry.", "--routes="+strings.Join(routes, ","), "--trace-file=none"), slog.New(slog.NewJSONHandler(&logged, nil)))
	s.traces = append(s.traces, turnsEnded(ended))
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, crew := range s.engines.crews {
		for _, ok := crew.phrases.Phrase("Sorry."); !ok; _, ok = crew.phrases.Phrase("Sorry.") {
			if t.Context().Err() != nil {
				t.Fatal("the apology was not spoken for ", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	table := make([]string, len(cases))
	var calls errgroup.Group
	calls.SetLimit(atOnce)
	for i, tt := range cases {
		calls.Go(func() error {
			t.Run(tt.name, func(t *testing.T) {
				name := fmt.Sprint("case", i)
				if tt.fault != nil {
					clouds[name].has(tt.stage, tt.fault)
				}
				c := caller.Caller{URL: url, Model: name, Wait: time.Minute}
				line, err := c.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer line.Close()
				heard, err := line.Say(t.Context(), brief(t))
				if err != nil && !errors.Is(err, caller.ErrFailed) {
					t.Fatal(err)
				}
				turn := <-ended[name]
				r := turn.Report
				table[i] = fmt.Sprintf("| %s | %.2f s | %s | %s %s |", tt.name, heard.Gap.Seconds(), turn.Answer, r.Verdict, r.Blame)
				if r.Verdict != tt.verdict || r.Blame != tt.blame {
					t.Errorf("it was %s, to blame %q, want %s and %q: %+v, %+v", r.Verdict, r.Blame, tt.verdict, tt.blame, r, turn.Events)
				}
				if turn.Answer != tt.answer {
					t.Errorf("the answer was %q, want %q: %+v", turn.Answer, tt.answer, turn.Events)
				}
				if _, ok := audio.FirstAudible(heard.Audio, max(heard.Rate, 1)); !ok && tt.verdict != budget.Failed {
					t.Errorf("nothing of %v was to be heard", heard.Audio.Duration(heard.Rate))
				}
			})
			return nil
		})
	}
	_ = calls.Wait()
	t.Log("what callers heard, and when first:\n" + strings.Join(table, "\n"))
	for path, want := range map[string]string{"/readyz": `{"stage":"llm","model":"all","breaker":"closed"}`, "/metrics": `riposte_remote_requests_total{fate="failed",server="` + clouds["case4"].URL + `",stage="stt"}`} {
		body := get(t, strings.Replace(url, "ws://", "http://", 1)+path)
		if !strings.Contains(body, want) || strings.Contains(body, cloudKey) {
			t.Errorf("%s says %s", path, body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(logged.String(), cloudKey) {
		t.Error("the log has a key in it")
	}
}

// turnsEnded is a sink for turns alone, by their routes.
type turnsEnded map[string]chan trace.Turn

func (c turnsEnded) TurnEnded(t trace.Turn) { c[t.Route] <- t }
func (turnsEnded) CallBegan(trace.Call)     {}
func (turnsEnded) CallEnded(trace.Call)     {}

// get fetches a page.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(b)
}

// Engines of this machine stand in for those elsewhere, and those for these, all three at once.
func TestRemoteReserve(t *testing.T) {
	const ear, mind, voice = "whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium"
	c := newCloud(t, "Get a dog. It is a friend.")
	dead := newCloud(t, "")
	there := routeFile(t, fmt.Sprintf("stt: {model: %[1]q, key: %[2]q, fallback: %[3]q}\nllm: {model: %[1]q, key: %[2]q, hedge: %[4]q}\ntts: {voice: %[1]q, key: %[2]q, fallback: %[5]q}\n",
		dead.URL, cloudKey, ear, mind, voice))
	s := newService(testSettings(t, "--stt-model="+ear, "--stt-fallback="+c.URL, "--stt-fallback-key="+cloudKey, "--llm-model="+mind, "--llm-hedge="+c.URL, "--llm-hedge-key="+cloudKey,
		"--tts-voice="+voice, "--tts-fallback="+c.URL, "--tts-fallback-key="+cloudKey, "--vad-turn=", "--talk-silence=300ms", "--talk-guesses=0", "--talk-stall=20s", "--tts-cache=0",
		"--budget-stt=5s", "--budget-llm=5s", "--budget-tts=5s", "--routes=there="+there, "--trace-file=none"), slog.New(slog.DiscardHandler))
	ended := turnsEnded{defaultRoute: make(chan trace.Turn, 1), "there": make(chan trace.Turn, 1)}
	s.traces = append(s.traces, ended)
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.rehearsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, stage := range budget.Stages[1:] {
		dead.has(stage, refuses(http.StatusInternalServerError))
	}
	broken := errors.New("broken")
	here := s.engines.crew(defaultRoute)
	here.stt.(*stt.Fallback).First = stt.Whole(func(context.Context, audio.PCM, stt.Options) (stt.Transcript, error) { return stt.Transcript{}, broken })
	here.tts.(*tts.Fallback).First = tts.SynthesizerFunc{Hz: here.tts.Rate(), Fn: func(context.Context, string, tts.Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) { yield(nil, broken) }
	}}
	s.model = brokenModel{here.llm, broken}
	for _, tt := range []struct{ name, route string }{{"those elsewhere for those here", defaultRoute}, {"those here for those elsewhere", "there"}} {
		t.Run(tt.name, func(t *testing.T) {
			calls := caller.Caller{URL: url, Model: tt.route, Wait: time.Minute}
			line, err := calls.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer line.Close()
			heard, err := line.Say(t.Context(), brief(t))
			if err != nil {
				t.Fatal(err)
			}
			turn := <-ended[tt.route]
			if turn.Report.Verdict != budget.Masked || !strings.Contains(strings.ToLower(turn.Said), "dog or a cat") {
				t.Errorf("it was %s, it heard %q: %+v", turn.Report.Verdict, turn.Said, turn.Events)
			}
			if elsewhere := turn.Answer == c.says; turn.Answer == "" || elsewhere != (tt.route == defaultRoute) {
				t.Errorf("it answered %q", turn.Answer)
			}
			for _, want := range []budget.ActionKind{budget.Substitute, budget.Hedge, budget.FasterVoice} {
				if !slices.ContainsFunc(turn.Report.Actions, func(a budget.Action) bool { return a.Kind == want }) {
					t.Errorf("there was no %s: %+v", want, turn.Report.Actions)
				}
			}
			if _, ok := audio.FirstAudible(heard.Audio, max(heard.Rate, 1)); !ok {
				t.Error("nothing was to be heard")
			}
		})
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// brokenModel is a model that answers nothing.
type brokenModel struct {
	llm.Generator
	err error
}

func (b brokenModel) Generate(context.Context, llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) { yield(llm.Piece{}, b.err) }
}

// Who asks over REST while an engine elsewhere fails is told whether to come again, and what to mend; and who runs the service sees it.
func TestRemoteREST(t *testing.T) {
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	c := newCloud(t, "Get a dog.")
	s := newService(testSettings(t, "--stt-model="+c.URL, "--llm-model="+c.URL, "--tts-voice="+c.URL, "--stt-key="+cloudKey, "--llm-key="+cloudKey, "--tts-key="+cloudKey,
		"--vad-turn=", "--llm-timeout=200ms", "--tts-timeout=200ms", "--remote-failures=3", "--remote-redials=0", "--trace-file=none"), slog.New(slog.DiscardHandler))
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.rehearsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	url = strings.Replace(url, "ws://", "http://", 1)
	for _, tt := range []struct {
		name, path, body string
		at               *atomic.Pointer[http.HandlerFunc]
		fault            http.HandlerFunc
		status           int
		says             string
	}{
		{"all is well", "/v1/chat/completions", `{"model":"all","messages":[{"role":"user","content":"Hi."}]}`, nil, nil, 200, "Get a dog."},
		{"the model fails", "/v1/chat/completions", `{"model":"all","messages":[{"role":"user","content":"Hi."}]}`, &c.thinking, refuses(500), 502, "llm.model"},
		{"the model hangs", "/v1/chat/completions", `{"model":"all","messages":[{"role":"user","content":"Hi."}]}`, &c.thinking, hangs, 504, "llm.timeout"},
		{"the voice hangs", "/v1/audio/speech", `{"model":"all","input":"Hi.","response_format":"pcm"}`, &c.speaking, hangs, 504, "tts.timeout"},
		{"the model fails again", "/v1/responses", `{"model":"all","input":"Hi."}`, &c.thinking, refuses(500), 502, "llm.model"},
		{"the model is not asked any more", "/v1/responses", `{"model":"all","input":"Hi."}`, &c.thinking, refuses(500), 503, "/readyz"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.at != nil {
				tt.at.Store(&tt.fault)
				defer tt.at.Store(nil)
			}
			res, err := http.Post(url+tt.path, "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tt.status || !strings.Contains(string(b), tt.says) || strings.Contains(string(b), cloudKey) || (res.Header.Get("Retry-After") != "") != (tt.status == 503) {
				t.Errorf("%s %v: %s, %v", res.Status, res.Header, b, err)
			}
		})
	}
	if body := get(t, url+"/metrics"); !strings.Contains(body, `riposte_rest_requests_total{endpoint="/v1/chat/completions",model="all",status="504"} 1`) {
		t.Errorf("/metrics says %s", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A service holds calls with another one for its engines: what that hears, thinks and says.
func TestRemoteService(t *testing.T) {
	there := strings.Replace(sharedService(t), "ws://", "http://", 1) + "/v1#"
	s := newService(testSettings(t, "--stt-model="+there+"whisper-tiny.en-q8_0", "--llm-model="+there+"smollm2-135m-instruct-q8_0", "--tts-voice="+there+"piper-en_us-joe-medium",
		"--tts-format=mp3", "--vad-turn=", "--talk-stall=20s", "--remote-idle=20s", "--trace-file=none"), slog.New(slog.DiscardHandler))
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	turn, err := call(t, url).Say(t.Context(), brief(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("heard %q, answered %q after %v, %+v", turn.Transcript, turn.Answer, turn.Gap, turn.Report)
	if !strings.Contains(strings.ToLower(turn.Transcript), "dog or a cat") || len(strings.Fields(turn.Answer)) < 3 || turn.Report == nil || turn.Report.Verdict == "failed" {
		t.Errorf("heard %q, answered %q, %+v", turn.Transcript, turn.Answer, turn.Report)
	}
	if level := turn.Audio.Level(); turn.Audible < 500*time.Millisecond || level < -45 {
		t.Errorf("%v of sound at %.0f dB", turn.Audible, level)
	}
	checked := 0
	for f := range (&doctorCmd{settings: *s.settings}).remote(t) {
		if checked++; f.err != nil {
			t.Errorf("%s: %v", f.what, f.err)
		}
	}
	if checked != 3 {
		t.Errorf("the doctor has looked for %d servers", checked)
	}
}

// remote yields what the doctor finds of servers.
func (c *doctorCmd) remote(t *testing.T) func(yield func(finding) bool) {
	return func(yield func(finding) bool) {
		for _, check := range c.remoteFindings(t.Context()) {
			if !yield(check()) {
				return
			}
		}
	}
}

// What the settings say of engines elsewhere is checked before anything is asked of them. No error repeats what may be a secret.
func TestRemoteSettings(t *testing.T) {
	for args, want := range map[string]string{
		"--llm-model=http://gpu1:8000/v1":           "llm-model: not the address of a remote model: \"http://gpu1:8000/v1\" does not name the model",
		"--tts-fallback=http://me:secret@gpu1/v1#m": "a key belongs into the setting",
		"--stt-headers=secret":                      "stt-headers: header 1 is not NAME: VALUE",
		"--llm-extra=[secret]":                      "llm-extra is no JSON object",
		"--stt-every=10ms":                          "stt-every is 10ms: it must be 200ms or more",
		"--remote-failures=0":                       "remote-failures is 0",
		"--remote-redials=11":                       "remote-redials is 11",
		"--llm-timeout=-1s":                         "must not be negative",
		"--llm-model=http://127.0.0.1:1/v1#m --remote-ca=/nowhere/ca.pem": "remote-ca: open /nowhere/ca.pem",
	} {
		s, err := parse(t, "", strings.Fields(args)...)
		if err == nil {
			_, err = s.engines(nil, nil, slog.New(slog.DiscardHandler))
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// A route names servers of its own, and does not get the keys of the service's; it may say what else is its own.
func TestRemoteRoutes(t *testing.T) {
	s := testSettings(t, "--llm-model=http://a:1/v1#m", "--llm-key=secret", "--llm-hedge=smollm2-135m-instruct-q8_0", "--tts-voice=http://a:1/v1#v", "--tts-key=secret",
		"--stt-model=http://a:1/v1#s", "--vad-turn=",
		"--routes=b="+routeFile(t, "llm:\n  model: http://b:1/v1#m\n  headers: [X-Team:b]\ntts:\n  speaker: other\n"))
	routes, err := s.openRoutes()
	if err != nil {
		t.Fatal(err)
	}
	b := routes["b"].settings
	if b.LLM.Access.Key != "" || len(b.LLM.Access.Headers) != 1 || b.TTS.Access.Key != "secret" || s.LLM.Access.Key != "secret" {
		t.Errorf("the route has %+v and %+v", b.LLM.Access, b.TTS.Access)
	}
	nativetest.File(t, "smollm2-135m-instruct-q8_0")
	nativetest.LlamaDir(t)
	e := &engines{crews: map[string]*crew{}}
	if err := e.enlist(s, routes, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	own, other := e.crew(defaultRoute), e.crew("b")
	if own.stt != other.stt || own.llm == other.llm || own.hedge != other.hedge || own.tts == other.tts || !own.frugal || len(other.servers) != 3 || len(e.servers) != 4 {
		t.Errorf("the service has %+v, the route %+v, of %d servers", own, other, len(e.servers))
	}
	if _, err := remote.Parse(b.LLM.Model); err != nil || shown(b.LLM.Model) != "m" {
		t.Errorf("%v, shown as %s", err, shown(b.LLM.Model))
	}
}
