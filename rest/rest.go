// Package rest answers OpenAI's REST endpoints: chats, responses, transcriptions, translations, speech and models, by the engines that hold
// the calls. All of its work goes on in the background: it takes what calls leave of the machine.
package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

// Server answers what is below /v1/ but for /v1/realtime. Set the exported fields, then use Handler.
type Server struct {
	// Enter lets in who may ask, and returns the route that the address names, or answers the request and returns false.
	Enter func(w http.ResponseWriter, r *http.Request) (route string, ok bool)
	// Follow returns what a request with these headers is answered under, or says why it is not: a *Problem. nil follows nothing.
	Follow func(ctx context.Context, h http.Header) (context.Context, error)
	// Admit takes a place for a request, or says why there is none: a *Problem.
	Admit func() (release func(), err error)
	// Engines returns what answers requests by a route; empty is the default one. It is called only by who has a place.
	Engines func(route string) Engines
	Default Route            // What requests are answered by that name no route.
	Routes  map[string]Route // What those are that name one in place of a model.
	Models  Models
	Voices  []string // Names of voices: the first is the voice's own, the others mean the same.
	// Language reports whether recordings may be in a language, an ISO 639-1 code, by a route. It is called as Engines is; nil takes any.
	Language func(route, code string) bool
	Limits   Limits
	Created  time.Time // When the models are said to have been made.
	Version  string
	Log      *slog.Logger
	Spans    bool                // Requests have spans, of which those of engines elsewhere are part.
	Ended    func(trace.Request) // Is told of each request at its end; nil is nobody. It must return at once.

	held     atomic.Int64 // Bytes of what requests have sent.
	decoding sync.Mutex   // Of long ones, one at a time: JSON of many small things takes a hundred times its length in memory.
}

// Engines are what does the work.
type Engines struct {
	LLM   llm.Generator
	STT   stt.Recognizer
	TTS   tts.Synthesizer
	Cores *budget.Executor // Shares the cores between them; nil runs everything at once.
}

// Route is what a route sets, where a request does not.
type Route struct {
	Instructions string // What the model is told where no message of the system's is there; empty for nothing.
	Sampling     llm.Sampling
	Language     string  // Of recordings, ISO 639-1; empty lets the model find out.
	Speed        float32 // Of speech; 0 is the voice's own.
}

// Models are the names of what answers.
type Models struct {
	LLM, STT, TTS string
	Aliases       []string // Names that mean the same where one is asked for; "*" is any.
}

// Limits bounds what one request may take. A zero field means its default.
type Limits struct {
	Body      int64         // The longest request in JSON, in bytes. It defaults to 4 MiB.
	Upload    int64         // The longest recording, in bytes. It defaults to 25 MiB, as OpenAI's.
	Recording time.Duration // How long it may sound. It defaults to an hour.
	Sending   time.Duration // How long it may take to come. It defaults to a minute.
	Speech    int           // The longest text that is spoken, in characters. It defaults to 4096, as OpenAI's.
	Held      int64         // How many bytes requests may have sent, all together, that are being read or answered. It defaults to 256 MiB.
	Slow      time.Duration // How long a client may take to read what it is sent. It defaults to 10 s.
	Time      time.Duration // How long a request may take altogether. It defaults to 10 minutes, which OpenAI's clients wait for.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Body:      cmp.Or(l.Body, 4<<20),
		Upload:    cmp.Or(l.Upload, 25<<20),
		Recording: cmp.Or(l.Recording, time.Hour),
		Sending:   cmp.Or(l.Sending, time.Minute),
		Speech:    cmp.Or(l.Speech, 4096),
		Held:      cmp.Or(l.Held, 256<<20),
		Slow:      cmp.Or(l.Slow, 10*time.Second),
		Time:      cmp.Or(l.Time, 10*time.Minute),
	}
}

// background is how urgent all work here is.
var background = budget.Urgency{Class: budget.Background}

// errTime ends a request that takes too long.
var errTime = &Problem{Status: http.StatusServiceUnavailable, Code: "timeout", Retry: 10 * time.Second,
	Message: "The request took longer than it may here: the machine is busy with calls, or it asks for too much. Ask for less, or later."}

// errLeft ends a request whose client has left, and which then nobody is told of, or one that the service's end comes upon.
var errLeft = &Problem{Status: http.StatusServiceUnavailable, Code: "shutting_down", Retry: 5 * time.Second,
	Message: "The service is shutting down, and the request has not come to its end."}

