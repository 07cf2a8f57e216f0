package bench

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

func TestParseFault(t *testing.T) {
	if len(Faults) != 12 {
		t.Fatalf("there are %d faults", len(Faults))
	}
	for _, f := range Faults {
		if got, err := ParseFault(f.String()); err != nil || got != f {
			t.Errorf("%v is read as %v, %v", f, got, err)
		}
	}
	for _, bad := range []string{"", "clean", "llm", "llm.slow", "mic.hang"} {
		if _, err := ParseFault(bad); err == nil || !strings.Contains(err.Error(), "stt.delay stt.hang") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// soundEar hears the same words whatever is said, and tells of half of them before.
type soundEar struct{}

func (soundEar) Listen(o stt.Options) stt.Stream { return soundStream{o.Heard} }

type soundStream struct{ heard func(stt.Hypothesis) }

func (s soundStream) Write(audio.PCM) {
	s.heard(stt.Hypothesis{Text: "hello", Stable: 5, Speech: time.Second})
}

func (s soundStream) Finish(context.Context, budget.Urgency) (stt.Transcript, error) {
	return stt.Transcript{Text: "hello there", Speech: 2 * time.Second, Closed: 0.9}, nil
}

func (soundStream) Hasten(budget.Urgency) {}

func (soundStream) Close() {}

func TestFaultyEar(t *testing.T) {
	for _, c := range []struct {
		kind         FaultKind
		what         Rubbish
		hypothesis   func(string) bool
		text         func(string) bool
		err          error
		takes, until time.Duration // until the context's end; 0 is never
	}{
		{kind: "", hypothesis: is("hello"), text: is("hello there")},
		{kind: Delayed, hypothesis: is("hello"), text: is("hello there"), takes: 2 * time.Second},
		{kind: Delayed, hypothesis: is("hello"), err: context.DeadlineExceeded, takes: time.Second, until: time.Second},
		{kind: Hanging, hypothesis: is(""), err: context.DeadlineExceeded, takes: time.Minute, until: time.Minute},
		{kind: Failing, hypothesis: is(""), err: errInjected},
		{kind: Garbage, what: Loop, hypothesis: many, text: many},
		{kind: Garbage, what: Lost, hypothesis: is("hello"), text: is("")},
		{kind: Garbage, what: Bytes, hypothesis: broken, text: broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := &Injector{Delay: 2 * time.Second}
			var told string
			s := i.Ear(soundEar{}).Listen(stt.Options{Heard: func(h stt.Hypothesis) { told = h.Text }})
			defer s.Close()
			if c.kind != "" {
				i.Set(Fault{budget.STT, c.kind}, c.what)
			}
			s.Write(nil)
			if !c.hypothesis(told) {
				t.Errorf("%s %s: the hypothesis is %q", c.kind, c.what, told)
			}
			ctx, cancel := within(t, c.until)
			defer cancel()
			began := time.Now()
			got, err := s.Finish(ctx, budget.Urgency{})
			if !errors.Is(err, c.err) || c.err == nil && !c.text(got.Text) || time.Since(began) != c.takes {
				t.Errorf("%s %s: %q, %v after %v", c.kind, c.what, got.Text, err, time.Since(began))
			}
			if i.Struck() != (c.kind != "") {
				t.Errorf("%s %s: struck %t", c.kind, c.what, i.Struck())
			}
			if i.Set(Fault{}, ""); i.Struck() {
				t.Error("no fault has struck")
			}
		})
	}
}

// within returns a context that ends after d; 0 is never.
func within(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(t.Context())
	}
	return context.WithTimeout(t.Context(), d)
}

func is(want string) func(string) bool { return func(got string) bool { return got == want } }
func many(got string) bool             { return len(strings.Fields(got)) == loopWords }
func broken(got string) bool           { return got != "" && !utf8.ValidString(got) }

// soundModel says one thing.
type soundModel struct{}

func (soundModel) Generate(context.Context, llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		_ = yield(llm.Piece{Text: "It is noon."}, nil) && yield(llm.Piece{Usage: &llm.Usage{Finish: llm.FinishStop}}, nil)
	}
}

func (soundModel) Read(context.Context, llm.Request) (llm.Reading, error) {
	return llm.Reading{Over: 1}, nil
}

