package pipeline

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

const (
	ms   = time.Millisecond
	rate = audio.SpeechRate // on all sides, so that nothing needs a resampler
)

// line is a fake call: the test is the caller.
type line struct {
	t    *testing.T
	in   chan transport.Inbound
	hang chan struct{}

	mu  sync.Mutex
	out []sent
}

// sent is what the service told the caller, and when.
type sent struct {
	at time.Time
	transport.Outbound
}

func newLine(t *testing.T) *line {
	return &line{t: t, in: make(chan transport.Inbound), hang: make(chan struct{})}
}

func (l *line) ID() string { return "call" }

func (l *line) Receive(ctx context.Context) (transport.Inbound, error) {
	select {
	case in := <-l.in:
		return in, nil
	case <-l.hang:
		return nil, transport.ErrHungUp
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *line) Send(ctx context.Context, out transport.Outbound) error {
	if v, ok := out.(transport.Voice); ok {
		v.PCM = append(audio.PCM(nil), v.PCM...)
		out = v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, sent{time.Now(), out})
	return ctx.Err()
}

// speak plays sound into the call in real time, as frames of 20 ms, and returns when the last voiced sample was spoken.
func (l *line) speak(voiced, silence time.Duration) (end time.Time) {
	for d := time.Duration(0); d < voiced+silence; d += 20 * ms {
		time.Sleep(20 * ms)
		frame := make(audio.PCM, audio.Samples(20*ms, rate))
		if d < voiced {
			for i := range frame {
				frame[i] = int16(8000 * math.Sin(float64(i)/3))
			}
			end = time.Now()
		}
		l.in <- transport.Sound{PCM: frame, Rate: rate, At: time.Now()}
	}
	return end
}

// sent returns what the caller was told of the kind T, in order.
func told[T transport.Outbound](l *line) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []T
	for _, s := range l.out {
		if o, ok := s.Outbound.(T); ok {
			out = append(out, o)
		}
	}
	return out
}

// toldAt returns when the caller was told the first thing of the kind T.
func toldAt[T transport.Outbound](l *line) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.out {
		if _, ok := s.Outbound.(T); ok {
			return s.at
		}
	}
	l.t.Errorf("the caller was never told a %T", *new(T))
	return time.Time{}
}

// levelVAD takes everything that is not silent for speech.
type levelVAD struct{}

func (levelVAD) Speech(frame audio.PCM) (float32, error) {
	if frame.Level() > -50 {
		return 1, nil
	}
	return 0, nil
}

func (levelVAD) Close() error { return nil }

// engines are fake engines with set delays.
type engines struct {
	mu       sync.Mutex
	hears    []string      // What the recogniser hears, turn by turn.
	says     string        // What the model says.
	stt      time.Duration // How long a transcription takes.
	ttft     time.Duration // How long the model takes to its first token,
	token    time.Duration // and to each one after it.
	tts      time.Duration // How long a clause takes to its first sound.
	fail     map[string]error
	prompts  [][]llm.Message
	asked    []llm.Request
	reads    []llm.Request // What the model was to read ahead.
	preempt  int           // How many of the next clauses are stopped in the middle for more urgent work.
	read     time.Duration // How long that takes,
	unread   int           // and how often it was stopped.
	over     float32       // How likely the model finds it that the last message is complete.
	tokens   int           // That the model has made.
	heard    int
	canceled int // Transcriptions that were stopped.
}

func (e *engines) transcribe(ctx context.Context, speech audio.PCM, _ stt.Options) (stt.Transcript, error) {
	select {
	case <-time.After(e.stt):
	case <-ctx.Done():
		e.mu.Lock()
		e.canceled++
		e.mu.Unlock()
		return stt.Transcript{}, context.Cause(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.fail["stt"]; err != nil {
		return stt.Transcript{}, err
	}
	text := e.hears[min(e.heard, len(e.hears)-1)]
	e.heard++
	return stt.Transcript{Text: text, Speech: speech.Duration(rate), Closed: closed}, nil
}

// closed is what fake recognisers find of every end of a sentence. Fake voices do not fall at their end, as if more were to come:
// that and this are even.
const closed = 0.981

func (e *engines) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		e.mu.Lock()
		e.prompts = append(e.prompts, r.Messages)
		e.asked = append(e.asked, r)
		err := e.fail["llm"]
		e.mu.Unlock()
		wait := e.ttft
		for _, word := range strings.SplitAfter(e.says, " ") {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				yield(llm.Piece{}, context.Cause(ctx))
				return
			}
			if err != nil {
				yield(llm.Piece{}, err)
				return
			}
			if wait = e.token; r.Began != nil {
				r.Began(llm.Reading{Prompt: 10, Cached: 4})
			}
			e.mu.Lock()
			e.tokens++
			e.mu.Unlock()
			if !yield(llm.Piece{Text: word}, nil) {
				return
			}
		}
		yield(llm.Piece{Usage: &llm.Usage{Prompt: 10, Cached: 4, Output: 5, Finish: llm.FinishStop}}, nil)
	}
}

