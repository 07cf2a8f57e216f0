package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// mind answers turns, one after the other.
type mind struct {
	*Session
	limits Limits
	last   *turn  // The turn before this one.
	asks   bool   // Its answer was no more than calls of tools: what it answers is answered by the next one.
	open   []said // What the caller said that was not answered yet.
}

// said is one thing that the caller said.
type said struct {
	item, text string
	typed      bool // It was not said aloud, into this call.
}

// answer finds the words of a turn and answers them. The error is one that ends the call.
func (m *mind) answer(ctx context.Context, t *turn, clauses chan<- clause) (outcome, error) {
	defer t.guess.stop() // unless it has been taken
	failed, err := m.listenTo(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	t.clock.Mark(budget.Final, time.Now())
	// What the model is to read includes what was heard of the last answer.
	if err := m.settle(ctx); err != nil {
		return outcome{}, err
	}
	m.collect(t)
	switch {
	case failed != nil && t.respond:
		return m.apologise(ctx, t, clauses, failed)
	case !t.respond, t.ctx.Err() != nil, t.hearing != nil && !m.history.unanswered():
		return outcome{silent: true}, nil
	}
	if err := m.begin(ctx, t, clauses); err != nil {
		return outcome{}, err
	}
	if unread := m.history.readResults(); t.late && !unread {
		return outcome{status: transport.Completed}, nil // the answer before has said it
	}
	if t.line != "" {
		return m.recite(t, clauses), nil
	}
	o, err := m.generate(t, clauses)
	if err == nil || t.ctx.Err() != nil {
		return o, nil
	}
	m.Log.Error("the model failed", "call", m.Call.ID(), "err", err)
	return m.excuse(t, clauses, budget.LLM, err), nil
}

// listenTo waits for the transcription of the turn. failed is why there is none.
func (m *mind) listenTo(ctx context.Context, t *turn) (failed, err error) {
	h := t.hearing
	if h == nil {
		return nil, nil
	}
	text, speech, err := m.heard(ctx, t)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && !m.history.has(t.item) {
		return nil, nil // the caller went on, and it is heard as part of the next turn
	}
	if err != nil {
		m.Log.Error("the recogniser failed", "call", m.Call.ID(), "err", err)
		return err, m.Call.Send(ctx, transport.TranscriptionFailed{Item: t.item, Err: err})
	}
	if t.own != nil {
		text = t.own(text)
	}
	if !m.history.setText(t.item, text) {
		return nil, nil // the caller went on, and it is part of the next turn
	}
	t.said = text
	return nil, m.Call.Send(ctx, transport.Transcribed{Item: t.item, Text: text, Speech: speech, Tokens: t.hearing.tokens(text)})
}

// heard waits for the words of a turn and the length of their sound. When the recogniser's share has run out, what it last
// thought has to do, if that takes in all of the turn: a syllable less may be a word less. It has to do as well where the recogniser
// loses in the end what it was sure of.
func (m *mind) heard(ctx context.Context, t *turn) (text string, speech time.Duration, err error) {
	h := t.hearing
	due, stalled := time.NewTimer(time.Until(t.clock.Due(t.settings.Plan, budget.STT))), time.NewTimer(m.patience(t))
	defer due.Stop()
	defer stalled.Stop()
	for {
		select {
		case <-h.done:
			if h.err == nil && !sensible(h.transcript.Text, h.transcript.Speech) {
				return "", 0, fmt.Errorf("%w: %.40q", errGarbage, h.transcript.Text)
			}
			if y, ok := h.of.certain(); ok && h.err == nil && h.transcript.Text == "" && !t.settings.Plan.Observe {
				t.clock.Act(budget.STT, budget.BestHypothesis, time.Now())
				return y.Text, y.Speech, nil
			}
			return h.transcript.Text, h.transcript.Speech, h.err
		case <-ctx.Done():
			return "", 0, context.Cause(ctx)
		case <-stalled.C:
			h.stop()
			return "", 0, fmt.Errorf("%w: no words for %v", errStalled, m.patience(t))
		case <-due.C:
			y, ok := h.of.known()
			if t.settings.Plan.Observe || h.over() || !ok || y.Text == "" || y.Speech < t.voiced {
				continue
			}
			h.stop()
			t.clock.Act(budget.STT, budget.BestHypothesis, time.Now())
			return y.Text, y.Speech, nil
		}
	}
}

// patience returns how long the recogniser may bring nothing at all of a turn. What came faster than it was said is not heard yet when
// it ends, and more than half a minute of that takes time.
func (m *mind) patience(t *turn) time.Duration {
	return m.limits.Stall + max(0, t.voiced-30*time.Second)/4
}

// errStalled says that an engine was waited for in vain.
var errStalled = errors.New("the engine stalled")

// settle waits until the conversation holds what was heard of the last answer.
func (m *mind) settle(ctx context.Context) error {
	if m.last == nil {
		return nil
	}
	select {
	case <-m.last.settled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// collect notes what the turn answers: what the caller said in it, and what nobody has answered before.
func (m *mind) collect(t *turn) {
	if m.last != nil && m.last.respond && !m.asks && !errors.Is(context.Cause(m.last.ctx), errContinued) {
		m.open = nil
	}
	m.last, m.asks = t, false
	m.open = slices.DeleteFunc(m.open, func(s said) bool { return s.item == t.replaces })
	if t.said != "" {
		m.open = append(m.open, said{t.item, t.said, t.recorded})
	}
	if t.typed != "" {
		m.open = append(m.open, said{t.item, t.typed, true})
	}
	var words []string
	for _, s := range m.open {
		t.items, words = append(t.items, s.item), append(words, s.text)
	}
	t.transcript = strings.Join(words, " ")
	m.origin(t)
}

// origin notes what the turn answers.
func (m *mind) origin(t *turn) {
	if t.origin != trace.Aloud || t.hearing != nil || slices.ContainsFunc(m.open, func(s said) bool { return !s.typed }) {
		return
	}
	t.origin = trace.Requested
	if t.wrote = cmp.Or(t.transcript, m.history.written()); t.wrote != "" {
		t.origin = trace.Written
	}
}

// begin gives the answer its place in the conversation.
func (m *mind) begin(ctx context.Context, t *turn, clauses chan<- clause) error {
	if err := m.history.addAnswer(t.answer.Item, t.answer.ID, 0); err != nil {
		return err
	}
	return put(ctx, clauses, clause{turn: t, begin: true})
}

// generate answers, step by step: where the service runs what a step has called, the model goes on when that has come to something.
func (m *mind) generate(t *turn, clauses chan<- clause) (outcome, error) {
	var all outcome
	said, asked := false, false // Words, and calls for the caller's side to make, or to approve of.
	item, wrong, first := t.answer.Item, 0, 0
	settings := t.settings
	if len(t.approved) > 0 {
		first, settings = 1, m.after(settings, 0)
		if err := m.perform(t); err != nil {
			return all, err
		}
		var err error
		if item, err = m.goOn(t, first); err != nil {
			return all, err
		}
	}
	for n := first; ; n++ {
		o, s, err := m.step(t, settings, n, item, clauses)
		if n > 0 && errors.Is(err, errNothingSaid) && settings.Choice != llm.ChoiceNone {
			settings.Choice = llm.ChoiceNone // small models are at a loss what to call next
			o, s, err = m.step(t, settings, n, item, clauses)
		}
		o.usage = sum(all.usage, o.usage)
		said, asked = said || s.said, asked || s.asks
		if err != nil || s.asked == 0 {
			m.asks = asked && !said
			return o, err
		}
		if !m.await(t, s) {
			return o, context.Cause(t.ctx)
		}
		all = o
		if asked {
			return o, nil // the caller's side asks for what follows
		}
		if s.wrong {
			wrong++
		}
		if item, err = m.goOn(t, n+1); err != nil {
			return o, err
		}
		settings = m.after(t.settings, wrong)
	}
}

// goOn makes room for the words of the next step of an answer, and returns their item.
func (m *mind) goOn(t *turn, step int) (item string, err error) {
	item = newID("item")
	m.history.readResults()
	return item, m.history.addAnswer(item, t.answer.ID, step)
}

// mostWrong is how many steps with wrong arguments an answer may have: one that has been told what is wrong, and is wrong again, would
// go on so.
const mostWrong = 2

// after returns the settings for what follows calls. That one was to be made holds for the first step only.
func (m *mind) after(s transport.Settings, wrong int) transport.Settings {
	if s.Choice != llm.ChoiceNone {
		s.Choice = llm.ChoiceAuto
	}
	if wrong >= mostWrong {
		s.Choice = llm.ChoiceNone
	}
	return s
}

// step answers, clause by clause and call by call: by the draft that was begun before the turn was decided, if it answers what was said.
func (m *mind) step(t *turn, settings transport.Settings, n int, item string, clauses chan<- clause) (outcome, *step, error) {
	s := newStep()
	settings = m.within(settings)
	conversation := &m.history
	if t.input != nil {
		conversation = t.input
	}
	messages := conversation.messages(t.settings.Instructions, "")
	due := t.clock.Due(t.settings.Plan, budget.LLM)
	var d *draft
	if n == 0 {
		d = t.guess.take(messages)
	} else {
		due = time.Now().Add(t.settings.Plan.LLM)
	}
	if d == nil {
		model := m.LLM
		if strain := m.strain(); strain > budget.Relaxed {
			t.happened(time.Now(), trace.KindDegraded, strain.String())
			if strain >= budget.SmallModel {
				model = m.Hedge
			}
		}
		d = m.write(t.ctx, model, settings, messages, due, false)
	}
	context.AfterFunc(t.ctx, d.stop)
	calls := 0
	d, p, more, err := m.lead(t, messages, settings, due, d)
	t.drafts = append(t.drafts, d)
	for ; more && err == nil; p, more, err = m.next(t, d) {
		t.clock.Mark(budget.FirstToken, p.began)
		if p.call != nil {
			if calls++; calls > 1 && t.settings.OneCall || calls > mostCalls {
				continue
			}
			c := called{turn: t, call: *p.call, said: s.said, words: item, step: n, server: m.runs(settings, p.call.Name), wait: s}
			c.asks = c.server != "" && m.Session.asks(c.call)
			c.place = &reached{sent: make(chan struct{})}
			if err := put(t.ctx, m.calls, c); err != nil {
				return outcome{usage: d.spent()}, s, err
			}
			if c.server == "" || c.asks {
				s.asks = true
				continue
			}
			s.asked++
			if err := put(t.ctx, clauses, clause{turn: t, place: c.place}); err != nil {
				return outcome{usage: d.spent()}, s, err
			}
			continue
		}
		s.said = true
		t.clock.Mark(budget.FirstClause, p.at)
		if err := m.hand(clauses, clause{turn: t, text: p.text, item: item, voice: p.voice}); err != nil {
			return outcome{usage: d.spent()}, s, err
		}
	}
	if err != nil {
		return outcome{usage: d.spent()}, s, err
	}
	return d.outcome, s, d.err
}

// request is what to ask the model about a conversation under the settings. All requests of a call are alike in what the model
// reads, so that it need not read it again.
func (s *Session) request(settings transport.Settings, messages []llm.Message, u budget.Urgency) llm.Request {
	settings = s.equip(settings)
	return llm.Request{
		Conversation: s.Call.ID(), Messages: messages, Tools: settings.Tools, Choice: settings.Choice, Keep: settings.Keep, Urgency: u,
	}
}

// sum adds up what the steps of an answer took. Its end is that of the last one.
func sum(a, b llm.Usage) llm.Usage {
	b.Prompt, b.Cached, b.Output = a.Prompt+b.Prompt, a.Cached+b.Cached, a.Output+b.Output
	return b
}

// within returns the settings without tools to be called, where so many answers have called some that the model would go on so
// for ever.
func (m *mind) within(s transport.Settings) transport.Settings {
	if steps := m.history.steps(); len(m.equip(s).Tools) > 0 && steps >= m.limits.Steps {
		m.Log.Warn("the model may call no more tools until the caller says something", "call", m.Call.ID(), "answers", steps)
		s.Choice = llm.ChoiceNone
	}
	return s
}

// hand hands on a clause to be spoken, when there is place for it. It fails only when the answer is no longer wanted.
func (s *Session) hand(clauses chan<- clause, c clause) error {
	s.Queues.Clauses.Hold(s.unspoken.Add(1))
	err := put(c.turn.ctx, clauses, c)
	if err != nil {
		s.spoken(c)
	}
	return err
}

// spoken notes that a clause waits no more: it was spoken, or its answer is no longer wanted.
func (s *Session) spoken(c clause) {
	if c.text == "" {
		return // it is the beginning or the end of an answer
	}
	s.unspoken.Add(-1)
	if c.turn.ctx.Err() != nil {
		s.Queues.Clauses.Discard(1)
	}
}

// recite answers with the turn's line.
func (m *mind) recite(t *turn, clauses chan<- clause) outcome {
	t.clock.Mark(budget.FirstClause, time.Now())
	var c clauser
	for _, text := range append(c.push(t.line), c.rest()) {
		if text != "" && m.hand(clauses, clause{turn: t, text: text}) != nil {
			break // it is no longer wanted
		}
	}
	return outcome{status: transport.Completed}
}

// errNothingSaid says that the model's answer had no words in it.
var errNothingSaid = errors.New("the model's answer was empty")

// apologise answers a turn that could not be understood.
func (m *mind) apologise(ctx context.Context, t *turn, clauses chan<- clause, why error) (outcome, error) {
	if err := m.begin(ctx, t, clauses); err != nil {
		return outcome{}, err
	}
	return m.excuse(t, clauses, budget.STT, why), nil
}

// excuse says that the turn cannot be answered, so that the caller is not left in silence.
func (m *mind) excuse(t *turn, clauses chan<- clause, blame budget.Stage, why error) outcome {
	if m.Apology != "" {
		t.clock.Mark(budget.FirstClause, time.Now())
		_ = m.hand(clauses, clause{turn: t, text: m.Apology, ours: true}) // fails only when the answer is no longer wanted
	}
	return outcome{status: transport.Failed, err: why, blame: blame}
}
