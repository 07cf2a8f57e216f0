package realtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"riposte/transport"
)

// tracks is a Line on which sound goes by a way of its own, and whose client is the test.
type tracks struct {
	*peer
	in     chan Incoming
	events chan map[string]any
	played chan Playback
}

func (l *tracks) Name() string                                   { return "tracks" }
func (l *tracks) Goodbye(error)                                  {}
func (l *tracks) Close()                                         {}
func (l *tracks) Lead() time.Duration                            { return 60 * time.Millisecond }
func (l *tracks) Play(context.Context, transport.Outbound) error { return nil }
func (l *tracks) Playback() <-chan Playback                      { return l.played }

func (l *tracks) Receive() (Incoming, error) {
	in, ok := <-l.in
	if !ok {
		return Incoming{}, transport.ErrHungUp
	}
	if in.Event != nil {
		l.record("client", in.Event)
	}
	in.At = time.Unix(1796110000, 0)
	return in, nil
}

func (l *tracks) Send(event []byte) error {
	l.record("service", event)
	var e map[string]any
	if err := json.Unmarshal(event, &e); err != nil {
		l.Errorf("%v in %s", err, event)
	}
	l.events <- e
	return nil
}

// Where sound goes by tracks the client is told what becomes of it; keys of a telephone come beside the events as well.
func TestTracks(t *testing.T) {
	l := &tracks{peer: &peer{T: t}, in: make(chan Incoming), events: make(chan map[string]any, 100), played: make(chan Playback)}
	got := make(chan transport.Inbound, 10)
	r := transport.Response{ID: "resp_1", Item: "item_1"}
	s := &Server{Defaults: defaults(), Model: "m", Voice: "joe", Log: slog.New(slog.DiscardHandler)}
	s.Hold = func(ctx context.Context, c transport.Call, settings transport.Settings) error {
		if !settings.Holds || settings.Lead != 60*time.Millisecond || settings.Rate != PCMRate {
			t.Errorf("the call begins with %+v", settings)
		}
		if err := c.Send(ctx, transport.ResponseStarted{Response: r}); err != nil {
			return err
		}
		return listen(got)(ctx, c)
	}
	o, err := s.Open(Guest{}, "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Converse(t.Context(), l, o) }()
	want := func(kind string) map[string]any {
		t.Helper()
		e := <-l.events
		if e["type"] != kind {
			t.Fatalf("the event is %v, want %s", e, kind)
		}
		return e
	}
	for _, kind := range []string{"session.created", "conversation.created", "response.created"} {
		want(kind)
	}
	for _, state := range []PlaybackState{PlaybackStarted, PlaybackCleared, PlaybackStopped} {
		l.played <- Playback{"resp_1", state}
		if e := want("output_audio_buffer." + string(state)); e["response_id"] != "resp_1" {
			t.Errorf("of %s the client was told %v", state, e)
		}
	}
	l.in <- Incoming{Event: []byte(`{"type":"output_audio_buffer.clear"}`)}
	if in := <-got; in != (transport.Cancel{Maybe: true}) {
		t.Errorf("the pipeline was told %+v", in)
	}
	l.in <- Incoming{Other: transport.Key{Digit: '5'}}
	if e := want("input_audio_buffer.dtmf_event_received"); e["event"] != "5" || e["received_at"] != 1796110000. {
		t.Errorf("of a key the client was told %v", e)
	}
	if in := <-got; in != (transport.Key{Digit: '5'}) {
		t.Errorf("the pipeline was told %+v", in)
	}
	l.in <- Incoming{Event: []byte(`{"type":"response.create","response":{"conversation":"none"},"event_id":"aloud"}`)}
	if e := want("error"); dig(e, "error", "event_id") != "aloud" || dig(e, "error", "param") != "response.output_modalities" {
		t.Errorf("of an answer aloud beside the conversation the client was told %v", e)
	}
	l.in <- Incoming{Event: []byte(`{"type":"response.create","response":{"conversation":"none","output_modalities":["text"]}}`)}
	if in := (<-got).(transport.Respond); !in.Aside || !*in.Written {
		t.Errorf("the pipeline was told %+v", in)
	}
	close(l.in)
	if err := <-ended; err != transport.ErrHungUp {
		t.Errorf("the call ended with %v", err)
	}
}
