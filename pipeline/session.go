// Package pipeline holds one call: it listens, answers and speaks. This file is the way of the sound, in one direction:
//
//	Call.Receive -> listen (VAD, end of turn, STT) -> turns -> think (LLM) -> clauses -> speak (TTS) -> sounds -> play -> Call.Send
//
// listen is in listener.go and utterance.go, on top of ear.go; think in mind.go, draft.go and clause.go; speak in mouth.go; play
// in player.go, and where an answer would be too late, an opener (opener.go). The recogniser hears the caller from the first sound on (hearing.go); what it makes of that in the meantime goes to
// follow, in reader.go, which has the model read ahead. A silence that may end the turn begins an ending (ending.go): a closing
// pass, begun at its first frame, whose words think waits for, and an answer on the chance that they are all (guess.go). What an
// engine brings that makes no sense counts as its failure (sense.go). Speech over an answer is a
// challenge (challenge.go), during which play holds what it has (floor.go). Of a call that was placed, listen finds out first who has answered
// it (answering.go).
//
// A clause or a sound may also be the beginning or the end of an answer, which so pass through every stage in their order. Only
// the calls of tools (calls.go) go from think to play at once, so that a tool works while the words before it are spoken. Those that the
// service runs itself (tools.go) begin there, and think waits for them. Answers beside the conversation (aside.go) take none of this way.
// Each item knows its turn. Nothing but cancellation goes the other way, as the cause of a turn's context, and the last hop
// drops what is stale; so an interruption has nothing to flush. Every queue is bounded: whoever is ahead waits.
package pipeline

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

// frameLength is how much sound goes to the caller at a time, and how much of it may be lost or late at a time. 20 ms is
// what telephones and Opus use.
const frameLength = 20 * time.Millisecond

// Session is one call, from its beginning to its end. Set the exported fields, then Run it once.
type Session struct {
	Call     transport.Call
	Settings transport.Settings // What the call begins with.
	VAD      audio.VAD          // This call's own.
	Turns    TurnModel          // nil goes by words and silence alone.
	STT      stt.Recognizer
	LLM      llm.Generator
	Hedge    llm.Generator // Is asked as well where LLM is late or fails; nil for nobody.
	TTS      tts.Synthesizer
	Limits   Limits
	Echo     bool // Tell the agent's own voice from the caller's, where it comes back.
	Level    bool // Bring the caller's voice to one level before it is looked for.
	// Apology is spoken when a turn cannot be answered, so that the caller is not left in silence.
	Apology  string
	Notice   string // Is said before all else, and cannot be interrupted. Empty says nothing.
	Greeting Greeting
	// Answering finds out first who has answered a call that was placed, which needs Settings with Detection. nil is a call that came.
	Answering *Answering
	Openers   []string // Spoken where an answer would be too late, until it comes. Those that Phrases knows are.
	Phrases   Phrases  // nil knows none.
	Silence   Silence
	Tools     Tools   // What the service itself runs; nil is nothing.
	Waiting   Waiting // What is said while that takes long.
	// Dial reaches a server whose tools the caller's side wants the model to have, and returns them when they are known. nil reaches none.
	Dial func(ctx context.Context, to transport.ToolServer) (Dialled, error)
	// Drain is closed when the service goes down: the answer that is being given ends with its sentence, then the call
	// ends with transport.ErrShutdown. nil never drains.
	Drain <-chan struct{}
	Log   *slog.Logger
	// Strain says how much less is to be done for the call now than could be. nil is never any less.
	Strain func() budget.Strain
	// Trace is told of each turn at its end, with all but the call's own things. nil is nobody. It must return at once.
	Trace func(trace.Turn)
	// Retrace is told of a turn that Trace was told of already, with what came later of it. nil is nobody. It must return at once.
	Retrace func(trace.Turn)
	// Beside is told of each answer beside the conversation at its end, with all but the call's own things. nil is nobody. It must return at once,
	// and is called by several goroutines at a time.
	Beside func(trace.Aside)
	Record bool                    // Its turns have their sound with them.
	Queues Queues                  // Count what waits in it.
	Models map[budget.Stage]string // What does the work of each stage, for Trace.

	group      *errgroup.Group
	history    history
	live       live
	saying     saying
	floor      floor
	aloud      aloud
	monitor    monitor
	asides     asides
	unspoken   atomic.Int64    // Clauses that were handed on and are not spoken yet.
	hypotheses chan hypothesis // The newest one, until follow takes it.
	calls      chan called     // From think to play.
	results    chan ran        // From tools to play.
	servers    servers
	draining   chan struct{} // Closed when Drain has been noticed.
}

