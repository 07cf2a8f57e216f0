package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/caller"
	"riposte/native/nativetest"
	"riposte/stt"
	"riposte/stt/wer"
	"riposte/stt/whisper"
)

// The tests share one service with real engines: loading it takes seconds.
var shared struct {
	once    sync.Once
	service *service
	route   string // The file of one.
	url     string
	stop    func() error
	err     error
}

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
		os.Exit(0)
	}
	if os.Getenv(beClerk) != "" {
		serveClerk()
		return
	}
	log.SetOutput(io.Discard) // as main does
	code := m.Run()
	if shared.route != "" {
		os.Remove(shared.route)
	}
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the service ended with", err)
			code = 1
		}
	}
	if heard.by != nil {
		if err := heard.by.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// beMain is the environment variable that makes this test binary behave as the command.
const beMain = "RIPOSTE_TEST_BE_MAIN"

// OpenMP is told not to spin, whatever the environment lacked.
func TestWaitsPassively(t *testing.T) {
	cmd := exec.Command(os.Args[0], "--version")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OMP_") && !strings.HasPrefix(v, "GOMP_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, beMain+"=1", "OMP_DISPLAY_ENV=verbose")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// It is told twice: once before the process has started itself again, once after.
	_, last, _ := strings.Cut(string(out[strings.LastIndex(string(out), "GOMP_SPINCOUNT"):]), "=")
	if !strings.HasPrefix(strings.TrimSpace(last), "'0'") {
		t.Errorf("OpenMP spins:\n%s", out)
	}
}

// serving is the command line with the one command that has all settings: to make a parser of all commands takes many times as long.
type serving struct {
	Serve serveCmd `cmd:""`
}

