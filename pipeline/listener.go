package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"time"

	"riposte/audio"
	"riposte/audio/echo"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/endpoint"
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

	item     string      // What is being said, between its onset and its end,
	hearing  *hearing    // the same, as it is heard,
	ending   *ending     // and what is begun when it may be over.
	evidence *evidence   // What is known of a silence that is no ending yet; nil while the caller speaks.
	quiet    int         // Silent frames in a row, before an ending begins.
	spent    speculation // What earlier endings have cost.
	spoke    int64       // Where it began, the padding before it included, for the caller's side.

	pauses    endpoint.Pauses // That the caller makes.
	active    int64           // Since when nothing is said, on the call's tape,
	prompts   int             // and how often the caller was asked about it.
	carries   bool            // What was said without detection belongs to what is said next.
	keys      string          // That the caller has pressed, and may go on pressing,
	keyed     int64           // and when the last one was, on the call's tape.
	challenge *challenge      // What is being said while an answer is being given; nil without either.
	gate      *gate           // Who has answered, as long as that may be a question; nil otherwise.
	echoes    echoes          // Whether answers are heard back.
	own       int64           // What is being said may begin with words of an answer, up to this position of the tape; 0 where it does not.

	last     *turn        // The turn before it,
	lastFrom int64        // where the speech of that began,
	lastEnd  int64        // and where it ended.
	resumes  *turn        // That same turn, when what is being said goes on with it.
	full     bool         // The caller was told that no more sound can be kept.
	reading  func()       // Stops the model's reading of its instructions.
	unspoken *budget.Turn // The clock of what was committed and is not answered.

	results bool               // Results of tools have come since an answer was last asked for.
	later   *transport.Respond // What was asked for because of them while the caller was speaking.
}

func newListener(s *Session, ctx context.Context, limits Limits, turns chan<- *turn) *listener {
	l := &listener{
		Session: s, ctx: ctx, limits: limits, turns: turns, settings: planned(s.Settings),
		ear:     newEar(s.VAD, limits.Utterance+5*time.Second), // some silence lies before and behind an utterance
		reading: s.prepare(ctx, s.Settings),
	}
	if s.Echo {
		l.ear.echo, l.ear.played = echo.New(), s.monitor.follow
	}
	l.ear.first = l.answers
	if s.Level {
		l.ear.level = &audio.Leveller{}
	}
	return l
}

func (l *listener) close() {
	l.drop()
	l.ear.close()
}

// errLapsed says that the line has brought nothing for Limits.Lapse while the caller was heard to speak.
var errLapsed = errors.New("the line brought no sound for too long")

// receive waits for what the caller does next, and does it. An error ends the call.
func (l *listener) receive() error {
	ctx := l.ctx
	if l.item != "" && l.settings.Detection != nil {
		lapse, stop := context.WithTimeoutCause(l.ctx, max(l.limits.Lapse, l.ear.ends.Silence), errLapsed)
		defer stop()
		ctx = lapse
	}
	in, err := l.Call.Receive(ctx)
	switch {
	case err == nil:
		return l.handle(in)
	case errors.Is(err, errLapsed):
		if l.challenge != nil {
			return nil // an answer that is held goes on after a while
		}
		return l.detected(audio.Done) // nobody goes on into a muted microphone
	}
	return err
}

// handle does what the caller asked for. An error ends the call.
func (l *listener) handle(in transport.Inbound) error {
	if err := l.does(in); err != nil || l.later == nil || l.item != "" && l.settings.Detection != nil {
		return err
	}
	later := *l.later
	l.later = nil
	return l.ask(later, true) // behind what the caller has just said, which may be answered with the results
}

