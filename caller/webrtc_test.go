package caller

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/caller/lossy"
	"riposte/transport"
	"riposte/transport/realtime"
	"riposte/transport/webrtc"
)

// need skips a test where libopus is not installed, or fails it where that must not be.
func need(t testing.TB) {
	t.Helper()
	if err := opus.Check(); err != nil {
		if os.Getenv("RIPOSTE_TEST_MODELS") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// service is a service with fake engines: it takes what is louder than -40 dBFS for speech, and a turn to be over after 200 ms of
// anything else; then it says an answer.
type service struct {
	*testing.T
	url    string
	webrtc *webrtc.Server
	length time.Duration // Of an answer, of which the first 100 ms are silent.
	pause  time.Duration // Of silence in the middle of it.
	busy   atomic.Int64  // How many offers for calls that there are are refused.
	forgot atomic.Bool   // It knows of none of its calls.

	mu    sync.Mutex
	turns []time.Duration // Of voice.
}

func serve(t *testing.T, s *service, change ...func(*webrtc.Server)) *service {
	t.Helper()
	need(t)
	s.T = t
	var places sync.WaitGroup
	calls := &realtime.Server{
		Defaults: transport.Settings{Language: "en", Detection: &transport.Detection{Threshold: 0.5, Respond: true, Interrupt: true}}, Model: "m", Voice: "joe",
		Log: slog.New(slog.DiscardHandler), Hold: s.hold, Keys: []string{"secret"},
		Admit: func() (func(), error) { places.Add(1); return places.Done, nil },
	}
	s.webrtc = &webrtc.Server{Calls: calls, UDP: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Limits: webrtc.Limits{DTX: true}}
	for _, c := range change {
		c(s.webrtc)
	}
	ctx, end := context.WithCancelCause(context.Background())
	if err := s.webrtc.Open(ctx); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/realtime/", s.webrtc)
	mux.HandleFunc("POST /v1/realtime/calls/{id}", func(w http.ResponseWriter, r *http.Request) {
		if s.busy.Add(-1) >= 0 {
			http.Error(w, "come again", http.StatusServiceUnavailable)
			return
		}
		if s.forgot.Load() {
			http.Error(w, "there is no such call", http.StatusNotFound)
			return
		}
		s.webrtc.ServeHTTP(w, r)
	})
	mux.Handle("/v1/realtime", calls)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		end(transport.ErrShutdown)
		server.Close()
		places.Wait()
		if err := s.webrtc.Close(); err != nil {
			t.Error(err)
		}
	})
	s.url = strings.Replace(server.URL, "http://", "ws://", 1)
	return s
}

// overTCP leaves no other way to a service.
type overTCP struct{ t *testing.T }

func (d overTCP) Offer(sdp string) string { return d.lead(sdp, "none") }

func (d overTCP) Answer(sdp string) (string, error) {
	sdp = d.lead(sdp, " tcp ")
	if !strings.Contains(sdp, "a=candidate:") {
		d.t.Error("the service has no TCP port")
	}
	return sdp, nil
}

func (d overTCP) lead(sdp, with string) string {
	var b strings.Builder
	for line := range strings.Lines(sdp) {
		if !strings.HasPrefix(line, "a=candidate:") || strings.Contains(line, with) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A call is made by TCP where UDP does not come through, and to ::1.
func TestOtherWays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, udp, tcp, host string
		detour               Detour
	}{
		{"over TCP", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1", overTCP{t}},
		{"over IPv6", "[::1]:0", "", "::1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", net.JoinHostPort(tt.host, "0"))
			if err != nil {
				t.Skip(err)
			}
			s := serve(t, &service{length: 200 * ms}, func(s *webrtc.Server) { s.UDP, s.TCP = tt.udp, tt.tcp })
			// The same service at another address.
			server := &http.Server{Handler: s.webrtc}
			go server.Serve(listener)
			t.Cleanup(func() { server.Close() })
			call := dial(t, &Caller{URL: "ws://" + listener.Addr().String(), Key: "secret", Wire: WebRTC, Detour: tt.detour})
			defer call.Close()
			turn, err := call.Say(t.Context(), question(600*ms))
			if err != nil {
				t.Fatal(err)
			}
			if turn.Transcript != "said a" || turn.Audible == 0 {
				t.Errorf("the turn is %+v", turn)
			}
		})
	}
}

// hold holds one call.
func (s *service) hold(ctx context.Context, c transport.Call, set transport.Settings) error {
	var voiced, quiet time.Duration
	for n := 0; ; {
		in, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		if u, ok := in.(transport.Configure); ok {
			set = u.Settings
		}
		snd, ok := in.(transport.Sound)
		if !ok {
			continue
		}
		d := snd.PCM.Duration(snd.Rate)
		if snd.PCM.Level() > -40 {
			voiced, quiet = voiced+d, 0
			continue
		}
		if quiet += d; voiced < 100*time.Millisecond || quiet < 200*time.Millisecond {
			continue
		}
		s.mu.Lock()
		s.turns = append(s.turns, voiced)
		s.mu.Unlock()
		n++
		voiced, quiet = 0, 0
		if err := s.answer(ctx, c, set, n); err != nil {
			return err
		}
	}
}

