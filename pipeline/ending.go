package pipeline

import (
	"slices"
	"time"

	"riposte/budget"
	"riposte/endpoint"
	"riposte/llm"
	"riposte/stt"
	"riposte/transport"
)

// ending is what is begun when the caller falls silent, in case that the turn is over: the closing pass over what was said, a
// search for evidence that the turn is over, and the work on an answer.
type ending struct {
	pass     *pass
	evidence *evidence // nil where silence alone decides.
	guess    *guess    // nil where there will be no answer, or where it cannot be begun yet.
}

// suspect begins what does not take long and may turn out to be of use as soon as the caller falls silent, before an ending begins: at
// the first silent frame the recogniser's pass that may be the closing one, and at the second, behind it, the search in the sound for
// evidence that the turn is over. Only once in five seconds does somebody who goes on speaking have such a frame, so little is done in
// vain. Speech makes the evidence void; the pass has then made a hypothesis.
func (l *listener) suspect() {
	switch {
	case l.ear.ends.Voiced():
		l.evidence.stop()
		l.evidence, l.quiet = nil, 0
	case l.ending == nil && l.ear.ends.Talking():
		l.quiet++
		if l.quiet == 1 && l.hearing != nil && l.strain() < budget.FewPartials {
			l.hearing.stream.Hasten(budget.Urgency{Deadline: l.due(budget.STT)})
		}
		if l.quiet == 2 && l.challenge == nil && l.settings.Detection.Silence == 0 {
			l.evidence = l.gather(l.ctx, l.ear.speech(), l.ear.silence())
		}
	}
}

// end begins an ending.
func (l *listener) end() *ending {
	e := &ending{pass: l.finish(l.ctx, l.hearing, l.due(budget.STT))}
	d := l.settings.Detection
	e.evidence, l.evidence = l.evidence, nil
	if e.evidence == nil && d.Silence == 0 && l.challenge == nil {
		e.evidence = l.gather(l.ctx, l.ear.speech(), l.ear.silence())
	}
	if len(l.live.all()) > 0 {
		return e // it is not known yet what the caller will have heard of the last answer
	}
	before := l.history.messages(l.settings.Instructions, l.replaces())
	if tries := l.limits.Guesses - l.spent.tries; tries > 0 && l.strain() < budget.NoGuesses && d.Respond && !l.isDraining() {
		e.guess = &guess{session: l.Session, ctx: l.ctx, settings: l.settings, before: before, due: l.due(budget.LLM), tries: tries}
	}
	if h, ok := l.hearing.known(); ok && l.whole(h) {
		e.guess.try(h.Text)
	}
	settings := l.settings
	l.group.Go(func() error {
		<-e.pass.done
		if e.pass.err == nil && e.pass.transcript.Text != "" {
			text := e.pass.transcript.Text
			if !settings.Listens {
				e.evidence.ask(l.Session, settings, append(slices.Clip(before), llm.Message{Role: llm.User, Text: text}))
			}
			e.guess.try(text)
		}
		return nil
	})
	return e
}

// syllable is how much of what was said a hypothesis need not have heard to be a whole one.
const syllable = 150 * time.Millisecond

// whole reports whether a hypothesis has heard all that was voiced, but for the rest of a syllable.
func (l *listener) whole(h stt.Hypothesis) bool {
	return h.Speech >= l.ear.at(l.ear.voiced-l.ear.from)-syllable
}

// silence returns how much of it ends the turn, by all that is known: from the end of the last voiced frame on, since the ear
// counts from there.
func (l *listener) silence(d *transport.Detection) time.Duration {
	if l.challenge != nil && l.ending != nil && !l.ending.pass.over() {
		return puzzling
	}
	if d.Silence > 0 {
		return d.Silence
	}
	var s endpoint.Signals
	if l.ending != nil {
		if h, ok := l.hearing.known(); ok && (l.whole(h) || l.awaits()) {
			s.Text = h.Text
		}
		l.ending.evidence.add(&s)
		l.ending.add(&s)
	}
	return endpoint.ByEagerness(string(d.Eagerness)).Wait(s, &l.pauses) - l.ear.at(l.ear.trail)
}

// awaits reports whether the words that a hypothesis has not heard may still come. How a text ends says nothing of the turn's end where
// they will not, since the recogniser has failed, or where they would come too late for an answer.
func (l *listener) awaits() bool {
	p := l.ending.pass
	return !(p.over() && p.err != nil) && time.Now().Before(l.due(budget.LLM))
}

// puzzling is how long a silence behind a challenge may last until its words are known: after that it may have been a turn.
const puzzling = time.Second

// add puts what the closing pass has heard into signals, once it has.
func (e *ending) add(to *endpoint.Signals) {
	if !e.pass.over() || e.pass.transcript.Text == "" {
		return
	}
	to.Text = e.pass.transcript.Text
	if closed := e.pass.transcript.Closed; closed > 0 && e.evidence != nil { // alone it would count for too much
		to.Closed = endpoint.Likely(closed)
	}
}

// due returns when a stage has to be at its end if what is being said ends here.
func (l *listener) due(s budget.Stage) time.Time {
	captured, _ := l.ear.endOfSpeech()
	return budget.NewTurn(captured).Due(l.settings.Plan, s)
}

// forget stops an ending that was none.
func (l *listener) forget() {
	e := l.ending
	if e == nil {
		return
	}
	l.ending = nil
	e.pass.stop()
	e.evidence.stop()
	e.guess.stop()
	l.spent.add(e.guess.cost())
}