func (l *listener) does(in transport.Inbound) error {
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
	case transport.Recording:
		return l.record(in)
	case transport.Truncate:
		return l.truncate(in)
	case transport.Look:
		return l.look(in)
	case transport.Remove:
		return l.remove(in)
	case transport.Respond:
		return l.respond(in)
	case transport.Cancel:
		return l.cancel(in)
	case transport.Key:
		return l.key(in)
	case transport.Heard:
		return l.heard(in)
	case transport.Approve:
		return l.approve(in)
	}
	return fmt.Errorf("the call sent a %T, which nobody knows", in)
}

// respond asks for an answer to the conversation as it stands. While another answer is being given, or the caller speaks, results
// of tools are a reason for one more, which is then given next.
func (l *listener) respond(in transport.Respond) error {
	if in.Aside {
		return l.aside(in)
	}
	busy := len(l.live.unsent()) > 0
	if busy && !l.results || l.later != nil {
		return l.fault(in.Ref, "conversation_already_has_active_response",
			"An answer is being given already. Wait for its response.done, or send response.cancel first.")
	}
	if l.results && l.settings.Detection != nil && l.item != "" && l.challenge == nil {
		l.later = &in
		return nil
	}
	return l.ask(in, busy)
}

// ask asks for an answer, which is late when another one may know all that this one is about.
func (l *listener) ask(in transport.Respond, late bool) error {
	settings := over(l.settings, in)
	var input *history
	if in.Input != nil {
		var err error
		if input, err = l.history.of(in.Input); err != nil {
			return l.Call.Send(l.ctx, transport.Fault{Ref: in.Ref, Part: transport.PartInput, Code: "invalid_value", Message: err.Error() + "."})
		}
	}
	clock := l.unspoken
	l.unspoken = nil
	if clock == nil { // nothing was said: the turn begins with the request
		clock = clockOf(time.Now())
	}
	t := &turn{clock: clock, respond: true, settings: settings, input: input, answer: transport.Response{Metadata: in.Metadata}}
	t.late = late && in.Instructions == nil && in.Metadata == nil && in.Input == nil // otherwise it is about more
	return l.enqueue(t, in.Ref)
}

// enqueue hands a turn on.
func (l *listener) enqueue(t *turn, ref string) error {
	t.answer.ID, t.answer.Item = newID("resp"), newID("item")
	t.ctx, t.end = context.WithCancelCause(trace.InTurn(l.ctx, t.answer.ID))
	t.settled = make(chan struct{})
	t.respond = t.respond && !l.isDraining()
	t.answer.Written, t.answer.Encoding = t.settings.Written, t.settings.Encoding
	if t.respond && len(l.live.answering()) >= l.limits.Turns {
		t.respond = false // it is still heard, and stays in the conversation
		l.Queues.Turns.Refuse(1)
		err := l.fault(ref, "too_many_turns", fmt.Sprintf(
			"%d turns wait for an answer already: this one will not get its own.", l.limits.Turns))
		if err != nil {
			return err
		}
	}
	if t.respond {
		l.results = false
		l.Queues.Turns.Hold(int64(len(l.live.answering()) + 1))
	}
	l.live.add(t)
	return put(l.ctx, l.turns, t)
}

// cancel ends the answer that is being given.
func (l *listener) cancel(in transport.Cancel) error {
	found := l.asides.cancel(in.Response)
	for _, t := range l.live.unsent() {
		if in.Response == "" || in.Response == t.answer.ID {
			t.end(errCancelled)
			found = true
		}
	}
	if !found && !in.Maybe {
		return l.fault(in.Ref, "response_cancel_not_active", "There is no such answer to cancel: it may have ended already.")
	}
	return nil
}

// heard takes the word of the caller's side for when it heard the first of an answer.
func (l *listener) heard(in transport.Heard) error {
	t := l.live.find(in.Response)
	if t == nil {
		return l.fault(in.Ref, "unknown_response", "There is no such answer, or it ended some answers ago. Say when an answer is heard as soon as it is.")
	}
	if !t.arrived(in, l.Retrace) {
		return l.fault(in.Ref, "already_heard", "When this answer was heard has been said already: the first word counts.")
	}
	return nil
}