func TestFaultyModel(t *testing.T) {
	for _, c := range []struct {
		kind         FaultKind
		what         Rubbish
		text         func(string) bool
		err          error
		takes, until time.Duration
		reads        error
	}{
		{kind: "", text: is("It is noon.")},
		{kind: Delayed, text: is("It is noon."), takes: 1500 * time.Millisecond},
		{kind: Hanging, text: is(""), err: context.DeadlineExceeded, takes: time.Minute, until: time.Minute, reads: context.DeadlineExceeded},
		{kind: Failing, text: is(""), err: errInjected, reads: errInjected},
		{kind: Garbage, what: Loop, text: func(s string) bool { return len(strings.Fields(s)) == drivelTokens }, takes: drivelTokens * tokenTakes},
		{kind: Garbage, what: Loop, text: func(s string) bool { return len(s) > 0 }, err: context.DeadlineExceeded, takes: time.Second, until: time.Second},
		{kind: Garbage, what: Control, text: func(s string) bool { return s != "" && strings.Trim(s, "\x00\x1b\x07") == "" }, takes: drivelTokens * tokenTakes},
		{kind: Garbage, what: Empty, text: is("")},
	} {
		synctest.Test(t, func(t *testing.T) {
			var i Injector
			m := i.Model(soundModel{})
			if c.kind != "" {
				i.Set(Fault{budget.LLM, c.kind}, c.what)
			}
			ctx, cancel := within(t, c.until)
			defer cancel()
			began := time.Now()
			var text strings.Builder
			var failed error
			ended := false
			for p, err := range m.Generate(ctx, llm.Request{}) {
				text.WriteString(p.Text)
				failed, ended = err, p.Usage != nil
			}
			if !errors.Is(failed, c.err) || !c.text(text.String()) || ended != (c.err == nil) || time.Since(began) != c.takes {
				t.Errorf("%s %s: %q, %v after %v", c.kind, c.what, text.String(), failed, time.Since(began))
			}
			if _, err := m.Read(ctx, llm.Request{}); c.what == "" && !errors.Is(err, c.reads) {
				t.Errorf("%s: reading fails with %v", c.kind, err)
			}
		})
	}
}

func TestFaultyVoice(t *testing.T) {
	voice := tts.SynthesizerFunc{Hz: 16000, Fn: func(context.Context, string, tts.Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) { yield(slices.Repeat(audio.PCM{3000, -3000}, 800), nil) }
	}}
	quiet := func(level float64) bool { return math.IsInf(level, -1) }
	for _, c := range []struct {
		kind         FaultKind
		what         Rubbish
		samples      int
		level        func(float64) bool
		err          error
		takes, until time.Duration
	}{
		{kind: "", samples: 1600, level: func(l float64) bool { return l > -30 && l < -10 }},
		{kind: Delayed, samples: 1600, level: func(l float64) bool { return l > -30 && l < -10 }, takes: 1500 * time.Millisecond},
		{kind: Hanging, level: quiet, err: context.DeadlineExceeded, takes: time.Minute, until: time.Minute},
		{kind: Failing, level: quiet, err: errInjected},
		{kind: Garbage, what: Mute, level: quiet},
		{kind: Garbage, what: Silent, samples: 16000, level: quiet},
		{kind: Garbage, what: Noise, samples: 16000, level: func(l float64) bool { return l > -6 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			var i Injector
			v := i.Voice(voice)
			if c.kind != "" {
				i.Set(Fault{budget.TTS, c.kind}, c.what)
			}
			ctx, cancel := within(t, c.until)
			defer cancel()
			began := time.Now()
			var sound audio.PCM
			var failed error
			for pcm, err := range v.Speak(ctx, "sixteen letters.", tts.Options{}) {
				sound, failed = append(sound, pcm...), err
			}
			if !errors.Is(failed, c.err) || len(sound) != c.samples || !c.level(sound.Level()) || time.Since(began) != c.takes {
				t.Errorf("%s %s: %d samples of %.1f dBFS, %v after %v", c.kind, c.what, len(sound), sound.Level(), failed, time.Since(began))
			}
		})
	}
}

// A fault of one stage leaves the others alone.
func TestFaultsOfOthers(t *testing.T) {
	var i Injector
	i.Set(Fault{budget.TTS, Failing}, "")
	s := i.Ear(soundEar{}).Listen(stt.Options{})
	if got, err := s.Finish(t.Context(), budget.Urgency{}); err != nil || got.Text != "hello there" {
		t.Errorf("%q, %v", got.Text, err)
	}
	if _, err := i.Model(soundModel{}).Read(t.Context(), llm.Request{}); err != nil || i.Struck() {
		t.Errorf("%v, struck %t", err, i.Struck())
	}
}

// soundScribe writes down one sentence.
type soundScribe struct{ soundEar }

func (soundScribe) Scribe(context.Context, audio.PCM, stt.Recording) iter.Seq2[stt.Segment, error] {
	return func(yield func(stt.Segment, error) bool) { yield(stt.Segment{Text: "hello there"}, nil) }
}

// Recordings have the recogniser's faults as well, and are written down by it as without them.
func TestFaultyScribe(t *testing.T) {
	var i Injector
	written := func() (text string, err error) {
		for s, failed := range stt.Write(t.Context(), i.Ear(soundScribe{}), nil, stt.Recording{Words: true}) {
			text, err = s.Text, failed
		}
		return text, err
	}
	if text, err := written(); text != "hello there" || err != nil {
		t.Errorf("without a fault: %q, %v", text, err)
	}
	i.Next(Fault{budget.STT, Failing}, "", func() {})
	if _, err := written(); !errors.Is(err, errInjected) {
		t.Errorf("it fails with %v", err)
	}
	i.Next(Fault{budget.STT, Garbage}, Loop, func() {})
	if text, err := written(); !many(text) || err != nil {
		t.Errorf("a loop: %q, %v", text, err)
	}
	if text, _ := written(); text != "hello there" {
		t.Errorf("a fault for one request lasts: %q", text)
	}
}