// Handler returns what answers.
//
//	POST /v1/chat/completions
//	POST /v1/responses
//	POST /v1/audio/transcriptions
//	POST /v1/audio/translations
//	POST /v1/audio/speech
//	GET  /v1/models, /v1/models/{id}
func (s *Server) Handler() http.Handler {
	s.Limits = s.Limits.withDefaults()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	at := func(path, method string, stage budget.Stage, answer func(*exchange) error) {
		mux.HandleFunc(path, s.at(path, method, stage, answer))
	}
	at("/v1/chat/completions", "POST", budget.LLM, s.chat)
	at("/v1/responses", "POST", budget.LLM, s.respond)
	at("/v1/audio/transcriptions", "POST", budget.STT, s.transcribe)
	at("/v1/audio/translations", "POST", budget.STT, s.translate)
	at("/v1/audio/speech", "POST", budget.TTS, s.speak)
	at("/v1/models", "GET", "", s.listModels)
	at("/v1/models/{id...}", "GET", "", s.showModel)
	at("/v1/responses/{id...}", "", "", func(x *exchange) error {
		return &Problem{Status: http.StatusNotFound, Code: "response_not_found", Message: "There is no such response: this service keeps none."}
	})
	mux.HandleFunc("/", s.at("other", "", "", func(x *exchange) error {
		return &Problem{Status: http.StatusNotFound, Code: "unknown_url", Message: "There is nothing at " + x.r.Method + " " + x.r.URL.Path + "."}
	}))
	return mux
}

// exchange is a request on its way to its answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // Ends with the client, and when the request has taken too long.
	conn   *http.ResponseController
	slow   time.Duration
	route  string // That the address names.
	begun  bool   // Something of the answer was sent.
	held   int64  // Bytes of what it has sent.
	stream bool   // What is sent are events.
	lost   bool   // What is sent does not arrive.

	note trace.Request
	bill budget.Bill
	err  error // Why there was no answer, or no whole one.
}

// at answers one endpoint, by one method; "" is any. The stage is what answers there.
func (s *Server) at(endpoint, method string, stage budget.Stage, answer func(*exchange) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.Limits.Time, errTime)
		defer cancel()
		x := &exchange{w: w, r: r, ctx: ctx, conn: http.NewResponseController(w), slow: s.Limits.Slow}
		x.began(endpoint, stage)
		defer s.ended(x)
		door := &doorkeeper{ResponseWriter: w}
		var ok bool
		if x.route, ok = s.Enter(door, r); !ok {
			x.note.Status, x.note.Code = door.status, "not_let_in"
			return
		}
		defer func() { s.held.Add(-x.held) }()
		err := error(&Problem{Status: http.StatusMethodNotAllowed, Code: "method_not_supported",
			Message: r.Method + " is not what " + r.URL.Path + " answers: send " + method + "."})
		if method == "" || method == r.Method {
			if err = s.follow(x); err == nil {
				err = answer(x)
			}
		} else {
			w.Header().Set("Allow", method)
		}
		if err != nil {
			s.fail(x, err)
		}
		if x.begun {
			_ = x.conn.SetWriteDeadline(time.Time{}) // the connection may be used again
		}
	}
}

// follow notes where a request comes from, and refuses one that comes from here.
func (s *Server) follow(x *exchange) (err error) {
	if s.Spans {
		x.ctx = x.note.Context(x.ctx)
	}
	if s.Follow != nil {
		x.ctx, err = s.Follow(x.ctx, x.r.Header)
	}
	return err
}

// fail answers with an error. What is under way already ends with it where the client can tell it from an answer, and is cut off elsewhere.
func (s *Server) fail(x *exchange, err error) {
	p := problemOf(x.note.Stage, err)
	if _, told := errors.AsType[*Problem](err); !told && x.r.Context().Err() != nil { // which also ends when a request takes too long to come
		p = errLeft
	}
	x.failed(p, err)
	switch {
	case !x.begun:
		p.write(x.w)
	case x.stream:
		_ = x.event("error", map[string]any{"error": p.object()})
	default:
		panic(http.ErrAbortHandler) // else half of it would pass for the whole
	}
}

// problemOf returns what a client is told of an error of a stage.
func problemOf(stage budget.Stage, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if p := elsewhere(stage, err); p != nil {
		return p
	}
	switch {
	case errors.Is(err, llm.ErrBusy):
		return &Problem{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", Retry: 5 * time.Second,
			Message: "The language model has too many requests waiting. Ask again later."}
	case errors.Is(err, llm.ErrTooLong):
		return &Problem{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: "messages",
			Message: "The messages are too long for the model: " + err.Error() + ". Shorten them, or leave out old ones."}
	case errors.Is(err, llm.ErrFormat):
		return &Problem{Status: http.StatusBadRequest, Code: "invalid_value", Message: "The model cannot be held to what is asked for: " + err.Error() + "."}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: "internal_error", Message: "The service failed to answer: " + err.Error() + "."}
}