// clear forgets what the caller has said since the last turn.
func (l *listener) clear() error {
	if err := l.giveBack(); err != nil {
		return err
	}
	l.ear.commit()
	l.full, l.carries = false, false
	return l.Call.Send(l.ctx, transport.Cleared{})
}

// add puts a written message, a call or a result into the conversation.
func (l *listener) add(in transport.Add) error {
	if in.Item.ID == "" {
		in.Item.ID = newID("item")
	}
	previous, err := l.history.add(in.Item)
	if err != nil {
		return l.wrongItem(in.Ref, err)
	}
	l.results = l.results || in.Item.Role == llm.ToolRole
	return l.Call.Send(l.ctx, transport.Added{Item: in.Item, Previous: previous})
}

// wrongItem says why an item cannot be added.
func (l *listener) wrongItem(ref string, err error) error {
	wrong, _ := errors.AsType[*partError](err)
	return l.Call.Send(l.ctx, transport.Fault{Ref: ref, Part: wrong.named(), Code: "invalid_value", Message: err.Error()})
}

// truncate corrects what was heard of an answer.
func (l *listener) truncate(in transport.Truncate) error {
	for _, t := range l.live.all() {
		if before, ok := t.holds(in.Item); ok { // it is not known yet what was heard of it
			if t.cutAt(before + in.Heard) {
				return l.Call.Send(l.ctx, transport.Truncated{Item: in.Item, Heard: in.Heard})
			}
			select {
			case <-t.settled: // in a moment
			case <-l.ctx.Done():
				return context.Cause(l.ctx)
			}
		}
	}
	switch err := l.history.truncate(in.Item, in.Heard); {
	case errors.Is(err, errNoItem):
		return l.noItem(in.Ref, "item_truncate_invalid_item_id", err)
	case err != nil:
		return l.fault(in.Ref, "invalid_value", err.Error())
	}
	return l.Call.Send(l.ctx, transport.Truncated{Item: in.Item, Heard: in.Heard})
}

// configure takes new settings. What is being said belongs to whoever decides turns from now on.
func (l *listener) configure(settings transport.Settings) error {
	if (settings.Detection == nil) != (l.settings.Detection == nil) {
		if err := l.handOver(settings.Detection == nil); err != nil {
			return err
		}
	}
	if settings.Instructions != l.settings.Instructions || !reflect.DeepEqual(settings.Tools, l.settings.Tools) {
		l.reading() // the old ones are not needed any more
		l.reading = l.prepare(l.ctx, settings)
	}
	if l.ending != nil {
		l.ending.guess.stop() // it was made by the old ones
	}
	l.serve(l.ctx, settings.Servers)
	l.settings = planned(settings)
	return nil
}

// planned returns the settings with a plan.
func planned(s transport.Settings) transport.Settings {
	s.Plan = cmp.Or(s.Plan, budget.DefaultPlan)
	return s
}

// handOver leaves it to the caller's side to say when turns end, or takes that back. What has been said of a turn so far is not
// lost: it is committed with what follows, or heard with it.
func (l *listener) handOver(manual bool) error {
	l.forget()
	l.challenge = nil
	l.ear.ends.Reset()
	if l.item != "" && manual {
		l.ear.since = l.ear.from
	}
	if l.item != "" && !manual {
		l.drop()
		l.carries = true
	}
	return l.free()
}

// noItem tells the caller's side that there is no such item.
func (l *listener) noItem(ref, code string, err error) error {
	return l.Call.Send(l.ctx, transport.Fault{Ref: ref, Part: transport.PartItem, Code: code, Message: err.Error()})
}

func (l *listener) fault(ref, code, message string) error {
	return l.Call.Send(l.ctx, transport.Fault{Ref: ref, Code: code, Message: message})
}

// newID returns a new name for a thing of the given kind.
func newID(kind string) string {
	return kind + "_" + rand.Text()
}
