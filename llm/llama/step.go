package llama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// part is a sequence's share of a batch.
type part struct {
	seq   *sequence
	first int // The index of its first entry.
	count int
}

// step decodes one batch: the newest token of everybody who is being spoken to, and pieces of the other prompts.
func (l *loop) step(ctx context.Context) {
	urgency := l.compose(time.Now())
	if len(l.entries) == 0 {
		return
	}
	err := l.decode(ctx, urgency)
	for _, p := range l.parts {
		s := p.seq
		if err != nil {
			// What came before the batch is still there; whether any of the batch is differs between memories.
			if !l.machine.Keep(s.slot, s.decoded) {
				l.cache.forget(s.slot)
				s.decoded = 0
			}
			continue
		}
		l.cache.extend(s.slot, s.tokens[s.decoded:s.decoded+p.count]...)
		s.decoded += p.count
		switch {
		case s.decoded < len(s.tokens):
		case s.reading:
			l.conclude(s, p.first+p.count-1)
		default:
			l.say(s, p.first+p.count-1)
		}
	}
	switch {
	case err == nil, errors.Is(err, errStopped), errors.Is(err, errOvertaken), errors.Is(err, budget.ErrPreempted), errors.Is(err, budget.ErrLate):
		// Who is late, or has gone, is dropped before the next step; the others go on with it.
	case ctx.Err() == nil:
		for _, p := range l.parts {
			l.finish(p.seq, "", fmt.Errorf("decode: %w", err))
		}
	}
	l.running = slices.DeleteFunc(l.running, func(s *sequence) bool { return s.tokens == nil })
}

// decode computes the batch when its turn has come.
func (l *loop) decode(ctx context.Context, urgency budget.Urgency) error {
	kind := "llm.decode"
	if len(l.entries) > len(l.parts) {
		kind = "llm.prompt"
	}
	ctx, cancel := l.stage.begin(ctx, urgency.Class, l.parts, len(l.entries))
	defer cancel(nil)
	defer l.stage.end()
	job := budget.Job{Urgency: urgency, Kind: kind, Size: float64(len(l.entries)), Threads: l.threads}
	asked := time.Now()
	return l.executor.Run(ctx, job, func(ctx context.Context, threads int) error {
		began := time.Now()
		defer func() { // the loop has no bill, those in the batch have
			for _, p := range l.parts {
				budget.BillOf(p.seq.ctx).Add(kind, began.Sub(asked), time.Since(began))
			}
		}()
		var stop func() bool
		// Steps that are short are finished anyway, because asking costs time too; but speculation makes room at once.
		if len(l.entries) > len(l.parts) || urgency.Class != budget.Awaited {
			stop = func() bool { return ctx.Err() != nil }
		}
		err := l.machine.Decode(l.entries, threads, stop)
		if err == errStopped {
			return context.Cause(ctx)
		}
		return err
	})
}

// compose fills the batch and says how urgent it is. Those whom somebody waits for go first, and among them those whose
// hearers would hear silence: who is well ahead of the voice stays out meanwhile. Less urgent ones fill a small rest of
// a step that nobody waits for so badly, or have steps of their own.
func (l *loop) compose(now time.Time) budget.Urgency {
	l.entries, l.parts = l.entries[:0], l.parts[:0]
	top, hungry := budget.Background, false
	for _, s := range l.running {
		if s.paused() {
			continue
		}
		class := s.due().Class
		if class < top {
			top, hungry = class, false
		}
		hungry = hungry || class == top && !s.ahead(now)
	}
	var prompts, others []*sequence
	for _, s := range l.running {
		switch {
		case s.paused():
		case s.due().Class != top:
			others = append(others, s)
		case hungry && s.ahead(now):
		case s.speaking():
			l.parts = append(l.parts, part{seq: s, count: 1})
		default:
			prompts = append(prompts, s)
		}
	}
	left := l.batch
	if len(l.parts) > 0 || top != budget.Awaited {
		left = l.chunk
	}
	l.share(prompts, left)
	if !hungry {
		l.share(others, max(1, l.chunk/4))
	}
	return l.fill()
}

