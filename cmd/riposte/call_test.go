package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/caller"
)

// hum returns d of a sound that everybody hears.
func hum(d time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(d, rate))
	for i := range p {
		if p[i] = 3000; i/20%2 == 1 {
			p[i] = -3000
		}
	}
	return p
}

// wavOf writes p as a WAV file and returns its path.
func wavOf(t *testing.T, p audio.PCM, rate int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turn.wav")
	if err := audio.WriteWAV(path, p, rate); err != nil {
		t.Fatal(err)
	}
	return path
}

// answerer starts a server that answers a turn when 100 ms of silence have followed sound: with events, and then with its
// account of the turn.
func answerer(t *testing.T, answer func(send func(any), n int)) string {
	t.Helper()
	var calls sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		defer calls.Done()
		var up websocket.Upgrader
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		send := func(e any) { conn.WriteJSON(e) }
		send(map[string]any{"type": "session.created"})
		var heard bool
		var quiet time.Duration
		for n := 0; ; {
			var e struct {
				Type    string
				Session any
				Audio   []byte
			}
			if conn.ReadJSON(&e) != nil {
				return
			}
			p := audio.FromBytes(e.Audio)
			switch {
			case e.Type == "session.update":
				send(map[string]any{"type": "session.updated", "session": e.Session})
			case p.Level() > -40:
				heard, quiet = true, 0
			case heard:
				if quiet += p.Duration(24000); quiet >= 100*time.Millisecond {
					heard = false
					answer(send, n)
					n++
				}
			}
		}
	}))
	t.Cleanup(func() { s.Close(); calls.Wait() })
	return s.URL
}

// events are a short answer, and the server's account of it where there is one.
func events(send func(any), account map[string]any) {
	type object = map[string]any
	send(object{"type": "input_audio_buffer.committed", "item_id": "i"})
	send(object{"type": "conversation.item.input_audio_transcription.completed", "item_id": "i", "transcript": "What time is it?"})
	send(object{"type": "response.created", "response": object{"id": "r"}})
	send(object{"type": "response.output_audio_transcript.delta", "response_id": "r", "delta": "It is noon."})
	sound := base64.StdEncoding.EncodeToString(hum(200*time.Millisecond, 24000).AppendBytes(nil))
	send(object{"type": "response.output_audio.delta", "response_id": "r", "delta": sound})
	send(object{"type": "response.done", "response": object{"id": "r", "status": "completed"}})
	if account != nil {
		send(account)
	}
}

// account is what our own server says of the answer of events.
var account = map[string]any{
	"type": "riposte.turn", "response_id": "r", "transcript": "What time is it?", "answer": "It is noon.", "verdict": "over", "blame": "llm",
	"stages_ms": map[string]any{"mic": 31.5, "stt": 250, "llm": 700, "tts": 70}, "total_ms": 1051.5,
	"shares_ms": map[string]any{"mic": 40, "stt": 300, "llm": 410, "tts": 150},
}

func TestCallJSON(t *testing.T) {
	url := answerer(t, func(send func(any), n int) { events(send, account) })
	output := filepath.Join(t.TempDir(), "answer.wav")
	clip := wavOf(t, hum(300*time.Millisecond, 24000), 24000)
	c := CallCmd{Files: []string{clip, clip}, URL: url, Format: "pcm", Wait: 10 * time.Second, JSON: true, Output: output}
	var out bytes.Buffer
	if err := c.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	for range 2 {
		var got struct {
			File, Transcript, Answer, Verdict, Blame string
			GapMS                                    float64            `json:"gap_ms"`
			AudibleMS                                float64            `json:"answer_audible_ms"`
			TotalMS                                  float64            `json:"total_ms"`
			Stages                                   map[string]float64 `json:"stages_ms"`
		}
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.File != clip || got.Transcript != "What time is it?" || got.Answer != "It is noon." || got.Verdict != "over" || got.Blame != "llm" {
			t.Errorf("turn = %+v", got)
		}
		if got.Stages["mic"] != 31.5 || got.Stages["llm"] != 700 || len(got.Stages) != 4 || got.TotalMS != 1051.5 || got.AudibleMS != 200 {
			t.Errorf("turn = %+v", got)
		}
		// The server waits for 100 ms of silence; a busy machine may add some.
		if got.GapMS < 100 || got.GapMS > 3000 {
			t.Errorf("gap = %v ms, want 100 and a little", got.GapMS)
		}
	}
	if d.More() {
		t.Error("more than two objects came")
	}
	p, rate, err := audio.ReadFile(output)
	if err != nil || rate != 24000 || p.Duration(rate) != 900*time.Millisecond {
		t.Errorf("the answers last %v at %d Hz, %v, want 900ms: two of 200 ms, half a second apart", p.Duration(rate), rate, err)
	}
}

