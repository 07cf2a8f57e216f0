package bench

import (
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/caller"
	"riposte/stt/wer"
)

// interruption is what happened when the caller spoke over an answer.
type interruption struct {
	line
	from, to time.Time     // When the first voiced sample is captured, and when the last one has been.
	moment   caller.Moment // What is known when all is over.
	answer   caller.Answer // As it is then.
}

// newInterruption returns what was made of a line.
func newInterruption(l line, from, to time.Time, m caller.Moment, answer int) interruption {
	return interruption{line: l, from: from, to: to, moment: m, answer: m.Answers[answer]}
}

// spoke returns when a sample of the line is captured.
func (x interruption) spoke(sample int) time.Time {
	return x.from.Add(audio.Duration(sample, x.Rate) - audio.Duration(x.Onset, x.Rate))
}

// arrived returns when the frame with the first voiced sample was due to be sent.
func (x interruption) arrived() time.Time {
	const frame = 20 * time.Millisecond
	return x.spoke(0).Add((audio.Duration(x.Onset, x.Rate)/frame + 1) * frame)
}

// hold returns the hold that the line brought about, if there was one. One that lasts already when the caller begins is as good as
// one at that moment.
func (x interruption) hold() (at time.Time, ok bool) {
	last := x.answer.Ends.Add(early)
	if at, ok := x.committed(); ok {
		last = latestOf(last, at)
	}
	for _, h := range x.moment.Holds {
		switch soonest := x.from.Add(-early); {
		case !h.From.Before(soonest) && !h.From.After(last):
			return h.From, true
		case h.From.Before(soonest) && (h.Until.IsZero() || h.Until.After(x.from)):
			return x.from, true
		}
	}
	return time.Time{}, false
}

// committed returns when the service said that the caller has the floor.
func (x interruption) committed() (at time.Time, ok bool) {
	for _, at := range x.moment.Onsets {
		if !at.Before(x.from.Add(-early)) {
			return at, true
		}
	}
	return time.Time{}, false
}

// transcript returns what the service heard of the line.
func (x interruption) transcript() string {
	var heard []string
	for _, s := range x.moment.Said {
		if s.At.After(x.from) && !s.Deleted {
			heard = append(heard, s.Transcript)
		}
	}
	return strings.Join(heard, " ")
}

// earlyHolds returns how often the answer was held before the caller spoke.
func earlyHolds(m caller.Moment, a caller.Answer, until time.Time) (n int, total time.Duration) {
	for _, h := range m.Holds {
		if h.From.Before(a.Begins) || !h.From.Before(until) {
			continue
		}
		n++
		end := h.Until
		if end.IsZero() || end.After(until) {
			end = until
		}
		total += end.Sub(h.From)
	}
	return n, total
}

// add counts an interruption. rate is that of the answer's sound. counted is false for one that the answer's own end forestalled.
func (r *InterruptionsResult) add(x interruption, voice *Overheard, rate int) (came string, bad, counted bool, err error) {
	early, _ := earlyHolds(x.moment, x.answer, x.from.Add(-early))
	r.EarlyHolds += early
	r.Starved += starved(x.answer)
	if !x.answer.Cut() {
		if x.answer.Ends.Before(x.from.Add(unavoidable)) {
			r.EndedFirst++
			return "the answer ended by itself", false, false, nil
		}
		r.Times++
		r.Missed++
		return fmt.Sprintf("MISSED, the answer went on for %.0f ms", ms(x.answer.Ends.Sub(x.from))), true, true, nil
	}
	r.Times++
	r.Taken++
	silence := max(0, x.answer.Ends.Sub(x.from))
	r.silence = append(r.silence, silence)
	came = fmt.Sprintf("silent after %.0f ms", ms(silence))
	if at, ok := x.hold(); ok {
		r.hold = append(r.hold, at.Sub(x.from))
		r.arrived = append(r.arrived, at.Sub(x.arrived()))
		r.loud = append(r.loud, at.Sub(x.spoke(x.loud)))
		came += fmt.Sprintf(", held after %.0f", ms(at.Sub(x.from)))
		if early > 0 {
			came += " and before"
		}
	} else {
		r.Unheld++
	}
	if at, ok := x.committed(); ok {
		r.commit = append(r.commit, at.Sub(x.from))
		came += fmt.Sprintf(", taken after %.0f", ms(at.Sub(x.from)))
	}
	if !x.answer.Continued {
		r.words = r.words.Add(wer.WER(x.clip.Transcript, x.transcript()))
	}
	said, v, err := r.hear(x.answer, voice, rate)
	return came + said, v == wrong, true, err
}

// hear judges what the service says that was heard of an interrupted answer, and keeps it to be read.
func (r *InterruptionsResult) hear(a caller.Answer, voice *Overheard, rate int) (said string, v verdict, err error) {
	t := told{text: a.Text(), heard: a.Heard}
	switch {
	case a.Report == nil: // the service gives no account
		r.HeardTextUnchecked++
		return "; no word of what was heard", unknown, nil
	case a.Continued:
		r.Continued++
		t.known = true // nothing of it counts as heard
	default:
		if voice != nil {
			if t.words, t.known, err = words(a, rate, voice, closeBy+r.unsure); err != nil {
				return "", unknown, err
			}
		}
		if t.played, err = audio.Resample(a.Sound[:min(a.Played, len(a.Sound))], rate, audio.SpeechRate); err != nil {
			return "", unknown, err
		}
		r.told = append(r.told, t)
	}
	switch v = t.verdict(); v {
	case unknown:
		r.HeardTextUnchecked++
	case near:
		r.HeardTextNear++
		said = "; near, " + t.off()
	case wrong:
		r.HeardTextWrong++
		said = "; WRONG, " + t.off()
	}
	return fmt.Sprintf("; heard %q of %q", t.heard, t.text) + said, v, nil
}

// finish makes percentiles of samples.
func (r *InterruptionsResult) finish() {
	r.Hold, r.HoldArrived, r.HoldLoud = percentiles(r.hold), percentiles(r.arrived), percentiles(r.loud)
	r.Silence, r.Commit, r.WER = percentiles(r.silence), percentiles(r.commit), r.words.Rate()
}