// answer says the answer to the n-th turn.
func (s *service) answer(ctx context.Context, c transport.Call, set transport.Settings, n int) error {
	id := string(rune('a' + n - 1))
	r := transport.Response{ID: "resp_" + id, Item: "item_answer_" + id, Encoding: set.Encoding}
	item := "item_" + id
	for _, out := range []transport.Outbound{
		transport.SpeechStarted{Item: item}, transport.SpeechStopped{Item: item}, transport.Committed{Item: item}, transport.Transcribed{Item: item, Text: "said " + id},
		transport.ResponseStarted{Response: r}, transport.MessageStarted{Response: r}, transport.Words{Response: r, Text: "answer " + id},
	} {
		if err := c.Send(ctx, out); err != nil {
			return err
		}
	}
	voice := append(make(audio.PCM, audio.Samples(100*time.Millisecond, set.Rate)), tone(s.length, set.Rate)...)
	voice = append(voice, make(audio.PCM, audio.Samples(s.pause, set.Rate))...)
	voice = append(voice, tone(s.length, set.Rate)...)
	size, begun := set.Rate/50, time.Now()
	for len(voice) > 0 {
		if err := c.Send(ctx, transport.Voice{Response: r, PCM: voice[:size]}); err != nil {
			return err
		}
		voice = voice[size:]
		begun = begun.Add(20 * time.Millisecond)
		time.Sleep(time.Until(begun) - 60*time.Millisecond)
	}
	if err := c.Send(ctx, transport.ResponseDone{Response: r, Status: transport.Completed, Text: "answer " + id}); err != nil {
		return err
	}
	return c.Send(ctx, transport.TurnReport{Response: r.ID, Items: []string{item}, Transcript: "said " + id, Answer: "answer " + id})
}

// tone is a whole number of packets of a voice, so to say.
func tone(length time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(length, rate))
	for i := range p {
		at := float64(i) / float64(rate)
		p[i] = int16(6000 * math.Sin(2*math.Pi*220*at) * (1 + 0.5*math.Sin(2*math.Pi*5*at)))
	}
	return p
}

// question is something to say, of which the first and last samples are voice.
func question(length time.Duration) Speech {
	return Speech{Sound: tone(length, 24000), Rate: 24000, Voiced: audio.Samples(length, 24000)}
}

// near reports whether a time is at most so much more and so much less than wanted.
func near(got, want, less, more time.Duration) bool { return got >= want-less && got <= want+more }

// lateness is how late a machine is, in all: by how much sleeps were longer than they ought to be.
type lateness struct{ sum atomic.Int64 }

// watch begins to look at it, until the test ends.
func watch(t *testing.T) *lateness {
	const nap = 5 * ms
	var l lateness
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			began := time.Now()
			select {
			case <-time.After(nap):
				if over := time.Since(began) - nap; over > nap {
					l.sum.Add(int64(over))
				}
			case <-end:
				return
			}
		}
	}()
	t.Cleanup(func() { close(end); <-done })
	return &l
}

// held is what two turns were like.
type held struct {
	turns    []Turn
	answers  []Answer
	received Received
	voiced   []time.Duration // Of each turn, as the service heard it.
	late     time.Duration   // The machine was, meanwhile.
}

// over holds two turns over a wire. A machine that is late then cannot say how long anything takes: it may try some more times.
func (s *service) over(t *testing.T, w Wire) (h held) {
	t.Helper()
	l := watch(t)
	for range 5 {
		s.mu.Lock()
		s.turns = nil
		s.mu.Unlock()
		was := l.sum.Load()
		h = held{}
		call := dial(t, &Caller{URL: s.url, Key: "secret", Wire: w})
		for range 2 {
			turn, err := call.Say(t.Context(), question(600*ms))
			if err != nil {
				t.Fatal(w, err)
			}
			h.turns = append(h.turns, turn)
		}
		h.answers, h.received = call.Now().Answers, call.Received()
		call.Close()
		s.mu.Lock()
		h.voiced = s.turns
		s.mu.Unlock()
		if h.late = time.Duration(l.sum.Load() - was); h.late < 50*ms {
			break
		}
		t.Logf("%s: this machine was late by %v", w, h.late)
	}
	return h
}

