package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
	"riposte/web"
)

// echoing is a model that says what it was told to be.
type echoing struct {
	mu    sync.Mutex
	asked []llm.Request
}

func (e *echoing) Read(context.Context, llm.Request) (llm.Reading, error) { return llm.Reading{}, nil }

func (e *echoing) Generate(_ context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	e.mu.Unlock()
	return func(yield func(llm.Piece, error) bool) {
		_ = yield(llm.Piece{Text: r.Messages[0].Text}, nil) && yield(llm.Piece{Usage: &llm.Usage{}}, nil)
	}
}

// deaf hears nobody.
type deaf struct{}

func (deaf) Speech(audio.PCM) (float32, error) { return 0, nil }
func (deaf) Close() error                      { return nil }

// Calls by a route are held by its settings, over a real socket: what the model is asked, what a turn may take, and what is told of it.
func TestCallsByRoute(t *testing.T) {
	sales := routeFile(t, "talk:\n  instructions: Sell a lot.\nbudget:\n  llm: 2s\nllm:\n  max-tokens: 20\n  temperature: 0.5\n")
	s := newService(testSettings(t, "--talk-instructions=Help them.", "--routes=sales="+sales), slog.New(slog.DiscardHandler))
	var err error
	if s.routes, err = s.settings.openRoutes(); err != nil {
		t.Fatal(err)
	}
	flush, err := s.openTelemetry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer flush()
	var sink told
	s.traces = append(s.traces, &sink)
	model := &echoing{}
	s.engines, s.model = &engines{}, model
	s.ear = stt.Whole(func(context.Context, audio.PCM, stt.Options) (stt.Transcript, error) { return stt.Transcript{}, nil })
	s.voice, s.phrases = tts.SynthesizerFunc{Hz: 24000, Fn: nil}, &tts.Phrasebook{}
	s.vad = func() (voiceActivity, error) { return deaf{}, nil }
	s.status.Set(web.Ready)
	wire := s.wire()
	wire.Language = nil // nobody knows any
	server := httptest.NewServer(s.telling(web.Routes(&s.status, wire)))
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")

	for _, tt := range []struct {
		name, query, update string
		route, says         string
		tokens              int
		temperature         float32
		share               float64
	}{
		{"none", "", "", "default", "Help them.", 40, 0, 400},
		{"a model that is no route", "?model=gpt-realtime", "", "default", "Help them.", 40, 0, 400},
		{"by its name", "?route=sales", "", "sales", "Sell a lot.", 20, 0.5, 2000},
		{"by the model's name", "?model=sales", "", "sales", "Sell a lot.", 20, 0.5, 2000},
		{"both", "?route=sales&model=gpt-realtime", "", "sales", "Sell a lot.", 20, 0.5, 2000},
		{"none, over the model's name", "?route=default&model=sales", "", "default", "Help them.", 40, 0, 400},
		{"the client goes over it", "?route=sales", `"instructions":"Sell little.","max_output_tokens":9,"riposte":{"budget":{"llm_ms":700}},`, "sales", "Sell little.", 9, 0.5, 700},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ws, _, err := websocket.DefaultDialer.Dial(url+"/v1/realtime"+tt.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			c := client{t, ws}
			c.send(`{"type":"session.update","session":{` + tt.update + `"output_modalities":["text"],"include":["riposte.turn"]}}`)
			c.until("session.updated")
			c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello."}]}}`)
			c.send(`{"type":"response.create"}`)
			if got := c.until("response.output_text.done")["text"]; got != tt.says {
				t.Errorf("the model was told %q, want %q", got, tt.says)
			}
			shares, _ := c.until("riposte.turn")["shares_ms"].(map[string]any)
			if shares["llm"] != tt.share || shares["stt"] != 300.0 {
				t.Errorf("the turn might take %v", shares)
			}
			model.mu.Lock()
			r := model.asked[len(model.asked)-1]
			model.mu.Unlock()
			if r.MaxTokens != tt.tokens || r.Sampling.Temperature != tt.temperature {
				t.Errorf("the model was asked for %d tokens at %v", r.MaxTokens, r.Sampling.Temperature)
			}
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
			s.calls.Wait()
			turn := sink.turns[len(sink.turns)-1] // the call is over
			if turn.Route != tt.route || turn.Report.Plan.Share(budget.LLM) != time.Duration(tt.share)*time.Millisecond {
				t.Errorf("traced are route %s, plan %+v", turn.Route, turn.Report.Plan)
			}
			if end := sink.ended[len(sink.ended)-1]; end.Route != tt.route || end.Turns != 1 {
				t.Errorf("traced is the call %+v", end)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		_, r, err := websocket.DefaultDialer.Dial(url+"/v1/realtime?route=nowhere&model=sales", nil)
		if !errors.Is(err, websocket.ErrBadHandshake) || r.StatusCode != http.StatusNotFound {
			t.Fatalf("got %v, %v", r, err)
		}
		var refused struct {
			Error struct{ Code, Message string }
		}
		if err := json.NewDecoder(r.Body).Decode(&refused); err != nil {
			t.Fatal(err)
		}
		if e := refused.Error; e.Code != "unknown_route" || e.Message != `There is no route "nowhere". There are: default, sales.` {
			t.Errorf("refused with %+v", e)
		}
		if n := s.status.Calls(); n != 0 {
			t.Errorf("it holds a place: %d", n)
		}
	})
	page := httptest.NewRecorder()
	s.telemetry.metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`riposte_calls_begun_total{route="sales",wire="websocket"} 4`, `riposte_calls_begun_total{route="default",wire="websocket"} 3`} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
