package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// This file is what a call knows of tools that the service runs itself. An answer that calls some of them stays open: they run side by
// side, the model reads what came of them and goes on. Each round of that is a step. Nothing runs that is not part of an answer which is
// being given, and when that is no longer wanted neither are they.

// Tools are what the service runs for a call when the model calls it. They are safe for use by several goroutines.
type Tools interface {
	// Offered returns what the model may call now.
	Offered() []llm.Tool
	// Server returns who runs the tool of a name; empty where there is none.
	Server(name string) string
	// Run runs a call and returns what the model is to read of it; where there is an error it reads that. What became of it an error
	// may say in a word, by a method Outcome. When ctx ends Run returns soon.
	Run(ctx context.Context, c llm.ToolCall) (string, error)
}

// Waiting is what is said while tools take long.
type Waiting struct {
	After   time.Duration // So long after something was last heard, and again; 0 says nothing.
	Phrases []string      // Those that Session.Phrases knows are said, one after the other.
}

// equip returns the settings with what the service runs among the tools. What the caller's side offers under the same name goes before it.
// A choice of a tool that there is not any more leaves the choice to the model.
func (s *Session) equip(settings transport.Settings) transport.Settings {
	if settings.Alone {
		return settings
	}
	known := map[string]bool{}
	for _, t := range settings.Tools {
		known[t.Name] = true
	}
	settings.Tools = slices.Clip(settings.Tools)
	for _, has := range s.crew() {
		for _, t := range has.Offered() {
			if !known[t.Name] {
				settings.Tools = append(settings.Tools, t)
				known[t.Name] = true
			}
		}
	}
	switch c := settings.Choice; {
	case c == llm.ChoiceAuto, c == llm.ChoiceNone, c == llm.ChoiceRequired && len(settings.Tools) > 0, known[string(c)]:
	case len(settings.Servers) == 0 && s.Tools == nil: // then the wire has seen to it
	default:
		settings.Choice = llm.ChoiceAuto
	}
	return settings
}

// runs returns who runs a tool, where the service does under these settings; empty otherwise.
func (s *Session) runs(settings transport.Settings, name string) string {
	if settings.Alone || slices.ContainsFunc(settings.Tools, func(t llm.Tool) bool { return t.Name == name }) {
		return ""
	}
	_, label := s.whose(name)
	return label
}

// running is a call that the service runs.
type running struct {
	called
	item     transport.Item
	previous string
	began    time.Time
	came     ran // What came of it. Set by its run; play reads it once nothing runs any more, and is told of it before that where it asks.
}

// ran is what came of it.
type ran struct {
	*running
	text    string
	outcome string
	ended   time.Time
}

// run begins to run a call that the caller's side has been told of.
func (p *player) run(c called, it transport.Item, previous string) {
	r := &running{called: c, item: it, previous: previous, began: time.Now()}
	p.running = append(p.running, r)
	p.quiet = later(p.quiet, r.began)
	tools, _ := p.whose(c.call.Name)
	p.group.Go(func() error {
		var text string
		err := errGoneTool
		if tools != nil {
			text, err = tools.Run(context.WithValue(c.turn.ctx, answerKey{}, &Answer{c.turn, c.place}), c.call)
		}
		outcome := transport.RanWell
		if err != nil {
			text, outcome = err.Error(), outcomeOf(err)
		}
		r.came = ran{r, text, outcome, time.Now()}
		_ = put(c.turn.ctx, p.results, r.came) // fails only when the answer is no longer wanted
		return nil
	})
}

// errGoneTool says that a tool was there when the model called it, and is not any more.
var errGoneTool = errors.New("the tool is not there any more")

// wrongArguments is the outcome of a call whose arguments were not as its tool wants them.
const wrongArguments = "wrong_arguments"

// outcomeOf returns what became of a call, in a word.
func outcomeOf(err error) string {
	var known interface{ Outcome() string }
	if errors.As(err, &known) {
		return known.Outcome()
	}
	return "failed"
}

// returned takes the result of a call, unless its answer is no longer wanted.
func (p *player) returned(ctx context.Context, r ran) error {
	if p.answering != r.turn || !p.pause(r.turn) {
		return nil
	}
	return p.conclude(ctx, r)
}

// conclude puts into the conversation what came of a call, and tells the caller's side.
func (p *player) conclude(ctx context.Context, r ran) error {
	p.running = slices.DeleteFunc(p.running, func(other *running) bool { return other == r.running })
	p.quiet = later(p.quiet, time.Now())
	r.note(r.outcome, r.ended)
	it := r.item
	it.Text, it.Outcome = r.text, r.outcome
	p.history.ran(it)
	if err := p.Call.Send(ctx, transport.Ran{Response: p.response, Item: it, Previous: r.previous}); err != nil {
		return err
	}
	r.wait.take(r.outcome)
	return nil
}

// note has the trace tell what came of a call.
func (r *running) note(outcome string, ended time.Time) {
	r.turn.happened(r.began, trace.KindTool, fmt.Sprintf("%s: %s after %v", r.call.Name, outcome, ended.Sub(r.began).Round(time.Millisecond)))
}

// outlived notes the calls during which the call of the caller ended, as it does by one that transfers it.
func (p *player) outlived() {
	for _, r := range p.running {
		outcome := r.came.outcome
		if outcome != transport.RanWell {
			outcome = "the call ended" // which says more than that it was cancelled
		}
		r.note(outcome, r.came.ended)
	}
}

// abandon ends the calls of an answer that is no longer wanted. What comes of them is not waited for.
func (p *player) abandon(ctx context.Context) error {
	for _, r := range slices.Clone(p.running) {
		if err := p.conclude(ctx, ran{r, cancelled, "cancelled", time.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// step is the calls of one step of an answer that the service runs.
type step struct {
	asked int         // How many there are.
	wrong bool        // Some had arguments that were not as they have to be.
	said  bool        // The step had words,
	asks  bool        // and calls that the caller's side has to make.
	done  chan string // The outcome of each.
}

func newStep() *step { return &step{done: make(chan string, mostCalls)} }

// mostCalls is how many calls one step may make: those behind it are not made.
const mostCalls = 16

// take notes the outcome of one call.
func (s *step) take(outcome string) { s.done <- outcome } // there is room for all that are made

// await waits until all calls of the step have come to something. It reports whether the answer is to go on.
func (m *mind) await(t *turn, s *step) bool {
	for range s.asked {
		select {
		case outcome := <-s.done:
			s.wrong = s.wrong || outcome == wrongArguments
		case <-t.ctx.Done():
			return false
		case <-m.draining:
			t.end(transport.ErrShutdown)
			return false
		}
	}
	return true
}
