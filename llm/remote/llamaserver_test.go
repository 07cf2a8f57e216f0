package remote

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"riposte/llm"
	"riposte/native/nativetest"
	"riposte/remote"
)

// serve starts a llama-server, and returns where it is. kill ends it in the middle of whatever it does.
func serve(t *testing.T) (url string, kill func()) {
	t.Helper()
	path := nativetest.LlamaServer(t)
	model := nativetest.File(t, "smollm2-135m-instruct-q8_0")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	_, port, _ := net.SplitHostPort(address.String())
	cmd := exec.Command(path, "-m", model, "--host", "127.0.0.1", "--port", port, "--alias", "tiny", "-t", "2", "-c", "4096", "-np", "2", "--jinja")
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // which says that it was killed
		}
	}
	t.Cleanup(kill)
	url = "http://" + address.String()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if res, err := http.Get(url + "/health"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("llama-server does not get ready")
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return url, kill
}

// A real server answers, reads ahead, keeps to a schema, stops when nobody wants more, and dies in the middle.
func TestLlamaServer(t *testing.T) {
	url, kill := serve(t)
	e := at(t, url, func(e *Engine) { e.ReadAhead, e.Server.Limits.Idle = true, 20*time.Second })
	if unsure, err := e.Server.Check(t.Context()); unsure != nil || err != nil {
		t.Errorf("checked: %v, %v", unsure, err)
	}
	r := llm.Request{MaxTokens: 40, Messages: []llm.Message{
		{Role: llm.System, Text: "You are a friendly assistant. Answer in one short sentence."}, {Role: llm.User, Text: "What is the capital of France?"},
	}}
	read, err := e.Read(t.Context(), r)
	if err != nil || read.Prompt < 20 {
		t.Errorf("read %+v, %v", read, err)
	}
	first := ask(t.Context(), e, r)
	if first.err != nil || strings.TrimSpace(first.text) == "" || first.usage == nil || first.usage.Prompt < 20 || first.usage.Output < 2 {
		t.Fatalf("%+v", first)
	}
	if first.usage.Cached == 0 {
		t.Errorf("nothing of what was read ahead was kept: %+v", first.usage)
	}
	if again := ask(t.Context(), e, r); again.text != first.text {
		t.Errorf("greedily it said %q and then %q", first.text, again.text)
	}
	cut := r
	cut.MaxTokens = 3
	if s := ask(t.Context(), e, cut); s.err != nil || s.usage.Finish != llm.FinishLength || s.usage.Output != 3 {
		t.Errorf("cut at 3 tokens: %+v, %v", s.usage, s.err)
	}
	held := r
	held.Format.Schema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","enum":["Paris","Rome"]}},"required":["city"],"additionalProperties":false}`)
	var city struct{ City string }
	if s := ask(t.Context(), e, held); s.err != nil || json.Unmarshal([]byte(s.text), &city) != nil || city.City == "" {
		t.Errorf("held to a schema it said %q, %v", s.text, s.err)
	}
	long := r
	long.MaxTokens, long.Messages = 1500, []llm.Message{{Role: llm.User, Text: "Count from one to one thousand."}}
	for p, err := range e.Generate(t.Context(), long) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Text != "" {
			break
		}
	}
	if s := ask(t.Context(), e, cut); s.err != nil { // its slot is free again
		t.Error(s.err)
	}
	pieces := 0
	for _, err := range e.Generate(t.Context(), long) {
		if pieces++; pieces == 3 {
			kill()
		}
		if err != nil && !errors.Is(err, remote.ErrCut) {
			t.Errorf("killed in the middle: %v", err)
		}
	}
	if s := ask(t.Context(), e, cut); !errors.Is(s.err, remote.ErrUnreachable) {
		t.Errorf("gone: %v", s.err)
	}
}