func TestCallText(t *testing.T) {
	url := answerer(t, func(send func(any), n int) { events(send, account) })
	c := CallCmd{Files: []string{wavOf(t, hum(300*time.Millisecond, 24000), 24000)}, URL: url, Format: "pcm", Wait: 10 * time.Second}
	var out bytes.Buffer
	if err := c.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"heard What time is it?", "answer It is noon.", "mic 32 ms 40 ms stt", "llm 700 ms 410 ms +290 ms tts", "total 1052 ms 900 ms over: llm",
		"sounded for 0.2 s",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

func TestCallFails(t *testing.T) {
	loud := wavOf(t, hum(300*time.Millisecond, 24000), 24000)
	silent := wavOf(t, make(audio.PCM, 24000), 24000)
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer full.Close()
	mute := answerer(t, func(send func(any), n int) {})
	for _, c := range []struct {
		name string
		cmd  CallCmd
		want error
		says string
	}{
		{"no file", CallCmd{Files: []string{"nothing.wav"}, URL: mute}, os.ErrNotExist, "nothing.wav"},
		{"a silent file", CallCmd{Files: []string{silent}, URL: mute}, caller.ErrNoVoice, silent},
		{"raw that is not raw", CallCmd{Files: []string{loud}, Rate: 8000, URL: mute}, audio.ErrFormat, "leave out the rate"},
		{"no server", CallCmd{Files: []string{loud}, URL: nobody.URL}, nil, "riposte serve"},
		{"no room", CallCmd{Files: []string{loud}, URL: full.URL}, caller.ErrBusy, "503"},
		{"no answer", CallCmd{Files: []string{loud}, URL: mute, Wait: 500 * time.Millisecond}, caller.ErrNoAnswer, "turn 1, " + loud},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cmd.Format, c.cmd.JSON = "pcm", true
			var out bytes.Buffer
			err := c.cmd.run(t.Context(), &out)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error = %v, want %v that says %q", err, c.want, c.says)
			}
			if c.want == caller.ErrNoAnswer && !strings.Contains(out.String(), `"gap_ms":null`) {
				t.Errorf("it prints %s, want the turn without a gap", out.String())
			}
		})
	}
}

func TestCallPlays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	c := CallCmd{Files: []string{wavOf(t, hum(300*time.Millisecond, 24000), 24000)}, Format: "pcm", Wait: 10 * time.Second, Play: true}
	var out bytes.Buffer
	if err := c.run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "-o") {
		t.Errorf("without a player: %v", err)
	}
	played := filepath.Join(dir, "played.wav")
	script := "#!/bin/sh\n/bin/cp \"$2\" " + played + "\n"
	if err := os.WriteFile(filepath.Join(dir, "aplay"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c.URL = answerer(t, func(send func(any), n int) { events(send, account) })
	if err := c.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	p, rate, err := audio.ReadFile(played)
	if err != nil || p.Duration(rate) != 200*time.Millisecond {
		t.Errorf("it played %v at %d Hz, %v, want 200ms", p.Duration(rate), rate, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "aplay"), []byte("#!/bin/sh\necho no such card >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "no such card") {
		t.Errorf("a player that fails: %v", err)
	}
}
