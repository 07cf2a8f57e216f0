// Package caller is the far end of a call: it speaks the OpenAI Realtime protocol over WebSocket or WebRTC to any server of it, plays
// sound into the call as a microphone would, and measures what comes back on its own clock.
package caller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"riposte/audio"
)

// Caller makes calls. Its fields are its settings and may not change while a call lasts. It is safe for use by many
// goroutines at once.
type Caller struct {
	URL          string        // Of the server, such as ws://127.0.0.1:8080; without a path, /v1/realtime is meant.
	Key          string        // Sent as a bearer token, unless it is empty.
	Model        string        // Asked for when connecting; empty leaves it to the server.
	Voice        string        // The answer's; empty leaves it to the server.
	Instructions string        // What the model is told; empty leaves it to the server.
	Language     string        // What the caller speaks, ISO 639-1; empty leaves it to the server.
	Wire         Wire          // By which calls are made. It defaults to WebSocket.
	Format       Format        // Of the sound on a WebSocket. It defaults to PCM. Over WebRTC all sound is Opus.
	Buffer       time.Duration // Over WebRTC: how long sound waits before it is played at least, so that what is late is not missed. It defaults to DefaultBuffer.
	Wait         time.Duration // How long the server may be silent while it owes an answer. It defaults to 20 s.
	Log          *slog.Logger  // It defaults to nowhere.
	Holds        bool          // Pause what is played when the server asks for it, which only some do.

	// Room makes, for a call, what lies between its loudspeaker and its microphone, at a rate in hertz. nil is a headset: nothing
	// of what is played comes back.
	Room func(rate int) Room
	// Tap is shown each frame that is sent, and what was played meanwhile. nil shows nobody.
	Tap func(sent, played audio.PCM)

	// DialContext connects. It defaults to the network. Over WebRTC it is for the offer alone.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// Detour leads what goes over WebRTC another way than straight to the server. nil is straight.
	Detour Detour
}

// DefaultBuffer is how long sound waits at least that came over WebRTC, before it is played.
const DefaultBuffer = 40 * time.Millisecond

// Wire is what calls are made by.
type Wire string

// The wires of the protocol.
const (
	WebSocket Wire = "ws"
	WebRTC    Wire = "webrtc"
)

// Detour changes what the two sides of a call over WebRTC tell each other of where they are.
type Detour interface {
	Offer(sdp string) string           // What the server is told.
	Answer(sdp string) (string, error) // What the caller is told.
}

// Room carries sound from a call's loudspeaker to its microphone.
type Room interface {
	// Hear takes what is played in a frame's time, and returns what of it and of what was played before comes to the microphone
	// meanwhile: as many samples.
	Hear(played audio.PCM) audio.PCM
}

const (
	// setupWait is how long a server may take for each step before the first sound.
	setupWait = 10 * time.Second
	// reportsWait is how long a server may take to agree to send turn reports, which only some know.
	reportsWait = 3 * time.Second
)

// Dial connects and agrees on the session with the server, until ctx ends. The call that it returns sends silence from
// then on and must be closed. The error is, wrapped, ErrBusy when the server has no room.
func (c *Caller) Dial(ctx context.Context) (*Call, error) {
	address, err := c.address()
	if err != nil {
		return nil, err
	}
	connected, cancel := context.WithTimeout(ctx, setupWait)
	defer cancel()
	var l line
	if c.Wire == WebRTC {
		l, err = c.offer(connected, address)
	} else {
		l, err = c.connect(connected, address)
	}
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	call := newCall(l, cmp.Or(c.Format, PCM), cmp.Or(c.Wait, 20*time.Second), c.Log)
	if c.Room != nil {
		call.room = c.Room(call.format.Rate())
	}
	call.tap = c.Tap
	if err := c.agree(ctx, call); err != nil {
		call.Close()
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	call.talk()
	return call, nil
}

// address returns the URL to connect to.
func (c *Caller) address() (string, error) {
	where := c.URL
	if !strings.Contains(where, "://") {
		where = "ws://" + where // as in 127.0.0.1:8080
	}
	u, err := url.Parse(where)
	if err != nil {
		return "", fmt.Errorf("the server's URL: %w", err)
	}
	safe := u.Scheme == "wss" || u.Scheme == "https"
	if !safe && u.Scheme != "ws" && u.Scheme != "http" {
		return "", fmt.Errorf("the server's URL is %q; it must begin with ws:// or wss://", c.URL)
	}
	if u.Host == "" {
		return "", fmt.Errorf("the server's URL is %q; it names no host", c.URL)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/realtime"
	}
	switch c.Wire {
	case "", WebSocket:
		u.Scheme = "ws"
	case WebRTC:
		if c.Format != "" && c.Format != PCM {
			return "", fmt.Errorf("the format is %q: over WebRTC all sound is Opus; leave it out", c.Format)
		}
		if u.Scheme = "http"; !strings.HasSuffix(u.Path, "/calls") {
			u.Path = strings.TrimSuffix(u.Path, "/") + "/calls"
		}
	default:
		return "", fmt.Errorf("the wire is %q; it must be %s or %s", c.Wire, WebSocket, WebRTC)
	}
	if safe {
		u.Scheme += "s"
	}
	if c.Model != "" {
		q := u.Query()
		q.Set("model", c.Model)
		u.RawQuery = q.Encode()
	}
	return u.String(), nil
}

// agree waits for the session and sets it up.
func (c *Caller) agree(ctx context.Context, call *Call) error {
	if err := call.await(ctx, setupWait, func(l *ledger) bool { return l.created }); err != nil {
		return fmt.Errorf("waiting for the session: %w", err)
	}
	for _, step := range []struct {
		update  clientEvent
		wait    time.Duration
		refused func(error) error
	}{
		{c.session(), setupWait, func(err error) error { return fmt.Errorf("setting up the session: %w", err) }},
		// Other servers need not know of turn reports, and may say so or not.
		{c.extras(), reportsWait, func(error) error { return nil }},
	} {
		done := call.updates()
		if err := call.line.send(step.update); err != nil {
			return err
		}
		err := call.await(ctx, step.wait, func(l *ledger) bool { return l.updated > done || l.refused[step.update.EventID] != "" })
		if err == nil {
			err = call.refusal(step.update.EventID)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, ErrEnded) {
			err = step.refused(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// session returns the event that asks for what the caller wants.
func (c *Caller) session() clientEvent {
	f := cmp.Or(c.Format, PCM)
	s := map[string]any{"type": "realtime", "output_modalities": []string{"audio"}}
	transcription := map[string]any{"model": "whisper-1"} // Every server takes the name; ours has one recogniser anyway.
	if c.Language != "" {
		transcription["language"] = c.Language
	}
	output := map[string]any{"format": f.wire()}
	if c.Voice != "" {
		output["voice"] = c.Voice
	}
	if c.Instructions != "" {
		s["instructions"] = c.Instructions
	}
	s["audio"] = map[string]any{"input": map[string]any{"format": f.wire(), "transcription": transcription}, "output": output}
	return clientEvent{Type: "session.update", EventID: "caller_session", Session: s}
}

// extras returns the event that asks for what is no part of the protocol.
func (c *Caller) extras() clientEvent {
	include := []string{"riposte.turn"}
	if c.Holds {
		include = append(include, "riposte.hold")
	}
	return clientEvent{
		Type: "session.update", EventID: "caller_reports", Session: map[string]any{"type": "realtime", "include": include},
	}
}
