package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// The reasons for which a turn's answer ends early. They are causes of the turn's context.
var (
	errBargeIn   = errors.New("the caller spoke over the answer")
	errContinued = errors.New("the caller went on before anything of the answer was heard")
	errCancelled = errors.New("the caller cancelled the answer")
)

// turn is something that the caller said or asked for, and the answer to it. Its context ends, with a cause, when the
// answer is no longer wanted.
type turn struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	clock *budget.Turn

	item     string              // What the caller said; empty when the caller only asked for an answer.
	replaces string              // The item of a turn that this one takes in, since the caller went on with it.
	hearing  *pass               // What is made of it; nil without an item.
	own      func(string) string // Takes words from it that were the agent's; nil where there are none.
	voiced   time.Duration       // How long it is, up to its last voiced sample.
	guess    *guess              // The work on its answer that was begun before it was decided; nil without any.
	spent    speculation         // What other such work has cost before.
	line     string              // What is answered, where no model is asked for it; empty otherwise.
	firm     bool                // Nobody can interrupt the answer.
	input    *history            // What is answered in place of the conversation; nil for that.
	recorded bool                // What the caller said was said before, and not into this call.
	typed    string              // What the caller said by other means than speech.
	origin   trace.Origin        // What it answers: where nobody asked for it, from the beginning; otherwise set by think, read by play.
	wrote    string              // What was written, for trace.Written. The same.
	respond  bool                // Whether it is to be answered.
	late     bool                // It was asked for while another answer was being given, because of results that may be part of that.
	settings transport.Settings  // As they were when the turn was decided.
	answer   transport.Response
	approved []approved // Calls that the caller's side has approved of, which come before everything else.

	items      []string // The caller's items that this answers. Set by think, read by play.
	transcript string   // The same.
	said       string   // What was made of the speech.
	calls      []string // The tools that the answer has called, by name. Set by play.

	drafts []*draft      // Its answer as the model wrote it, step by step. Set by think, read by play at the end.
	caller audio.PCM     // What the caller said, where sound is recorded,
	began  time.Time     // and when that began.
	voice  audio.PCM     // What was sent of the answer, the same. Set by play,
	spoke  time.Time     // as is when that began.
	bill   budget.Bill   // What the voice has cost the executor.
	events []trace.Event // Guarded by mu. They count from the beginning of the clock.

	settled chan struct{} // Closed when the conversation holds what was heard of the answer.

	mu      sync.Mutex
	opened  bool           // An opener was looked for.
	audible time.Time      // When the first audible sound of the answer left; zero before.
	sent    bool           // All of the answer has left, though the caller may still be listening to it.
	parts   []passage      // The items of its words of which the caller's side was told, but for the first one.
	cut     *time.Duration // How much of the answer the caller says to have heard at most.
	judged  bool           // It was settled how much was heard: what the caller says later corrects that.
	ear     bool           // The caller's side has said when it heard the first of it.
	traced  *trace.Turn    // What was told of it; nil before.
}

// passage is an item of an answer's words, and how much sound of the answer comes before it.
type passage struct {
	item   string
	before time.Duration
}

// holds reports whether an item is one of the answer's words, and how much of the answer's sound comes before it.
func (t *turn) holds(item string) (before time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		if p.item == item {
			return p.before, true
		}
	}
	return 0, t.answer.Item == item
}

// outcome is how an answer ended.
type outcome struct {
	status transport.Status
	reason string
	err    error
	blame  budget.Stage // Which failed, if one did.
	usage  llm.Usage
	silent bool // There was nothing to answer.
}

// usage returns the tokens that the turn's answer has taken so far.
func (t *turn) usage() (u llm.Usage) {
	for _, d := range t.drafts {
		u = sum(u, d.spent())
	}
	return u
}

// called is a call of a tool, on its way from think to play.
type called struct {
	turn   *turn
	call   llm.ToolCall
	said   bool   // This step of the answer had words before it.
	words  string // The item of these,
	step   int    // and which step it is.
	server string // Who runs it, where the service does,
	wait   *step  // and who waits for the result.
	asks   bool   // The caller's side has to approve of it first.
	asked  string // It has: by this item.
	place  *reached
}

// clause is what think hands to speak: the beginning of an answer, a piece of its text, or its end.
type clause struct {
	turn  *turn
	begin bool
	text  string
	item  string        // That text is part of; empty for the newest one.
	voice *voicing      // The sound of text, if that has been begun; nil otherwise.
	pause bool          // There is no text, only the silence behind the one before.
	lasts time.Duration // How long the sound of text is in all, where that is known; 0 elsewhere.
	fault error         // Why there is no sound of it, and will be none of what follows.
	broke bool          // That came in the middle of its sound.
	ready bool          // It was spoken before there was a turn: an opener or an apology.
	ours  bool          // It is one of these, however it was spoken: not the model's.
	place *reached      // There is no text: it is where a tool was called that the service runs.
	done  *outcome
}

// sound is what speak hands to play: at most one frame of sound, the text that begins with it, and the places of words of
// that text that are known from here on.
type sound struct {
	clause
	pcm   []int16
	words []word
}

// happened notes for the trace what has happened, and when.
func (t *turn) happened(when time.Time, kind, detail string) {
	at := t.clock.Since(when)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) < mostEvents {
		t.events = append(t.events, trace.Event{At: at, Kind: kind, Detail: detail})
	}
}

