package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// listener turns what one caller does into turns.
type listener struct {
	*Session
	ctx      context.Context // Of the call: a listener lives no longer.
	limits   Limits
	turns    chan<- *turn
	ear      *ear
	settings transport.Settings

	item     string       // What is being said, between its onset and its end.
	last     *turn        // The turn before it,
	lastFrom int64        // and where the speech of that began.
	resumes  *turn        // That same turn, when what is being said goes on with it.
	eager    *hearing     // The closing pass over it, begun when it seemed to be over.
	full     bool         // The caller was told that no more sound can be kept.
	unspoken *budget.Turn // The clock of what was committed and is not answered.
}

func newListener(s *Session, ctx context.Context, limits Limits, turns chan<- *turn) *listener {
	return &listener{
		Session: s, ctx: ctx, limits: limits, turns: turns, settings: s.Settings,
		ear: newEar(s.VAD, limits.Utterance+5*time.Second), // some silence lies before and behind an utterance
	}
}

func (l *listener) close() { l.ear.close() }

// handle does what the caller asked for. An error ends the call.
func (l *listener) handle(in transport.Inbound) error {
	switch in := in.(type) {
	case transport.Sound:
		return l.sound(in)
	case transport.Configure:
		return l.configure(in.Settings)
	case transport.Commit:
		return l.commit(in)
	case transport.Clear:
		return l.clear()
	case transport.Add:
		return l.add(in)
	case transport.Truncate:
		return l.truncate(in)
	case transport.Respond:
		return l.respond(in)
	case transport.Cancel:
		return l.cancel(in)
	}
	return fmt.Errorf("the call sent a %T, which nobody knows", in)
}

// sound listens. Without detection it only keeps what it hears, until the caller commits it.
func (l *listener) sound(in transport.Sound) error {
	d := l.settings.Detection
	if d == nil && l.ear.at(l.ear.tape.End()-l.ear.since)+in.PCM.Duration(in.Rate) > l.limits.Utterance {
		if l.full {
			return nil
		}
		l.full = true
		return l.Call.Send(l.ctx, transport.Fault{
			Code: "input_audio_buffer_full",
			Message: fmt.Sprintf("The input audio buffer is full: it holds at most %v between two commits. What is in it is kept, "+
				"what comes now is not. Commit or clear it.", l.limits.Utterance),
		})
	}
	pcm, err := l.ear.take(in)
	if err != nil {
		return err
	}
	if d == nil {
		return nil
	}
	return l.ear.listen(pcm, d, time.Now(), l.detected)
}

// detected acts on what the ear noticed.
func (l *listener) detected(event audio.Event) error {
	switch event {
	case audio.Onset:
		return l.onset()
	case audio.Maybe:
		l.forget()
		l.eager = l.hear(l.ctx, l.ear.speech(), l.settings)
	case audio.Resumed:
		l.forget()
	case audio.Done:
		return l.decided()
	}
	return nil
}

// onset notes that the caller begins to speak, which ends the answer that is being given. When nothing of that was heard,
// the caller is going on with the turn before: then both are one, and are recognised as one, since words are recognised
// better in their sentence than without it.
func (l *listener) onset() error {
	d := l.settings.Detection
	l.item, l.resumes = newID("item"), nil
	if d.Interrupt {
		l.interrupt(time.Now(), l.limits)
	}
	l.ear.begin(d.Padding)
	at := l.ear.from
	if l.last != nil && errors.Is(context.Cause(l.last.ctx), errContinued) && l.ear.at(at-l.lastFrom) <= longestResumed {
		l.resumes, l.ear.from = l.last, l.lastFrom
	}
	return l.Call.Send(l.ctx, transport.SpeechStarted{Item: l.item, At: l.ear.at(at)})
}

// longestResumed is how long ago a turn may have begun that the caller goes on with: what is recognised as one should stay
// within the 30 s that Whisper hears at once.
const longestResumed = 20 * time.Second

// decided hands on the turn that the caller has just ended by falling silent.
func (l *listener) decided() error {
	now := time.Now()
	captured, received := l.ear.endOfSpeech()
	clock := budget.NewTurn(captured)
	clock.Mark(budget.Received, received)
	clock.Mark(budget.Decided, now)

	h := l.eager
	l.eager = nil
	if h == nil {
		h = l.hear(l.ctx, l.ear.speech(), l.settings)
	}
	if err := l.Call.Send(l.ctx, transport.SpeechStopped{Item: l.item, At: l.ear.at(l.ear.ends.Position())}); err != nil {
		return err
	}
	return l.take(h, clock, l.settings.Detection.Respond)
}

// commit hands on what the caller has said since the last turn.
func (l *listener) commit(in transport.Commit) error {
	pcm := l.ear.uncommitted()
	if l.item != "" && l.settings.Detection != nil {
		pcm = l.ear.speech() // from where the speech began, which may be the turn before
	}
	if len(pcm) < audio.Samples(100*time.Millisecond, audio.SpeechRate) {
		return l.fault(in.Ref, "input_audio_buffer_commit_empty", fmt.Sprintf(
			"The input audio buffer holds %d ms of sound; a turn needs at least 100 ms. Append some first.",
			pcm.Duration(audio.SpeechRate).Milliseconds()))
	}
	if l.item == "" {
		l.item, l.ear.from = newID("item"), l.ear.since
	}
	l.forget()
	now := time.Now()
	clock := budget.NewTurn(l.ear.endOf(pcm))
	clock.Mark(budget.Received, now)
	clock.Mark(budget.Decided, now)
	respond := l.settings.Detection != nil && l.settings.Detection.Respond
	return l.take(l.hear(l.ctx, pcm, l.settings), clock, respond)
}

