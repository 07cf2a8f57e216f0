package whisper

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"riposte/audio"
	"riposte/audio/mel"
	"riposte/budget"
	"riposte/stt"
)

var _ stt.Scribe = (*Engine)(nil)

// Scribe implements stt.Scribe. A recording is cut at its pauses, into pieces that one window holds.
func (e *Engine) Scribe(ctx context.Context, speech audio.PCM, o stt.Recording) iter.Seq2[stt.Segment, error] {
	return func(yield func(stt.Segment, error) bool) {
		if e.life == nil {
			yield(stt.Segment{}, ErrClosed)
			return
		}
		if o.Translate && !e.model.translates() {
			yield(stt.Segment{}, fmt.Errorf("%w: the model %s knows English only", stt.ErrTranslate, e.Model))
			return
		}
		if o.Language == "" && !o.Translate {
			o.Language = e.Language
		}
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer context.AfterFunc(e.life, func() { end(context.Cause(e.life)) })()
		samples := speech.AppendFloats(nil)
		for from := 0; from < len(samples); {
			rest := samples[from:min(len(samples), from+2*longest)] // farther ahead nobody need look
			rest = rest[:untilRest(rest)]
			n := cut(rest, e.easy())
			p, err := e.passage(ctx, rest[:n], o)
			if err != nil {
				yield(stt.Segment{}, err)
				return
			}
			if o.Language == "" && !p.empty() {
				o.Language = p.language // it does not change in mid-recording
			}
			for _, s := range p.segments(from, o.Words) {
				if !yield(s, nil) {
					return
				}
			}
			from += n
		}
	}
}

// untilRest returns how much of samples there is up to the middle of the first second of silence behind something loud; all of it where
// there is none.
func untilRest(samples []float32) int {
	const pause = audio.SpeechRate / levelFrame
	var levels []float64
	for frame := range slices.Chunk(samples, levelFrame) {
		levels = append(levels, power(frame)/float64(len(frame)))
	}
	quiet, begun := 0, false
	bound := max(silencePower, slices.Max(levels)*pauseDepth/4)
	for i, p := range levels {
		if p >= bound {
			quiet, begun = 0, true
			continue
		}
		if quiet++; begun && quiet == pause {
			return min(len(samples), (i-pause/2)*levelFrame/mel.Hop*mel.Hop)
		}
	}
	return len(samples)
}

// passage writes down what one window holds, when its turn has come. What goes on in the background and has to make room is done when
// there is some again.
func (e *Engine) passage(ctx context.Context, samples []float32, o stt.Recording) (p passage, err error) {
	l := listener{least: e.Window}
	job := budget.Job{Urgency: o.Urgency, Kind: "stt", Size: float64(l.fit(len(samples))), Threads: e.Threads}
	if o.Urgency.Class != budget.Awaited {
		job.Threads = 1 // The other cores are for those who are waited for.
	}
	for {
		err = e.Executor.Run(ctx, job, func(ctx context.Context, threads int) error {
			return e.borrow(ctx, func(ear *ear) (err error) {
				p, err = e.write(ear, threads, samples, o)
				return err
			})
		})
		if o.Urgency.Class != budget.Background || !errors.Is(err, budget.ErrPreempted) {
			break
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return passage{}, context.Cause(ctx)
	default:
		return passage{}, fmt.Errorf("whisper: %w", err)
	}
	return p, nil
}

// write writes down what one window holds, with an ear. What has more words in it than one decode may have is taken in halves.
func (e *Engine) write(ear *ear, threads int, samples []float32, o stt.Recording) (passage, error) {
	l := listener{ear: ear, threads: threads, least: e.Window, sound: &spectrum{filters: e.filters}}
	r, h, err := l.settle(samples, request{language: o.Language, prompt: o.Prompt, english: o.Translate})
	if errors.Is(err, errCrowded) {
		n := quietest(samples, len(samples)/3, len(samples)*2/3)
		a, err := e.write(ear, threads, samples[:n], o)
		if err != nil {
			return passage{}, err
		}
		b, err := e.write(ear, threads, samples[n:], o)
		if err != nil {
			return passage{}, err
		}
		return a.with(b, n), nil
	}
	p := passage{samples: len(samples), language: h.language, noSpeech: h.noSpeech}
	if err != nil || !h.speech() || words(h.tokens) == "" {
		return p, err
	}
	r.threads = threads
	steps := min(len(samples)/levelFrame, FullWindow) + 1
	ends, err := ear.ends(r, h, steps)
	if err != nil {
		return passage{}, err
	}
	p.words = kept(spoken(h.tokens, h.language), strings.Fields(words(h.tokens)))
	p.place(ends, steps, samples)
	return p, nil
}
