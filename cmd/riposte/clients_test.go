package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/native/nativetest"
)

// Other people's clients, as they are published, use one service with real engines: they are scripts in clients/, of which each says "ok" for
// what it has found right, and ends with what is not.
func TestClients(t *testing.T) {
	if os.Getenv(clientsRequired) != "required" {
		t.Skip("make test-clients installs other people's clients, and runs this")
	}
	const key, twilioToken = "a key of this service", "the auth token of an account"
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	s := newService(testSettings(t, "--listen=127.0.0.1:0", "--keys="+key, "--rest-aliases=*", "--twilio-token="+twilioToken, "--llm-max-tokens=30", "--llm-temperature=0", "--calls-load=1", "--trace-file="+filepath.Join(t.TempDir(), "traces.db")),
		slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	at, stop, err := s.alone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	at = strings.Replace(at, "ws://", "http://", 1)
	// OpenAI's client for Node calls over TLS alone, so a proxy that speaks it is in front, as it would be elsewhere.
	service, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(service))
	defer secure.Close()
	folder := t.TempDir()
	authority := filepath.Join(folder, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	question := questionFile(t, folder)
	built := func(parts ...string) string {
		p, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "build", "clients"}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, script := range []string{"python/openai_sdk.py", "python/livekit_plugin.py", "python/twilio_sdk.py", "node/openai_sdk.js", "node/agents_sdk.js"} {
		t.Run(script, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var c *exec.Cmd
			address := at
			if name, ok := strings.CutPrefix(script, "python/"); ok {
				c = exec.CommandContext(ctx, "python3", filepath.Join("..", "..", "clients", "python", name))
				c.Env = append(os.Environ(), "PYTHONPATH="+built("python", "site"), "PYTHONDONTWRITEBYTECODE=1")
			} else {
				c = exec.CommandContext(ctx, "node", filepath.Base(script))
				c.Dir = built("node")
				c.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+authority)
				address = secure.URL
			}
			c.Env = append(c.Env, "RIPOSTE_URL="+address+"/v1", "RIPOSTE_KEY="+key, "RIPOSTE_TWILIO_TOKEN="+twilioToken, "RIPOSTE_QUESTION="+question)
			out, err := c.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !bytes.Contains(out, []byte("ok ")) {
				t.Errorf("it found something wrong, or nothing right: %v", err)
			}
		})
	}
}

// questionFile writes a question as clients say it: a WAV file of 24 kHz.
func questionFile(t *testing.T, folder string) string {
	t.Helper()
	pcm, rate, err := audio.ReadFile(filepath.Join("testdata", "question.flac"))
	if err != nil {
		t.Fatal(err)
	}
	if pcm, err = audio.Resample(pcm, rate, 24000); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "question.wav")
	if err := audio.WriteWAV(name, pcm, 24000); err != nil {
		t.Fatal(err)
	}
	return name
}