// Read reads ahead.
func (e *engines) Read(ctx context.Context, r llm.Request) (llm.Reading, error) {
	e.mu.Lock()
	e.reads = append(e.reads, r)
	e.mu.Unlock()
	select {
	case <-time.After(e.read):
		return llm.Reading{Over: e.over}, nil
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unread++
		return llm.Reading{}, context.Cause(ctx)
	}
}

// Listen is a recogniser with a hypothesis, one word longer than the last, after every half second. All but its last word
// is stable.
func (e *engines) Listen(o stt.Options) stt.Stream {
	return &listening{Stream: stt.Whole(e.transcribe).Listen(o), engines: e, heard: o.Heard}
}

type listening struct {
	stt.Stream
	*engines
	heard   func(stt.Hypothesis)
	samples int
	told    int
}

func (s *listening) Write(pcm audio.PCM) {
	s.Stream.Write(pcm)
	s.samples += len(pcm)
	s.mu.Lock()
	words := strings.SplitAfter(s.hears[min(s.engines.heard, len(s.hears)-1)], " ")
	s.mu.Unlock()
	for s.told < min(s.samples/(rate/2), len(words)) {
		s.told++
		stable := strings.TrimSpace(strings.Join(words[:s.told-1], ""))
		s.heard(stt.Hypothesis{
			Text:   strings.TrimSpace(strings.Join(words[:s.told], "")),
			Stable: len(stable), Speech: audio.Duration(s.samples, rate),
		})
	}
}

// letter is how long the fake voice speaks a letter.
const letter = 60 * ms

func (e *engines) speak(ctx context.Context, text string, _ tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		select {
		case <-time.After(e.tts):
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		if err := e.fail["tts"]; err != nil {
			yield(nil, err)
			return
		}
		e.mu.Lock()
		preempted := e.preempt > 0
		e.preempt--
		e.mu.Unlock()
		for i := range text {
			if preempted && i == 2 {
				yield(nil, budget.ErrPreempted)
				return
			}
			pcm := make(audio.PCM, audio.Samples(letter, rate))
			for i := range pcm {
				pcm[i] = int16(5000 * math.Sin(float64(i)/5))
			}
			if !yield(pcm, nil) {
				return
			}
		}
	}
}

// newSession returns a session over the line with the engines.
func newSession(l *line, e *engines) *Session {
	return &Session{
		Call: l, VAD: levelVAD{},
		STT:     stt.Whole(e.transcribe),
		LLM:     e,
		TTS:     tts.SynthesizerFunc{Hz: rate, Fn: e.speak},
		Log:     slog.New(slog.DiscardHandler),
		Apology: "Sorry, please say that again.",
		Settings: transport.Settings{
			Instructions: "Be brief.", Rate: rate,
			Detection: &transport.Detection{
				Threshold: 0.5, Padding: 300 * ms, Silence: 300 * ms, Respond: true, Interrupt: true,
			},
		},
	}
}

// session runs a session over the line with the engines, for as long as talk talks, and returns why it ended.
func session(t *testing.T, e *engines, change func(*Session), talk func(*line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		s := newSession(l, e)
		if change != nil {
			change(s)
		}
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		talk(l)
		select {
		case <-l.hang:
		default:
			close(l.hang)
		}
		began := time.Now()
		if err := <-done; !errors.Is(err, transport.ErrHungUp) && !errors.Is(err, transport.ErrShutdown) {
			t.Errorf("the session ended with %v", err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the session took %v to end", took)
		}
	})
}

// quick are engines that keep to the budget.
func quick() *engines {
	return &engines{
		hears: []string{"what time is it"}, says: "It is noon, as far as I can see. Anything else?",
		stt: 120 * ms, ttft: 80 * ms, token: 10 * ms, tts: 90 * ms,
	}
}

// hasty is a recogniser that believes to know all the words as soon as it hears something.
type hasty struct {
	*engines
	text string
}

func (h hasty) Listen(o stt.Options) stt.Stream {
	return &hastily{Stream: stt.Whole(h.transcribe).Listen(o), text: h.text, heard: o.Heard}
}

type hastily struct {
	stt.Stream
	text    string
	heard   func(stt.Hypothesis)
	samples int
}

func (s *hastily) Write(pcm audio.PCM) {
	s.Stream.Write(pcm)
	s.samples += len(pcm)
	s.heard(stt.Hypothesis{Text: s.text, Speech: audio.Duration(s.samples, rate)})
}
