package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"riposte/bench/stub"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/caller"
	"riposte/caller/phone"
	"riposte/llm"
	"riposte/native/nativetest"
)

// farewell is a model that says goodbye and hangs up, whatever it is told.
type farewell struct{ llm.Generator }

func (farewell) Generate(context.Context, llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		for _, p := range []llm.Piece{
			{Text: "Thank you for your call, and goodbye."},
			{Call: &llm.ToolCall{ID: "call_1", Name: "hang_up", Arguments: json.RawMessage(`{"reason":"All is done."}`)}},
			{Usage: &llm.Usage{Prompt: 10, Output: 12}},
		} {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// endings takes calls that have ended, from any goroutine.
type endings struct {
	mu  sync.Mutex
	all []trace.Call
}

func (*endings) CallBegan(trace.Call) {}
func (*endings) TurnEnded(trace.Turn) {}
func (e *endings) CallEnded(c trace.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, c)
}

// Over real wires, one whose far side keeps sound and one that needs it all the time, a caller hears the goodbye to its end before the model hangs up; the call is recorded whole, and its record says who called whom.
func TestModelHangsUp(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket := free.Addr().String()
	free.Close()
	for _, wire := range []phone.Wire{phone.Twilio, phone.AudioSocket} {
		t.Run(string(wire), func(t *testing.T) { hangsUp(t, wire, socket) })
	}
}

// hangsUp holds the call by one wire.
func hangsUp(t *testing.T, wire phone.Wire, socket string) {
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	clip, err := talker()
	if err != nil {
		t.Fatal(err)
	}
	const token = "the account's auth token"
	dir := t.TempDir()
	sales := routeFile(t, "phone:\n  numbers: [+4930*, \"*\"]\n  hang-up: true\nprice:\n  call: 0.25\nrecord:\n  dir: "+dir+"\n")
	set := testSettings(t, "--twilio-token="+token, "--calls-max=1", "--calls-load=1", "--trace-file=none", "--routes=sales="+sales,
		"--stt-model=stub", "--llm-model=stub", "--tts-voice=stub", "--vad-turn=", "--talk-silence=500ms", "--tts-speed=4", "--asterisk-audiosocket="+socket)
	s := newService(set, slog.New(slog.DiscardHandler))
	s.stubs = &stub.Engines{Delays: stub.Delays{STT: 50 * time.Millisecond, LLM: 50 * time.Millisecond, TTS: 50 * time.Millisecond}, Sound: clip.PCM, Rate: clip.Rate}
	s.around.llm = func(g llm.Generator) llm.Generator { return farewell{g} }
	ended := &endings{}
	s.traces = append(s.traces, ended)
	at, stop, err := s.alone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	line := phone.Phone{
		Wire: phone.Twilio, Address: strings.Replace(at, "ws://", "http://", 1) + "/twilio/voice", From: "+4989111", To: "+4930222", Secret: token, Bare: true,
		Delay: 20 * time.Millisecond, Buffer: 60 * time.Millisecond,
	}
	if wire == phone.AudioSocket {
		line = phone.Phone{Wire: wire, Address: socket, Delay: 20 * time.Millisecond}
	}
	call, err := line.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	if _, _, err := call.Talk(caller.Speech{Sound: clip.PCM, Rate: clip.Rate}); err != nil {
		t.Fatal(err)
	}
	m, err := call.Until(t.Context(), 30*time.Second, func(phone.Moment) bool { return false })
	if !errors.Is(err, caller.ErrEnded) {
		t.Fatalf("the call goes on: %v", err)
	}
	if len(m.Answers) == 0 {
		t.Fatal("nothing was said")
	}
	for _, a := range m.Answers {
		if left := a.To - a.From - m.Heard(a.From); a.Cut || left > m.Rate/10 {
			t.Errorf("the goodbye was cut off, %d samples of it", left)
		}
	}
	s.calls.Wait()
	ended.mu.Lock()
	defer ended.mu.Unlock()
	if len(ended.all) != 1 {
		t.Fatalf("%d calls ended", len(ended.all))
	}
	c := ended.all[0]
	r := c.Record
	if c.Reason != trace.Agent || c.Route != "sales" || r.From != line.From || r.To != line.To || r.Why != "All is done." || r.Cost != 0.25 || r.Tools != 1 || r.Verdicts[budget.Failed] != 0 || r.Spoken < 0.5 || r.Heard < 1 {
		t.Errorf("it ended as %s, by route %s: %+v", c.Reason, c.Route, r)
	}
	if file, err := os.Stat(filepath.Join(dir, c.ID+".wav")); err != nil || r.Recording != filepath.Join(dir, c.ID+".wav") || file.Size() < 4*8000 {
		t.Errorf("the recording is %q: %v", r.Recording, err)
	}
}