// arrived notes when the first of the answer was heard on the caller's side. What was told of the turn already is told again, with that.
// It reports whether nobody has said so before.
func (t *turn) arrived(in transport.Heard, tell func(trace.Turn)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ear {
		return false
	}
	t.ear = true
	e := trace.Event{At: in.MouthToEar, Kind: trace.KindEar, Detail: in.Detail}
	if t.traced == nil {
		t.events = append(t.events, e)
		return true
	}
	again := *t.traced
	again.Events = inOrder(append(slices.Clone(again.Events), e))
	t.traced = &again
	if tell != nil {
		tell(again)
	}
	return true
}

// mostEvents is how many events of a turn are traced.
const mostEvents = 100

// markAudible notes when the answer, or an opener before it, was first to be heard.
func (t *turn) markAudible(at time.Time, opener bool) {
	t.clock.Mark(budget.FirstAudible, at)
	if !opener {
		t.clock.Mark(budget.Answered, at)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.audible.IsZero() {
		t.audible = at
	}
}

// markSent notes that the caller was told of the answer's end.
func (t *turn) markSent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = true
}

// cutAt notes that the caller has heard no more of the answer than this. It reports whether that is in time.
func (t *turn) cutAt(heard time.Duration) bool {
	t.mu.Lock()
	judged := t.judged
	if !judged {
		t.cut = &heard
	}
	t.mu.Unlock()
	if !judged {
		t.happened(time.Now(), trace.KindTruncated, fmt.Sprintf("%v were heard", heard))
	}
	return !judged
}

// atMost settles how much of the answer was heard, given what is known of it here.
func (t *turn) atMost(heard time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.judged = true
	if t.cut != nil {
		return min(heard, *t.cut)
	}
	return heard
}

// heardFor returns for how long the answer has been heard by now.
func (t *turn) heardFor(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.audible.IsZero() {
		return 0
	}
	return now.Sub(t.audible)
}

// guesses returns what was begun before the turn was decided.
func (t *turn) guesses() transport.Guesses {
	s := t.spent
	s.add(t.guess.cost())
	return transport.Guesses{Tries: s.tries, Stood: s.stood, Wasted: s.wasted}
}

// report returns what is told of a turn at its end, but for its answer and its times.
func (t *turn) report() transport.TurnReport {
	return transport.TurnReport{Response: t.answer.ID, Items: t.items, Transcript: t.transcript, Guesses: t.guesses()}
}

// status returns how a turn's answer ended, given how its generation did.
func (t *turn) status(o outcome) outcome {
	switch cause := context.Cause(t.ctx); {
	case cause == nil:
	case errors.Is(cause, errBargeIn), errors.Is(cause, errContinued):
		o.status, o.reason, o.err = transport.Cancelled, "turn_detected", nil
	case errors.Is(cause, errCancelled):
		o.status, o.reason, o.err = transport.Cancelled, "client_cancelled", nil
	case errors.Is(cause, transport.ErrHungUp):
		o.status, o.reason, o.err = transport.Cancelled, "hung_up", nil
	case errors.Is(cause, transport.ErrEnded), errors.Is(cause, transport.ErrTransferred): // the answer itself did that, when it had been heard
		o.status, o.reason, o.err = transport.Completed, "", nil
	case errors.Is(cause, transport.ErrShutdown):
		o.status, o.reason, o.err = transport.Cancelled, "shutdown", nil
	case errors.Is(cause, transport.ErrSlowReader), errors.Is(cause, transport.ErrLost), errors.Is(cause, transport.ErrIdle),
		errors.Is(cause, transport.ErrExpired), errors.Is(cause, transport.ErrSilent), errors.Is(cause, transport.ErrMachine), errors.Is(cause, context.Canceled):
		o.status, o.reason, o.err = transport.Cancelled, "call_ended", nil
	default:
		o.status, o.err, o.blame = transport.Failed, cause, budget.TTS
	}
	return o
}

// live is the set of turns whose answers are not settled yet, in their order.
type live struct {
	mu    sync.Mutex
	turns []*turn
	past  []*turn       // The last ones that were among them.
	news  chan struct{} // Holds something when a turn was added.
}

// mostPast is how many turns are remembered that have ended: a caller's side may say a little later when it heard their answers.
const mostPast = 2

func (l *live) add(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns = append(l.turns, t)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *live) remove(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns = slices.DeleteFunc(l.turns, func(u *turn) bool { return u == t })
	l.past = append(l.past, t)
	l.past = slices.Delete(l.past, 0, max(0, len(l.past)-mostPast))
}

// find returns the turn with the answer, if it is one of now or has just ended; nil otherwise.
func (l *live) find(response string) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range slices.Concat(l.turns, l.past) {
		if t.answer.ID == response {
			return t
		}
	}
	return nil
}

// all returns the turns of now.
func (l *live) all() []*turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.turns)
}

// answering returns the turns whose answer is still wanted, and is not heard to its end.
func (l *live) answering() []*turn {
	return slices.DeleteFunc(l.all(), func(t *turn) bool { return !t.respond || t.ctx.Err() != nil })
}

// unsent returns those of them whose answer has not been sent to its end.
func (l *live) unsent() []*turn {
	return slices.DeleteFunc(l.answering(), func(t *turn) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.sent
	})
}