// testSettings are the settings that the arguments make, over defaults that answer the same each time.
func testSettings(t testing.TB, args ...string) *settings {
	t.Helper()
	var cmd serving
	parser, err := newParser(t.Context(), &cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"serve", "--llm-temperature=0", "--llm-max-tokens=40", "--calls-load=1", "--talk-openers=", "--llm-idle=16777216"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &cmd.Serve.settings
}

// service returns the URL of the shared service.
func sharedService(t *testing.T) string {
	t.Helper()
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	nativetest.LlamaDir(t)
	nativetest.ONNXRuntime(t)
	shared.once.Do(func() {
		shared.route = toolsRoute(t)
		shared.service = newService(testSettings(t, "--routes=tools="+shared.route), slog.New(slog.DiscardHandler))
		shared.url, shared.stop, shared.err = shared.service.alone(context.Background())
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.url
}

// listener returns the recogniser that listens to what the service says, and has no part in it. The tests share one.
func listener(t *testing.T) *whisper.Engine {
	t.Helper()
	model := nativetest.File(t, "whisper-base")
	heard.once.Do(func() {
		e := &whisper.Engine{Model: model, Threads: 2, Language: "en"}
		if heard.err = e.Open(context.Background()); heard.err == nil {
			heard.by = e
		}
	})
	if heard.by == nil {
		t.Fatalf("the recogniser that listens is not open: %v", heard.err)
	}
	return heard.by
}

var heard struct {
	once sync.Once
	by   *whisper.Engine
	err  error
}

// brief is a question of two seconds: what is said in real time is as long as it has to be.
func brief(t testing.TB) caller.Speech {
	t.Helper()
	pcm, rate, err := audio.ReadFile("testdata/question.flac")
	if err != nil {
		t.Fatal(err)
	}
	return caller.Speech{Sound: pcm, Rate: rate}
}

// jfk is the sample that comes with the Whisper bindings, and what is said in it.
func jfk(t testing.TB) (caller.Speech, string) {
	t.Helper()
	pcm, rate, err := audio.ReadFile(nativetest.Recording(t))
	if err != nil {
		t.Fatal(err)
	}
	return caller.Speech{Sound: pcm, Rate: rate},
		"And so, my fellow Americans: ask not what your country can do for you, ask what you can do for your country."
}

func call(t *testing.T, url string) *caller.Call {
	t.Helper()
	c := caller.Caller{URL: url, Wait: time.Minute}
	line, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	return line
}

// A question is understood and answered aloud, and the answer can be understood.
func TestFirstCall(t *testing.T) {
	url := sharedService(t)
	turn, err := call(t, url).Say(t.Context(), brief(t))
	if err != nil {
		t.Fatal(err)
	}
	if r := wer.WER(asked, turn.Transcript); r.Rate() != 0 {
		t.Errorf("heard %q", turn.Transcript)
	}
	if turn.Report == nil {
		t.Fatal("the turn was not reported on")
	}
	t.Logf("heard %q, said %q, gap %v, %+v", turn.Transcript, turn.Answer, turn.Gap, turn.Report)

	pcm, err := audio.Resample(turn.Audio, turn.Rate, audio.SpeechRate)
	if err != nil {
		t.Fatal(err)
	}
	back, err := stt.Transcribe(t.Context(), listener(t), pcm, stt.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	if r := wer.WER(turn.Answer, back.Text); r.Rate() > 0.2 {
		t.Errorf("said %q, and Whisper reads back %q: WER %.2f", turn.Answer, back.Text, r.Rate())
	}
}

// client is a caller without manners.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, url string) client {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial(url+"/v1/realtime", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return client{t, ws}
}

func (c client) send(event string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(event)); err != nil {
		c.t.Fatal(err)
	}
}

// burst sends a whole recording at once, as fast as the socket takes it.
func (c client) burst(pcm audio.PCM) {
	c.send(`{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(pcm.AppendBytes(nil)) + `"}`)
}

// until reads events until one of the kind comes.
func (c client) until(kind string) map[string]any {
	c.t.Helper()
	c.ws.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, b, err := c.ws.ReadMessage()
		if err != nil {
			c.t.Fatalf("waiting for %s: %v", kind, err)
		}
		var e map[string]any
		if err := json.Unmarshal(b, &e); err != nil {
			c.t.Fatal(err)
		}
		if e["type"] == kind {
			return e
		}
	}
}

// question is a short one, with the silence that ends it, at 24 kHz.
func question(t *testing.T) audio.PCM {
	t.Helper()
	pcm, rate, err := audio.ReadFile("testdata/question.flac")
	if err != nil {
		t.Fatal(err)
	}
	if pcm, err = audio.Resample(pcm, rate, 24000); err != nil {
		t.Fatal(err)
	}
	return append(pcm, make(audio.PCM, 24000)...)
}

// Callers that misbehave are told, or cut off, and do not disturb one who does not.
func TestBadCallers(t *testing.T) {
	url := sharedService(t)
	ask := question(t)
	speech, text := jfk(t)

	good := make(chan error, 1)
	line := call(t, url)
	go func() {
		turn, err := line.Say(t.Context(), speech)
		if err == nil && wer.WER(text, turn.Transcript).Rate() > 0.1 {
			err = fmt.Errorf("heard %q", turn.Transcript)
		}
		good <- err
	}()

	t.Run("malformed", func(t *testing.T) {
		c := dial(t, url)
		for _, event := range []string{
			"{", `{"type":"nothing"}`, `{"type":"input_audio_buffer.append","audio":"AAEC"}`,
			`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/opus"}}}}}`,
		} {
			c.send(event)
			c.until("error")
		}
		c.burst(ask) // and still it is heard
		c.until("response.done")
	})
	t.Run("20 MB at once", func(t *testing.T) {
		c := dial(t, url)
		c.burst(make(audio.PCM, 10<<20))
		if e := c.until("error")["error"].(map[string]any); e["code"] != "audio_too_long" {
			t.Errorf("told %v", e)
		}
	})
	t.Run("hang up in the middle", func(t *testing.T) {
		for _, at := range []string{"input_audio_buffer.committed", "response.created", "response.output_audio.delta"} {
			c := dial(t, url)
			c.burst(ask)
			c.until(at)
			c.ws.UnderlyingConn().Close()
		}
	})
	t.Run("never reads", func(t *testing.T) {
		c := dial(t, url)
		c.burst(ask)
	})

	if err := <-good; err != nil {
		t.Errorf("the good caller was disturbed: %v", err)
	}
	waitForCalls(t, url, 2) // the good one, and the one that never reads: its time is not up yet
}

// waitForCalls waits until the service holds no more than n calls.
func waitForCalls(t *testing.T, url string, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		r, err := http.Get("http" + strings.TrimPrefix(url, "ws") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		var state struct{ Calls int }
		err = json.NewDecoder(r.Body).Decode(&state)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if state.Calls <= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service still holds %d calls, want %d", state.Calls, n)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Calls one after the other, each hung up in the middle of its answer, leave the service as it was. A hundred take minutes
// on a busy machine, so a hundred are for RIPOSTE_TEST_LONG=1.
func TestManyCalls(t *testing.T) {
	calls := 20
	if os.Getenv("RIPOSTE_TEST_LONG") != "" {
		calls = 100
	}
	url := sharedService(t)
	ask := question(t)
	one := func() {
		c := dial(t, url)
		c.burst(ask)
		c.until("response.output_audio.delta")
		c.ws.Close()
		waitForCalls(t, url, 0)
	}
	waitForCalls(t, url, 1)
	for range 10 {
		one() // what is made once, and kept, is made now
	}
	goroutines, memory := runtime.NumGoroutine(), resident(t)
	for round := 1; ; round++ { // what leaks grows each time; what is made once, and kept, does not
		for range calls {
			one()
		}
		after := resident(t)
		t.Logf("memory %d MB before, %d MB after %d calls; goroutines %d and %d", memory>>20, after>>20, calls, goroutines, runtime.NumGoroutine())
		if after <= memory+memory/20 {
			break
		}
		if round == 3 {
			t.Errorf("memory grew from %d to %d bytes, more than 5%%, in the third round as well", memory, after)
			break
		}
		memory = after
	}
	if n := runtime.NumGoroutine(); n > goroutines+goroutines/20+1 {
		t.Errorf("there were %d goroutines, now there are %d", goroutines, n)
	}
}

// resident returns how much memory the process holds, in bytes, garbage not counted.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