// take makes what was said an item of the conversation and a turn.
func (l *listener) take(h *hearing, clock *budget.Turn, respond bool) error {
	t := &turn{clock: clock, item: l.item, hearing: h, respond: respond, settings: l.settings}
	if l.resumes != nil {
		t.replaces = l.resumes.item
		l.history.remove(t.replaces)
		if err := l.Call.Send(l.ctx, transport.Removed{Item: t.replaces}); err != nil {
			return err
		}
	}
	l.last, l.lastFrom, l.resumes = t, l.ear.from, nil
	l.ear.commit()
	l.item, l.full = "", false
	previous, err := l.history.add(transport.Item{ID: t.item, Role: llm.User})
	if err != nil {
		return err
	}
	if err := l.Call.Send(l.ctx, transport.Committed{Item: t.item, Previous: previous}); err != nil {
		return err
	}
	if !respond {
		l.unspoken = clock
	}
	return l.enqueue(t, "")
}

// respond asks for an answer to the conversation as it stands.
func (l *listener) respond(in transport.Respond) error {
	if len(l.live.unsent()) > 0 {
		return l.fault(in.Ref, "conversation_already_has_active_response",
			"An answer is being given already. Wait for its response.done, or send response.cancel first.")
	}
	settings := l.settings
	if in.Instructions != nil {
		settings.Instructions = *in.Instructions
	}
	if in.MaxTokens != 0 {
		settings.MaxTokens = in.MaxTokens
	}
	if in.Written != nil {
		settings.Written = *in.Written
	}
	clock := l.unspoken
	l.unspoken = nil
	if clock == nil { // nothing was said: the turn begins with the request
		clock = budget.NewTurn(time.Now())
		clock.Mark(budget.Received, time.Now())
		clock.Mark(budget.Decided, time.Now())
	}
	t := &turn{clock: clock, respond: true, settings: settings, answer: transport.Response{Metadata: in.Metadata}}
	return l.enqueue(t, in.Ref)
}

// enqueue hands a turn on.
func (l *listener) enqueue(t *turn, ref string) error {
	t.ctx, t.end = context.WithCancelCause(l.ctx)
	t.settled = make(chan struct{})
	t.respond = t.respond && !l.isDraining()
	t.answer.ID, t.answer.Item = newID("resp"), newID("item")
	t.answer.Written, t.answer.Encoding = t.settings.Written, t.settings.Encoding
	l.live.add(t)
	select {
	case l.turns <- t:
		return nil
	default:
		l.live.remove(t)
		t.end(errCancelled)
		close(t.settled)
		return l.fault(ref, "too_many_turns", fmt.Sprintf(
			"%d turns wait for an answer already: this one will not get any.", cap(l.turns)))
	}
}

// cancel ends the answer that is being given.
func (l *listener) cancel(in transport.Cancel) error {
	found := false
	for _, t := range l.live.unsent() {
		if in.Response == "" || in.Response == t.answer.ID {
			t.end(errCancelled)
			found = true
		}
	}
	if !found {
		return l.fault(in.Ref, "response_cancel_not_active", "There is no such answer to cancel: it may have ended already.")
	}
	return nil
}

// clear forgets what the caller has said since the last turn.
func (l *listener) clear() error {
	l.forget()
	l.ear.commit()
	l.item, l.resumes, l.full = "", nil, false
	return l.Call.Send(l.ctx, transport.Cleared{})
}

// add puts a written message into the conversation.
func (l *listener) add(in transport.Add) error {
	if in.Item.ID == "" {
		in.Item.ID = newID("item")
	}
	previous, err := l.history.add(in.Item)
	if err != nil {
		return l.fault(in.Ref, "invalid_value", err.Error())
	}
	return l.Call.Send(l.ctx, transport.Added{Item: in.Item, Previous: previous})
}

// truncate corrects what was heard of an answer.
func (l *listener) truncate(in transport.Truncate) error {
	switch err := l.history.truncate(in.Item, in.Heard); {
	case errors.Is(err, errNoItem):
		return l.fault(in.Ref, "item_truncate_invalid_item_id", err.Error())
	case err != nil:
		return l.fault(in.Ref, "invalid_value", err.Error())
	}
	return l.Call.Send(l.ctx, transport.Truncated{Item: in.Item, Heard: in.Heard})
}

// configure takes new settings. What is being said belongs to whoever decides turns from now on.
func (l *listener) configure(settings transport.Settings) error {
	if (settings.Detection == nil) != (l.settings.Detection == nil) {
		l.forget()
		l.ear.ends.Reset()
		l.item, l.resumes = "", nil
	}
	l.settings = settings
	return nil
}

// forget stops the closing pass that was begun too early.
func (l *listener) forget() {
	if l.eager != nil {
		l.eager.stop()
		l.eager = nil
	}
}

func (l *listener) fault(ref, code, message string) error {
	return l.Call.Send(l.ctx, transport.Fault{Ref: ref, Code: code, Message: message})
}

// newID returns a new name for a thing of the given kind.
func newID(kind string) string {
	return kind + "_" + rand.Text()
}