// Run holds the call until it ends, and says why it ended: transport.ErrHungUp, transport.ErrShutdown, the cause of ctx,
// or what went wrong. When it returns, nothing of the call is left running.
func (s *Session) Run(ctx context.Context) error {
	s.group, ctx = errgroup.WithContext(ctx)
	s.live.news = make(chan struct{}, 1)
	s.draining, s.hypotheses, s.calls = make(chan struct{}), make(chan hypothesis, 1), make(chan called)
	s.results = make(chan ran)
	limits := s.Limits.withDefaults()

	turns := make(chan *turn, 2*limits.Turns) // those that want no answer any more wait as well
	clauses := make(chan clause, limits.Clauses)
	sounds := make(chan sound, max(1, limits.Ahead/frameLength))
	p := newPlayer(s, limits)

	s.serve(ctx, s.Settings.Servers)
	s.group.Go(func() error { defer close(turns); return s.listen(ctx, limits, turns) })
	s.group.Go(func() error { defer close(clauses); return s.think(ctx, limits, turns, clauses) })
	s.group.Go(func() error { defer close(sounds); return s.speak(ctx, clauses, sounds) })
	s.group.Go(func() error { return s.play(ctx, p, sounds) })
	s.group.Go(func() error { return s.follow(ctx) })
	s.group.Go(func() error { return s.drain(ctx) })
	err := s.group.Wait()
	p.leave()
	s.monitor.close()
	s.history.cancel("") // nobody will bring a result any more
	for _, g := range []llm.Generator{s.LLM, s.Hedge} {
		if keeps, ok := g.(llm.Forgetter); ok {
			keeps.Forget(s.Call.ID())
		}
	}
	return err
}

// listen takes what the caller says and does, and hands on each turn once it is decided.
func (s *Session) listen(ctx context.Context, limits Limits, turns chan<- *turn) error {
	l := newListener(s, ctx, limits, turns)
	defer l.close()
	if err := l.beginCall(); err != nil {
		return err
	}
	for {
		if err := l.receive(); err != nil {
			return err
		}
	}
}

// think finds the words of each turn and an answer to them, which it hands on clause by clause.
func (s *Session) think(ctx context.Context, limits Limits, turns <-chan *turn, clauses chan<- clause) error {
	mind := &mind{Session: s, limits: limits}
	for t := range turns {
		o, err := mind.answer(ctx, t, clauses)
		if err != nil {
			return err
		}
		if err := put(ctx, clauses, clause{turn: t, done: &o}); err != nil {
			return err
		}
	}
	return nil
}

// speak gives each clause a sound, which it hands on frame by frame.
func (s *Session) speak(ctx context.Context, clauses <-chan clause, sounds chan<- sound) error {
	var m *mouth // Of the answer that is being spoken; nil while it is written.
	defer func() { m.close() }()
	for c := range clauses {
		var err error
		switch {
		case c.begin && !c.turn.settings.Written:
			m.close()
			if m, err = newMouth(s.TTS, c.turn.settings, s.Limits.withDefaults().Stall, sounds, s.Queues.Sound); err == nil {
				err = put(ctx, sounds, sound{clause: c})
			}
		case m == nil || c.begin || c.place != nil:
			err = put(ctx, sounds, sound{clause: c})
		case c.done != nil:
			m.finish(c.turn)
			m.close()
			m = nil
			err = put(ctx, sounds, sound{clause: c})
		default:
			m.say(c)
		}
		if err != nil {
			return err
		}
		s.spoken(c)
	}
	return nil
}

// play sends each frame to the caller when it is due, and notes in the conversation what was heard. Sound of an answer
// that is no longer wanted ends here.
func (s *Session) play(ctx context.Context, p *player, sounds <-chan sound) error {
	for {
		var err error
		late, due := p.late()
		if late != nil && !time.Now().Before(due) { // sound that nobody can hear may come without end
			if err := p.fill(ctx, late); err != nil {
				return err
			}
			continue
		}
		var soon <-chan time.Time
		if late != nil {
			soon = time.After(time.Until(due))
		}
		select {
		case <-s.live.news: // who is waited for may be another now
		case <-soon: // it is opened above
		case c := <-s.calls:
			err = p.call(ctx, c)
		case r := <-s.results:
			err = p.returned(ctx, r)
		case snd, more := <-sounds:
			if !more {
				return nil
			}
			err = p.take(ctx, snd)
		}
		if err != nil {
			return err
		}
	}
}

// drain ends the call when the service goes down, once the sentence that is being spoken has ended.
func (s *Session) drain(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.Drain:
	}
	close(s.draining)
	s.asides.end(transport.ErrShutdown)
	for _, t := range s.live.all() {
		select {
		case <-t.settled:
		case <-ctx.Done():
			return nil
		}
	}
	return transport.ErrShutdown
}

// interrupt ends the answers that are being given, because the caller began to speak.
func (s *Session) interrupt(now time.Time, limits Limits) {
	if since, _, held := s.floor.held(); held {
		now = since // nothing of it was heard since then
	}
	for _, t := range s.live.answering() {
		if t.heardFor(now) < limits.Unheard {
			t.end(errContinued)
		} else {
			t.end(errBargeIn)
		}
	}
}

// put sends v to a stage, unless the context ends first.
func put[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// strain says what is to be left undone now.
func (s *Session) strain() budget.Strain {
	if s.Strain == nil {
		return budget.Relaxed
	}
	most := budget.SmallModel
	if s.Hedge == nil {
		most = budget.FewPartials // there is no smaller model
	}
	return min(s.Strain(), most)
}

// isDraining reports whether the service goes down.
func (s *Session) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
