package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
	"riposte/audio/silero"
	"riposte/bench/stub"
	"riposte/native/nativetest"
	"riposte/native/onnx/onnxtest"
	"riposte/transport"
	"riposte/tts"
)

func TestAnsweringSettings(t *testing.T) {
	detect := []string{"--phone-answering=detect", "--talk-greeting=Hello.", "--phone-voicemail=Call back."}
	if err := testSettings(t, detect...).Validate(); err != nil {
		t.Error(err)
	}
	for want, args := range map[string][]string{
		"talk-greeting is empty":      {"--phone-answering=detect"},
		"phone-answering is off":      {"--phone-voicemail=Call back."},
		"phone-answering-silence is":  append(detect, "--phone-answering-silence=10ms"),
		"phone-answering-greeting is": append(detect, "--phone-answering-greeting=2m"),
		"phone-answering-wait is":     append(detect, "--phone-answering-wait=10s"),
		"phone-answering-end is":      append(detect, "--phone-answering-end=0s"),
		"phone-answering-patience is": append(detect, "--phone-answering-patience=1h"),
	} {
		parser, err := newParser(t.Context(), &serving{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"serve"}, args...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// far is a call by telephone, whose other side says something in real time, then nothing for 10 s, and hangs up.
type far struct {
	*telephone
	parties transport.Parties
	says    audio.PCM
	rate    int
	began   time.Time
	at      int
	voiced  []time.Time // When sound was sent.
}

func (f *far) Parties() transport.Parties { return f.parties }

func (f *far) Receive(ctx context.Context) (transport.Inbound, error) {
	n := f.rate / 50
	if f.began.IsZero() {
		f.began = time.Now()
	}
	if f.at += n; f.at > len(f.says)+10*f.rate {
		return nil, transport.ErrHungUp
	}
	select {
	case <-time.After(time.Until(f.began.Add(audio.Duration(f.at, f.rate)))):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	frame := make(audio.PCM, n)
	if f.at <= len(f.says) {
		copy(frame, f.says[f.at-n:])
	}
	return transport.Sound{PCM: frame, Rate: f.rate, At: time.Now()}, nil
}

func (f *far) Send(ctx context.Context, out transport.Outbound) error {
	if _, ok := out.(transport.Voice); ok {
		f.mu.Lock()
		f.voiced = append(f.voiced, time.Now())
		f.mu.Unlock()
	}
	return f.telephone.Send(ctx, out)
}

// said returns the answers that were given to their ends.
func (f *far) said() (texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, out := range f.sent {
		if d, ok := out.(transport.ResponseDone); ok && d.Status == transport.Completed {
			texts = append(texts, strings.TrimSpace(d.Text))
		}
	}
	return texts
}

// converse has a service hold calls over the real VAD, with stubs for engines.
func converse(t *testing.T, e *silero.Engine, clip audiotest.Clip, f *far, args ...string) (ended toldCall, why error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newService(testSettings(t, append(args, "--talk-openers=", "--calls-load=1", "--talk-silence=500ms")...), slog.New(slog.DiscardHandler))
		delays := stub.Delays{STT: 50 * time.Millisecond, LLM: 50 * time.Millisecond, TTS: 100 * time.Millisecond}
		stubs := stub.Engines{Delays: delays, Sound: clip.PCM, Rate: clip.Rate}
		voice, err := stubs.Voice()
		if err != nil {
			t.Fatal(err)
		}
		s.engines, s.ear, s.model, s.voice, s.phrases = &engines{}, stubs.Ear(), stubs.Model(), voice, &tts.Phrasebook{}
		s.vad = func() (voiceActivity, error) { return e.New() }
		s.routes = map[string]*route{defaultRoute: {settings: s.settings}}
		sink := &told{}
		s.traces = append(s.traces, sink)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		f.telephone = &telephone{end: cancel}
		settings := s.settings.call()
		settings.Route, settings.Rate, settings.Encoding = defaultRoute, f.rate, "audio/pcmu"
		why = s.hold(ctx, f, settings)
		if len(sink.ended) == 1 {
			ended = toldCall{sink.ended[0].Reason, sink.ended[0].Record.AnsweredBy}
		}
	})
	return ended, why
}

// toldCall is what sinks were told of a call.
type toldCall struct{ reason, by string }

func vadOf(t *testing.T) *silero.Engine {
	t.Helper()
	e := &silero.Engine{Model: nativetest.File(t, "silero-vad"), Runtime: onnxtest.Runtime(t)}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Prompts of machines, by telephone, with the real VAD: the message begins within 300 ms after the beep. Sentences of people are greeted.
func TestWhoAnswers(t *testing.T) {
	e := vadOf(t)
	const rate = 8000
	project := audiotest.Project(t)
	law := func(p audio.PCM) audio.PCM { return audio.FromMuLaw(p.AppendMuLaw(nil)) }
	silence := func(seconds float64) audio.PCM { return make(audio.PCM, int(seconds*rate)) }
	sentences := audiotest.Clip{Name: "sentences", Rate: rate}
	var short []audiotest.Clip
	for _, c := range project {
		if strings.HasPrefix(c.Name, "lj_") {
			sentences.PCM = append(sentences.PCM, c.At(t, rate)...)
		}
		if c.Name == "question.flac" {
			short = append(short, c)
		}
	}
	machines := []audiotest.Clip{sentences}
	for _, c := range audiotest.Corpus(t) {
		switch {
		case strings.HasPrefix(c.Name, "ast_en_vm-") && !strings.Contains(c.Kind, "short"):
			machines = append(machines, c)
		case strings.Contains(c.Kind, "short"):
			short = append(short, c)
		}
	}
	set := []string{"--phone-answering=detect", "--phone-voicemail=Please call back.", "--talk-greeting=Good morning."}
	placed := transport.Parties{To: "+4930", Placed: true}
	for _, c := range machines {
		f := &far{parties: placed, rate: rate}
		f.says = law(slices.Concat(silence(0.5), c.At(t, rate), silence(0.7), audiotest.Tone(rate/2, rate, 850, -18)))
		call, why := converse(t, e, project[0], f, set...)
		if !errors.Is(why, transport.ErrMachine) || call != (toldCall{"machine", "machine"}) || len(f.voiced) == 0 || !slices.Equal(f.said(), []string{"Please call back."}) {
			t.Errorf("%s: %v, %+v; said was %q", c.Name, why, call, f.said())
			continue
		}
		gap := f.voiced[0].Sub(f.began.Add(f.says.Duration(rate)))
		if t.Logf("%s: the message began %v after the beep", c.Name, gap); gap > 300*time.Millisecond || gap < 0 {
			t.Errorf("%s: the message began %v after the beep", c.Name, gap)
		}
	}
	for _, c := range short {
		f := &far{parties: placed, rate: rate}
		f.says = law(slices.Concat(silence(0.5), c.At(t, rate)))
		call, why := converse(t, e, project[0], f, set...)
		end := audio.Duration(audio.LastVoiced(f.says, rate), rate)
		if call.by != "human" || len(f.voiced) == 0 || f.said()[0] != "Good morning." {
			t.Errorf("%s: %v, %+v; said was %q", c.Name, why, call, f.said())
			continue
		}
		gap := f.voiced[0].Sub(f.began.Add(end))
		if t.Logf("%s: the greeting began %v after the last word", c.Name, gap); gap > 1050*time.Millisecond { // where the last word ends is heard differently here
			t.Errorf("%s: the greeting began %v after the last word", c.Name, gap)
		}
	}
	f := &far{parties: transport.Parties{To: "100"}, rate: rate, says: silence(1)} // a call that came
	if call, why := converse(t, e, project[0], f, set...); !errors.Is(why, transport.ErrHungUp) || call.by != "" || f.voiced[0].Sub(f.began) > 300*time.Millisecond {
		t.Errorf("a call that came: %v, %+v", why, call)
	}
}

// Callers by telephone at -50 dBFS are heard, with the real VAD.
func TestQuietCallers(t *testing.T) {
	e := vadOf(t)
	const rate = 8000
	project := audiotest.Project(t)
	var clips []audiotest.Clip
	for _, c := range audiotest.Corpus(t) {
		if strings.Contains(c.Kind, "read") || strings.Contains(c.Kind, "question") || strings.HasPrefix(c.Name, "lj_") || c.Name == "question.flac" || c.Name == "speech.flac" {
			clips = append(clips, c)
		}
	}
	for _, by := range []struct {
		level float64
		args  []string
	}{{-50, nil}, {-50, []string{"--no-phone-level"}}} {
		heard, pieces := 0, 0
		for _, c := range clips {
			p := audiotest.Level(c.At(t, rate), by.level)
			f := &far{parties: transport.Parties{To: "100"}, rate: rate}
			f.says = audio.FromALaw(slices.Concat(make(audio.PCM, rate), p).AppendALaw(nil))
			_, _ = converse(t, e, project[0], f, append(by.args, "--talk-silence=1s")...)
			n := 0
			for _, out := range f.sent {
				if _, ok := out.(transport.Committed); ok {
					n++
				}
			}
			pieces += n
			if n > 0 {
				heard++
			}
		}
		t.Logf("%v dBFS %v: of %d recordings %d are heard, as %d turns", by.level, by.args, len(clips), heard, pieces)
		if by.args == nil && heard < len(clips) {
			t.Errorf("%v dBFS: of %d recordings %d are heard", by.level, len(clips), heard)
		}
	}
}