// share gives sequences their parts of what there is left in a batch. They share it equally, so that a short prompt is
// not held up by a long one.
func (l *loop) share(seqs []*sequence, left int) {
	slices.SortStableFunc(seqs, func(a, b *sequence) int { return a.missing() - b.missing() })
	for i, s := range seqs {
		rest := len(seqs) - i
		n := min((left+rest-1)/rest, s.missing())
		if n == 0 {
			continue
		}
		l.parts = append(l.parts, part{seq: s, count: n})
		left -= n
	}
}

// fill makes the entries of the parts. It returns the urgency of the most urgent of them.
func (l *loop) fill() budget.Urgency {
	var urgency budget.Urgency
	// llama.cpp computes neighbouring sequences in one graph, and others one after the other.
	slices.SortFunc(l.parts, func(a, b part) int { return a.seq.slot - b.seq.slot })
	for i := range l.parts {
		p := &l.parts[i]
		if u := p.seq.due(); i == 0 || sooner(u, urgency) {
			urgency = u
		}
		p.first = len(l.entries)
		for k := p.seq.decoded; k < p.seq.decoded+p.count; k++ {
			l.entries = append(l.entries, entry{token: p.seq.tokens[k], pos: k, seq: p.seq.slot, last: k == len(p.seq.tokens)-1})
		}
	}
	return urgency
}

// say adds to an answer what follows the i-th entry of the batch.
func (l *loop) say(s *sequence, i int) {
	t, err := s.picker.Pick(i)
	if err != nil {
		l.finish(s, "", err)
		return
	}
	if s.usage.Output == 0 {
		s.began = time.Now()
	}
	if l.words.Ends(t) {
		l.finish(s, llm.FinishStop, nil)
		return
	}
	if s.sampling.LogProbs {
		l.note(s, i, t)
	}
	s.tokens = append(s.tokens, t)
	s.usage.Output++
	l.said.Add(1)
	text, stopped := s.text.push(l.words.Piece(t))
	cut := false // What the answer's form has taken was not all said.
	for _, t := range s.form.forced() {
		if cut = stopped || s.full(l.context); cut {
			break
		}
		s.tokens = append(s.tokens, t)
		s.usage.Output++
		l.said.Add(1)
		var more string
		if s.sampling.LogProbs {
			s.notes.add(llm.Token{Text: string(l.words.Piece(t))})
		}
		more, stopped = s.text.push(l.words.Piece(t))
		text += more
	}
	if stopped {
		s.notes.cut(len(text))
	}
	s.offer(text)
	switch {
	case stopped, s.form.complete() && !cut:
		l.finish(s, llm.FinishStop, nil)
	case s.full(l.context):
		l.finish(s, llm.FinishLength, nil)
	}
}

// note keeps how likely the token t was that follows the i-th entry of the batch.
func (l *loop) note(s *sequence, i int, t token) {
	logProb := l.machine.LogProb(i, t)
	s.logProb += logProb
	n := llm.Token{Text: string(l.words.Piece(t)), LogProb: float32(logProb)}
	for _, top := range l.machine.Top(i, s.sampling.Top) {
		n.Top = append(n.Top, llm.Token{Text: string(l.words.Piece(top.token)), LogProb: float32(top.logProb)})
	}
	s.notes.add(n)
}

// conclude ends the reading of a text whose last token is the i-th entry of the batch.
func (l *loop) conclude(s *sequence, i int) {
	if s.closing >= 0 {
		s.over = float32(math.Exp(l.machine.LogProb(i, s.closing)))
	}
	l.finish(s, llm.FinishStop, nil)
}

// finish ends an answer. The sequence leaves running at the end of the step, by having no tokens any more.
func (l *loop) finish(s *sequence, f llm.Finish, err error) {
	l.leave(s)
	s.tokens = nil
	s.end(f, err)
}
