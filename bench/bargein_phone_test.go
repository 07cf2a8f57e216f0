package bench

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/bench/stub"
	"riposte/budget/trace"
	"riposte/caller/phone"
	"riposte/pipeline"
	"riposte/transport"
	"riposte/transport/asterisk"
	server "riposte/transport/phone"
	"riposte/transport/twilio"
	"riposte/tts"
)

// telephony is a whole service at the other end of pipes, but for its engines: what a telephone wire brings is held by the pipeline.
type telephony struct {
	listener *pipe
	witness  Witness
	voice    *Overheard
	other    tts.Synthesizer // In its place, where it is not nil.
	model    stub.Model
	phone    server.Server
	asterisk asterisk.Server
	twilio   twilio.Server
}

// level takes what is louder than -40 dBFS for a voice.
type level struct{}

func (level) Speech(p audio.PCM) (float32, error) {
	if p.Level() > -40 {
		return 1, nil
	}
	return 0, nil
}

func (level) Close() error { return nil }

// local is a connection from this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// locals has only such connections.
type locals struct{ *pipe }

func (l locals) Accept() (net.Conn, error) {
	c, err := l.pipe.Accept()
	if err != nil {
		return nil, err
	}
	return local{c}, nil
}

// serve runs f with the service, in fake time.
func (s *telephony) serve(t *testing.T, wire phone.Wire, f func(t *testing.T, p phone.Phone)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.listener = &pipe{conns: make(chan net.Conn), done: make(chan struct{})}
		if s.voice == nil {
			s.voice = newFakeVoice()
		}
		log := slog.New(slog.DiscardHandler)
		s.phone = server.Server{
			Log: log, Admit: func() (func(), error) { return func() {}, nil },
			Choose: func(server.Opening) (transport.Settings, error) {
				return transport.Settings{Language: "en", Speed: 1, Detection: &transport.Detection{Threshold: 0.5, Padding: 300 * time.Millisecond, Silence: 400 * time.Millisecond, Respond: true, Interrupt: true}}, nil
			},
		}
		if s.phone.Hold = s.hold; s.model.Words == 0 {
			s.model = stub.Model{Delays: stub.Delays{LLM: 80 * time.Millisecond, Token: time.Millisecond, Words: 60}}
		}
		s.asterisk = asterisk.Server{Phone: &s.phone, Log: log}
		ctx, cancel := context.WithCancel(context.Background())
		var work sync.WaitGroup
		p := phone.Phone{Wire: wire, DialContext: s.listener.dial, Seed: 1}
		var web http.Server
		switch wire {
		case phone.AudioSocket:
			p.Address = "service:9092"
			work.Go(func() { _ = s.asterisk.ServeAudioSocket(ctx, locals{s.listener}) })
		case phone.ChanWS:
			p.Address = "ws://service/asterisk/media"
			web = http.Server{Handler: http.HandlerFunc(s.asterisk.Media), BaseContext: func(net.Listener) context.Context { return ctx }}
			work.Go(func() { _ = web.Serve(s.listener) })
		case phone.Twilio:
			p.Address, p.Secret, p.Bare = "https://service/twilio/voice", "12345", true
			s.twilio = twilio.Server{
				Phone: &s.phone, Tickets: &server.Tickets{}, Token: p.Secret, Public: "https://service", Path: "/twilio/media", Strict: true,
				Buffer: 200 * time.Millisecond, Log: log,
			}
			routes := http.NewServeMux()
			routes.HandleFunc("POST /twilio/voice", s.twilio.Answer)
			routes.HandleFunc("GET /twilio/media", s.twilio.Media)
			web = http.Server{Handler: routes, BaseContext: func(net.Listener) context.Context { return ctx }}
			work.Go(func() { _ = web.Serve(s.listener) })
		}
		f(t, p)
		cancel()
		_ = web.Close()
		_ = s.listener.Close()
		work.Wait()
		time.Sleep(time.Minute) // what was begun ends
	})
}

// hold holds a call.
func (s *telephony) hold(ctx context.Context, c transport.Call, set transport.Settings) error {
	s.witness.CallBegan(trace.Call{ID: c.ID(), Record: &trace.Record{Line: c.(transport.Telephone).Parties().Line}})
	session := pipeline.Session{
		Call: c, Settings: set, VAD: level{}, STT: &stub.Ear{Delays: stub.Delays{STT: 100 * time.Millisecond}}, LLM: &s.model, TTS: cmp.Or[tts.Synthesizer](s.other, s.voice),
		Trace:   func(t trace.Turn) { t.Call = c.ID(); s.witness.TurnEnded(t) },
		Retrace: func(t trace.Turn) { t.Call = c.ID(); s.witness.TurnChanged(t) },
		Log:     slog.New(slog.DiscardHandler),
	}
	return session.Run(ctx)
}

// What is remembered of an answer that is spoken over at any moment is what the far side has played of it, to the word, and nothing of it is left
// in a buffer. A hundred times on each wire with RIPOSTE_TEST_LONG=1, and as many as show what is broken otherwise.
func TestPhoneBargeIn(t *testing.T) {
	often := 8
	if os.Getenv("RIPOSTE_TEST_LONG") != "" {
		often = 100
	}
	for _, wire := range []phone.Wire{phone.Twilio, phone.AudioSocket, phone.ChanWS} {
		for _, network := range []struct {
			name          string
			delay, jitter time.Duration
			times         int
		}{{"at once", 0, 0, (often + 4) / 5}, {"60 ms away", 60 * time.Millisecond, 20 * time.Millisecond, often}} {
			t.Run(fmt.Sprintf("%s, %s", wire, network.name), func(t *testing.T) {
				clips := said(t)
				s := telephony{}
				s.serve(t, wire, func(t *testing.T, p phone.Phone) {
					p.Delay, p.Jitter = network.delay, network.jitter
					b := PhoneBargeIn{
						Telephone: Telephone{Phone: p, Witness: &s.witness}, Clips: clips, Times: network.times, Seed: 1, Wait: 10 * time.Second, Voice: s.voice,
						Voiced: func(pcm audio.PCM, rate int) (int, int, bool) {
							from := firstVoiced(pcm, rate)
							return from, audio.LastVoiced(pcm, rate), true
						},
						Each: func(x Trial) {
							if x.Bad {
								t.Logf("%d, %s: %s", x.N, x.What, x.Came)
							}
						},
					}
					r, err := b.Run(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					i := r.Interruptions
					t.Logf("silent %v, taken %v, after the commit %v (at most %.0f), emptied %v, in hand at most %.0f; wrong %d, near %d, unchecked %d, continued %d",
						r.Silence, i.Commit, r.AfterCommit, r.AfterMost, r.Emptied, r.Queued, i.HeardTextWrong, i.HeardTextNear, i.HeardTextUnchecked, i.Continued)
					if i.Times != network.times || i.Missed > 0 || i.Failed > 0 || r.Left > 0 || i.HeardTextWrong > 0 {
						t.Errorf("%d times, %d missed, %d failed, %d left sound in a buffer, %d heard texts wrong", i.Times, i.Missed, i.Failed, r.Left, i.HeardTextWrong)
					}
					if len(r.Faults) > 0 {
						t.Errorf("faults:\n%s", strings.Join(r.Faults, "\n"))
					}
				})
			})
		}
	}
}
