package tts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"riposte/audio"
	"riposte/budget"
)

// Fallback speaks by the first of two voices, and by the second as well where the first fails, or has made no sound shortly before that is
// due: whichever makes one first speaks the text. Where the first fails in the middle the second goes on with the words behind it.
type Fallback struct {
	First, Second Synthesizer
	// Late is how long before its sound is due the second is asked. 0 asks it only where the first has failed.
	Late time.Duration
}

var _ Synthesizer = (*Fallback)(nil)

// Rate is that of the first. The second's sound is changed to it.
func (f *Fallback) Rate() int { return f.First.Rate() }

// stretch is what a voice brings at a time: words, then the sound in which they end; or, alone, an error.
type stretch struct {
	pcm   audio.PCM
	words []Word
	err   error
}

// Speak yields the sound of the voice that is first to make one.
func (f *Fallback) Speak(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		s := spoken{Fallback: f, text: text, options: o, yield: yield}
		voice, p, err := s.race(ctx)
		for p, more := p, err == nil; more; p, more = <-voice {
			if p.err != nil {
				err = p.err
				break
			}
			if !s.tell(p) {
				return
			}
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil && s.samples > 0 && ctx.Err() == nil && !s.asked && s.rest() < len(text) {
			err = s.goOn(ctx, err)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// spoken is one text that two voices may speak.
type spoken struct {
	*Fallback
	text    string
	options Options
	yield   func(audio.PCM, error) bool
	asked   bool // The second was.

	samples int // That were made.
	end     int // The byte behind the last word that has ended in them, where that is known.
	known   bool
}

// begin has a voice speak. Each part has to be taken before it makes the next one.
func (s *spoken) begin(ctx context.Context, v Synthesizer, text string) <-chan stretch {
	out := make(chan stretch)
	put := func(p stretch) bool {
		select {
		case out <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(out)
		var words []Word
		o := s.options
		if o.Words != nil {
			o.Words = func(w Word) { words = append(words, w) }
		}
		for pcm, err := range s.atRate(v).Speak(ctx, text, o) {
			p := stretch{pcm, words, err}
			words = nil
			if !put(p) {
				return
			}
		}
		if len(words) > 0 {
			put(stretch{words: words})
		}
	}()
	return out
}

// race returns the voice that is first to make a sound, with its first part, which has no sound where there is nothing to be said. The error
// says why there is none.
func (s *spoken) race(ctx context.Context) (voice <-chan stretch, p stretch, err error) {
	firstCtx, stopFirst := context.WithCancel(ctx)
	secondCtx, stopSecond := context.WithCancel(ctx)
	context.AfterFunc(ctx, stopFirst)
	context.AfterFunc(ctx, stopSecond)
	first := s.begin(firstCtx, s.First, s.text)
	var second <-chan stretch
	var late <-chan time.Time
	if u := s.options.Urgency.Now(); s.Late > 0 && !u.Deadline.IsZero() && u.Class == budget.Awaited {
		timer := time.NewTimer(time.Until(u.Deadline.Add(-s.Late)))
		defer timer.Stop()
		late = timer.C
	}
	ask := func(why string) {
		late = nil
		s.ask(ctx, why)
		second = s.begin(secondCtx, s.Second, s.text)
	}
	var failed error
	lost := func(e error) { failed = errors.Join(failed, e) }
	for {
		select {
		case p, more := <-first:
			switch {
			case p.err == nil:
				stopSecond()
				if !more {
					first = closed()
				}
				return first, p, nil
			case ctx.Err() != nil, errors.Is(p.err, budget.ErrPreempted), errors.Is(p.err, budget.ErrLate):
				return nil, stretch{}, p.err
			}
			lost(p.err)
			if first = nil; second == nil && !s.asked {
				ask(p.err.Error())
			}
		case p, more := <-second:
			if p.err == nil {
				stopFirst()
				if !more {
					second = closed()
				}
				return second, p, nil
			}
			lost(p.err)
			second = nil
		case <-late:
			ask("the first is late")
			continue
		case <-ctx.Done():
			return nil, stretch{}, context.Cause(ctx)
		}
		if first == nil && second == nil {
			return nil, stretch{}, fmt.Errorf("both voices failed: %w", failed)
		}
	}
}

// closed is a voice that has nothing more to say.
func closed() <-chan stretch {
	c := make(chan stretch)
	close(c)
	return c
}

// ask notes that the second voice is asked.
func (s *spoken) ask(ctx context.Context, why string) {
	s.asked = true
	budget.BillOf(ctx).Detour(budget.Detour{At: time.Now(), Stage: budget.TTS, Act: budget.FasterVoice, Why: "the other voice is asked: " + why})
}

// tell hands on a part. It reports whether more is wanted.
func (s *spoken) tell(p stretch) bool {
	for _, w := range p.words {
		s.options.Words(w)
		s.end, s.known = w.End, true
	}
	s.samples += len(p.pcm)
	return len(p.pcm) == 0 || s.yield(p.pcm, nil)
}

// bytesPerSecond is how many bytes of a text voices speak in a second, where they do not say where its words lie.
const bytesPerSecond = 16

// rest returns where in the text the first word begins that was not spoken to its end.
func (s *spoken) rest() int {
	end := s.end
	if !s.known {
		end = int(audio.Duration(s.samples, s.Rate()).Seconds() * bytesPerSecond)
		if s.options.Speed > 0 {
			end = int(float32(end) * s.options.Speed)
		}
	}
	at := 0
	for _, to := range words(s.text) {
		if to > end {
			break
		}
		at = to
	}
	return at
}

// goOn has the second voice speak what is left of the text, since the first has failed.
func (s *spoken) goOn(ctx context.Context, why error) error {
	s.ask(ctx, why.Error())
	at, before := s.rest(), s.samples
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for p := range s.begin(ctx, s.Second, s.text[at:]) {
		if p.err != nil {
			return fmt.Errorf("both voices failed: %w", errors.Join(why, p.err))
		}
		for i := range p.words {
			p.words[i].End += at
			p.words[i].Heard += before
		}
		if !s.tell(p) {
			return nil
		}
	}
	return nil
}

// atRate returns a voice at the first one's rate.
func (f *Fallback) atRate(v Synthesizer) Synthesizer {
	from, to := v.Rate(), f.Rate()
	if from == to {
		return v
	}
	return SynthesizerFunc{Hz: to, Fn: func(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) {
			r, err := audio.OpenResampler(from, to)
			if err != nil {
				yield(nil, err)
				return
			}
			defer r.Close()
			if told := o.Words; told != nil {
				o.Words = func(w Word) { told(Word{w.End, int(int64(w.Heard) * int64(to) / int64(from))}) }
			}
			for pcm, err := range v.Speak(ctx, text, o) {
				if err != nil {
					yield(nil, err)
					return
				}
				if out := r.Write(pcm); len(out) > 0 && !yield(out, nil) {
					return
				}
			}
			if out := r.Flush(); len(out) > 0 {
				yield(out, nil)
			}
		}
	}}
}