// A turn means the same over both wires: the gap is longer by the jitter buffer and the codec alone, and what is heard is as long. By how much
// the machine itself is late each of them may differ.
func TestOverWebRTC(t *testing.T) {
	t.Parallel()
	s := serve(t, &service{length: 300 * ms, pause: 600 * ms})
	ws, rtc := s.over(t, WebSocket), s.over(t, WebRTC)
	for w, h := range map[Wire]held{WebSocket: ws, WebRTC: rtc} {
		for i, id := range []string{"a", "b"} {
			if turn := h.turns[i]; turn.Transcript != "said "+id || turn.Answer != "answer "+id || turn.Cutoffs != 0 || turn.Report == nil {
				t.Errorf("%s: %+v", w, turn)
			}
		}
		for _, a := range h.answers {
			if a.Cut() || !a.Over() || a.Starved > 300*ms+h.late || len(a.Clauses) != 1 || !near(a.Sound.Duration(24000), 1300*ms, 60*ms, 60*ms) {
				t.Errorf("%s: cut %v, over %v, starved %v, %d clauses, %v of sound", w, a.Cut(), a.Over(), a.Starved, len(a.Clauses), a.Sound.Duration(24000))
			}
		}
		for i, voiced := range h.voiced {
			if !near(voiced, 600*ms, 60*ms, 60*ms) {
				t.Errorf("%s: turn %d: %v of voice came", w, i+1, voiced)
			}
		}
	}
	if r := rtc.received; r.Packets < 50 || r.Lost > 2+int(rtc.late/(20*ms)) {
		t.Errorf("received %+v", r)
	}
	late := ws.late + rtc.late
	for i := range rtc.turns {
		ws, rtc := ws.turns[i], rtc.turns[i]
		if !near(rtc.Gap, ws.Gap+50*ms, 40*ms+late, 200*ms+late) {
			t.Errorf("the gap is %v, over WebSocket %v", rtc.Gap, ws.Gap)
		}
		if !near(rtc.Audible, ws.Audible, 60*ms, 60*ms) {
			t.Errorf("%v is heard, over WebSocket %v", rtc.Audible, ws.Audible)
		}
	}
}

// Who may not call is told so, and where there is no such thing.
func TestRefusedOverWebRTC(t *testing.T) {
	s := serve(t, &service{length: 100 * ms})
	_, err := (&Caller{URL: s.url, Wire: WebRTC}).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a key: %v", err)
	}
	_, err = (&Caller{URL: s.url, Key: "secret", Wire: "pigeon"}).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), `"pigeon"`) {
		t.Errorf("by pigeon: %v", err)
	}
	_, err = (&Caller{URL: s.url, Key: "secret", Wire: WebRTC, Format: MuLaw}).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Opus") {
		t.Errorf("in another format: %v", err)
	}
}

// A call goes on over a network that loses, delays and reorders, and what is said is heard as before.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, &service{length: 600 * ms})
	n, err := lossy.Open(lossy.Network{Loss: 0.05, Delay: 20 * ms, Jitter: 30 * ms, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	call := dial(t, &Caller{URL: s.url, Key: "secret", Wire: WebRTC, Detour: n})
	defer call.Close()
	turn, err := call.Say(t.Context(), question(600*ms))
	if err != nil {
		t.Fatal(err)
	}
	if !near(turn.Audible, 1200*ms, 100*ms, 100*ms) {
		t.Errorf("%v is heard", turn.Audible)
	}
	for i, voiced := range s.turns {
		if !near(voiced, 600*ms, 80*ms, 80*ms) {
			t.Errorf("turn %d: %v of voice came", i+1, voiced)
		}
	}
	if carried, lost := n.Counts(); lost == 0 || carried < 10*lost {
		t.Errorf("%d packets were carried, %d lost", carried, lost)
	}
	if p := s.webrtc.Packets(); p.Received < 50 || p.Missed == 0 || p.Recovered == 0 || p.Missed > p.Received/5 {
		t.Errorf("the service counts %+v", p)
	}
}

// A call whose caller is without a network for a while, and then in another one, goes on, though the first offer there is not answered.
func TestAnotherNetwork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	s := serve(t, &service{length: 300 * ms})
	n, err := lossy.Open(lossy.Network{Outage: 2 * time.Second, From: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s.busy.Store(1)
	began := time.Now()
	call := dial(t, &Caller{URL: s.url, Key: "secret", Wire: WebRTC, Detour: n})
	defer call.Close()
	if _, err := call.Say(t.Context(), question(600*ms)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(began.Add(12500 * ms))) // 3 s for each offer
	turn, err := call.Say(t.Context(), question(600*ms))
	if err != nil {
		t.Fatal(err)
	}
	if s.busy.Load() >= 0 {
		t.Error("no offer was answered")
	}
	if turn.Transcript != "said b" || turn.Audible == 0 {
		t.Errorf("the turn in the other network is %+v", turn)
	}
}

// A call that its server does not know any more, as after a restart, is over: it does not wait for another way to it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	s := serve(t, &service{length: 300 * ms}, func(s *webrtc.Server) { s.Limits.Away = time.Second })
	n, err := lossy.Open(lossy.Network{Outage: time.Hour, From: 500 * ms})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	call := dial(t, &Caller{URL: s.url, Key: "secret", Wire: WebRTC, Detour: n, Wait: time.Minute})
	defer call.Close()
	s.forgot.Store(true)
	if _, err := call.Say(t.Context(), question(600*ms)); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "no such call") {
		t.Errorf("it ended with %v", err)
	}
}
