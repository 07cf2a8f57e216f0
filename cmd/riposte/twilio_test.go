package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"riposte/bench/stub"
	"riposte/caller"
	"riposte/caller/phone"
	"riposte/native/nativetest"
)

// A caller who comes by way of Twilio is heard and answered; who has no place hears that the line is busy, and who is not Twilio is not let in.
func TestTwilio(t *testing.T) {
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	clip, err := talker()
	if err != nil {
		t.Fatal(err)
	}
	const token = "the account's auth token"
	set := testSettings(t, "--twilio-token="+token, "--calls-max=1", "--calls-load=1", "--trace-file=none",
		"--stt-model=stub", "--llm-model=stub", "--tts-voice=stub", "--vad-turn=", "--talk-silence=500ms", "--tts-speed=4")
	log := &strings.Builder{}
	s := newService(set, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	s.stubs = &stub.Engines{Delays: stub.Delays{STT: 50 * time.Millisecond, LLM: 50 * time.Millisecond, TTS: 50 * time.Millisecond}, Sound: clip.PCM, Rate: clip.Rate}
	at, stop, err := s.alone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	line := phone.Phone{
		Wire: phone.Twilio, Address: strings.Replace(at, "ws://", "http://", 1) + "/twilio/voice", From: "+4930111", To: "+4930222", Secret: token, Bare: true,
		Delay: 20 * time.Millisecond, Buffer: 60 * time.Millisecond,
	}
	call, err := line.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := line.Dial(t.Context()); !errors.Is(err, phone.ErrTwiML) {
		t.Errorf("a second caller: %v", err)
	}
	turn, _, err := call.Say(t.Context(), caller.Speech{Sound: clip.PCM, Rate: clip.Rate})
	if err != nil || turn.Audible < time.Second {
		t.Errorf("the answer sounded for %v: %v", turn.Audible, err)
	}
	if err := call.Close(); err != nil {
		t.Errorf("what the service did against the protocol: %v", err)
	}
	told := get(t, strings.Replace(at, "ws://", "http://", 1)+"/metrics")
	for _, want := range []string{`riposte_mouth_to_ear_seconds_count{route="default"} 1`, `riposte_phone_pieces_total{fate="sent"}`, `wire="twilio"`} {
		if !strings.Contains(told, want) {
			t.Errorf("the metrics do not tell %s", want)
		}
	}
	line.Secret = "another token"
	if _, err := line.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("somebody else: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	t.Logf("the gap was %v", turn.Gap)
	if t.Failed() || testing.Verbose() {
		t.Log(log)
	}
}
