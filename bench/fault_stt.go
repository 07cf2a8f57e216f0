package bench

import (
	"context"
	"iter"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

// Ear returns a recogniser that has the injector's faults. One that hangs or fails makes no hypotheses either; one that is late
// makes them as ever, since they are made while the caller talks.
func (i *Injector) Ear(r stt.Recognizer) stt.Recognizer {
	ear := faultyEar{r, i}
	if s, ok := r.(stt.Scribe); ok {
		return faultyScribe{ear, s}
	}
	return ear
}

type faultyEar struct {
	stt.Recognizer
	faults *Injector
}

// Listen listens as the recogniser does.
func (e faultyEar) Listen(o stt.Options) stt.Stream {
	if heard := o.Heard; heard != nil {
		o.Heard = func(h stt.Hypothesis) {
			switch kind, what := e.faults.now(budget.STT); {
			case kind == Hanging || kind == Failing:
				return
			case kind == Garbage && what != Lost:
				h.Text = garble(h.Text, what)
				h.Stable = 0
			}
			heard(h)
		}
	}
	return faultyStream{e.Recognizer.Listen(o), e.faults}
}

// faultyScribe writes down recordings as well.
type faultyScribe struct {
	faultyEar
	scribe stt.Scribe
}

// Scribe writes down as the recogniser does.
func (s faultyScribe) Scribe(ctx context.Context, speech audio.PCM, o stt.Recording) iter.Seq2[stt.Segment, error] {
	return func(yield func(stt.Segment, error) bool) {
		kind, what := s.faults.strike(budget.STT)
		if err := s.faults.stumble(ctx, kind); err != nil {
			yield(stt.Segment{}, err)
			return
		}
		for segment, err := range s.scribe.Scribe(ctx, speech, o) {
			if kind == Garbage {
				segment.Text = garble(segment.Text, what)
			}
			if !yield(segment, err) {
				return
			}
		}
	}
}

type faultyStream struct {
	stt.Stream
	faults *Injector
}

// Finish finishes as the stream does.
func (s faultyStream) Finish(ctx context.Context, u budget.Urgency) (stt.Transcript, error) {
	kind, what := s.faults.strike(budget.STT)
	if kind == Hanging || kind == Failing {
		return stt.Transcript{}, s.faults.stumble(ctx, kind)
	}
	t, err := s.Stream.Finish(ctx, u)
	if err != nil {
		return t, err
	}
	if kind == Garbage {
		t.Text, t.Closed = garble(t.Text, what), 0
	}
	return t, s.faults.stumble(ctx, kind)
}

// loopWords is how many words a recogniser that is caught in a loop brings: as many as Whisper's text has room for.
const loopWords = 200

// garble returns what is left of a text.
func garble(text string, what Rubbish) string {
	switch what {
	case Loop:
		return circle(loopWords)
	case Lost:
		return ""
	}
	return "\xff\xfe\x00" + text[:len(text)/2] + "\x80"
}
