package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// This file is answers beside the conversation: the caller's side asks the model something of its own, while the call goes on. Nobody
// hears them as part of the call, so they have no place in its order, no budget, and are no turns; they are made by what the conversation leaves
// of the machine, and told as they are made.

// asides are the answers beside the conversation that are being given, by their IDs.
type asides struct {
	mu  sync.Mutex
	all map[string]*turn
}

// add adds an answer, if fewer than most are being given.
func (a *asides) add(t *turn, most int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) >= most {
		return false
	}
	if a.all == nil {
		a.all = map[string]*turn{}
	}
	a.all[t.answer.ID] = t
	return true
}

func (a *asides) remove(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, t.answer.ID)
}

// cancel ends an answer, if it is one of these.
func (a *asides) cancel(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.all[id]
	if ok {
		t.end(errCancelled)
	}
	return ok
}

// end ends all of them.
func (a *asides) end(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := range maps.Values(a.all) {
		t.end(why)
	}
}

// patient is the plan of an answer beside the conversation. Whatever belongs to the conversation is due sooner.
var patient = budget.Plan{Mic: time.Second, STT: time.Second, LLM: 5 * time.Second, TTS: 5 * time.Second, Observe: true}

// longestAside is how long one may take: engines that hang are not noticed otherwise, since nobody listens.
const longestAside = 2 * time.Minute

// aside gives an answer beside the conversation.
func (l *listener) aside(in transport.Respond) error {
	if l.isDraining() {
		return l.fault(in.Ref, "server_shutdown", "The service is shutting down: connect again, and ask then.")
	}
	settings := over(l.settings, in)
	settings.Plan = patient
	t := &turn{clock: clockOf(time.Now()), respond: true, settings: settings, answer: transport.Response{
		ID: newID("resp"), Item: newID("item"), Written: settings.Written, Encoding: settings.Encoding, Metadata: in.Metadata, Aside: true,
	}}
	conversation := &l.history
	if in.Input != nil {
		var err error
		if conversation, err = l.history.of(in.Input); err != nil {
			return l.Call.Send(l.ctx, transport.Fault{Ref: in.Ref, Part: transport.PartInput, Code: "invalid_value", Message: err.Error() + "."})
		}
	}
	messages := conversation.messages(settings.Instructions, "")
	if len(messages) == 0 {
		return l.Call.Send(l.ctx, transport.Fault{
			Ref: in.Ref, Part: transport.PartInput, Code: "missing_required_parameter", Message: "There is nothing to answer: neither instructions nor input.",
		})
	}
	t.ctx, t.end = context.WithCancelCause(l.ctx)
	if !l.asides.add(t, l.limits.Asides) {
		t.end(nil)
		return l.fault(in.Ref, "too_many_responses", fmt.Sprintf(
			"%d answers beside the conversation are being given already, which is the most: wait for the response.done of one.", l.limits.Asides))
	}
	l.group.Go(func() error {
		late := time.AfterFunc(longestAside, func() { t.end(errStalled) })
		defer late.Stop()
		defer l.asides.remove(t)
		defer t.end(nil)
		return l.beside(l.ctx, t, messages)
	})
	return nil
}

// beside makes an answer to messages and tells the caller's side of it.
func (s *Session) beside(ctx context.Context, t *turn, messages []llm.Message) error {
	limits := s.Limits.withDefaults()
	clauses := make(chan clause, limits.Clauses)
	sounds := make(chan sound, max(1, limits.Ahead/frameLength))
	w := &murmur{Session: s, turn: t, note: trace.Aside{ID: t.answer.ID, Model: s.Models[budget.LLM], Began: time.Now(), Status: string(transport.Cancelled)}}
	defer w.ended()
	if err := s.Call.Send(ctx, transport.ResponseStarted{Response: t.answer}); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		defer close(clauses)
		o := s.ponder(t, messages, clauses, w)
		_ = put(ctx, clauses, clause{turn: t, done: &o}) // fails only when the call has ended
	})
	var broken error
	work.Go(func() {
		defer close(sounds)
		if err := s.speak(ctx, clauses, sounds); err != nil && ctx.Err() == nil {
			broken = err
		}
		for range clauses { // so that the model can end
		}
	})
	for snd := range sounds {
		if err := w.take(ctx, snd); err != nil {
			t.end(err)
			for range sounds {
			}
			return err
		}
	}
	return broken
}

// ponder has the model write the answer, clause by clause and call by call.
func (s *Session) ponder(t *turn, messages []llm.Message, clauses chan<- clause, w *murmur) outcome {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	d := &draft{messages: messages, pieces: make(chan piece), stop: stop}
	r := s.request(t.settings, messages, budget.Urgency{Class: budget.Background})
	r.Conversation = "" // what is kept of the call's own is not to make room for this
	r.Sampling, r.MaxTokens, r.Whole = t.settings.Sampling, t.settings.MaxTokens, t.settings.Whole
	s.start(ctx, s.LLM, d, r, t.settings)
	if put(t.ctx, clauses, clause{turn: t, begin: true}) != nil {
		return outcome{}
	}
	calls := 0
	for p := range d.pieces {
		if p.call != nil {
			if calls++; calls > 1 && t.settings.OneCall {
				continue
			}
			if w.call(t.ctx, *p.call) != nil {
				break
			}
			continue
		}
		if s.hand(clauses, clause{turn: t, text: p.text}) != nil {
			break
		}
	}
	stop()
	for range d.pieces {
	}
	if d.err != nil && t.ctx.Err() == nil {
		s.Log.Error("the model failed beside the conversation", "call", s.Call.ID(), "response", t.answer.ID, "err", d.err)
		return outcome{status: transport.Failed, err: d.err, usage: d.outcome.usage}
	}
	return d.outcome
}

// murmur tells the caller's side of one answer beside the conversation.
type murmur struct {
	*Session
	turn *turn

	mu   sync.Mutex // Calls come while words are told.
	said bool
	text strings.Builder
	long time.Duration // Its sound.
	note trace.Aside
}

// ended tells who runs the service of the answer.
func (w *murmur) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Beside != nil {
		w.note.Ended, w.note.Sound = time.Now(), w.long
		w.Beside(w.note)
	}
}

// call tells of a call of a tool.
func (w *murmur) call(ctx context.Context, c llm.ToolCall) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	it := transport.Item{ID: newID("item"), Role: llm.Assistant, Call: &c}
	return w.Call.Send(ctx, transport.Called{Response: w.turn.answer, Item: it})
}

// take tells of what comes next.
func (w *murmur) take(ctx context.Context, snd sound) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turn
	switch {
	case snd.done != nil:
		o := t.status(*snd.done)
		if w.Log.Info("answered beside the conversation", "call", w.Call.ID(), "response", t.answer.ID, "status", o.status); o.status == "" {
			o.status = transport.Completed
		}
		w.note.Status, w.note.Reason = string(o.status), o.reason
		w.note.Tokens = trace.Tokens{Input: o.usage.Prompt, Cached: o.usage.Cached, Output: o.usage.Output}
		return w.Call.Send(ctx, transport.ResponseDone{
			Response: t.answer, Status: o.status, Reason: o.reason, Err: o.err, Usage: o.usage, Text: w.text.String(), Voice: w.long,
		})
	case snd.begin, t.ctx.Err() != nil:
		return nil
	case snd.fault != nil:
		t.end(snd.fault)
		return nil
	}
	if snd.text != "" {
		if !w.said {
			w.said = true
			if err := w.Call.Send(ctx, transport.MessageStarted{Response: t.answer}); err != nil {
				return err
			}
		}
		w.text.WriteString(snd.text)
		if err := w.Call.Send(ctx, transport.Words{Response: t.answer, Text: snd.text}); err != nil {
			return err
		}
	}
	if len(snd.pcm) == 0 {
		return nil
	}
	w.long += audio.Duration(len(snd.pcm), max(t.settings.Rate, 1))
	return w.Call.Send(ctx, transport.Voice{Response: t.answer, PCM: snd.pcm, Rate: t.settings.Rate})
}

// over returns the settings with what is asked for one answer.
func over(settings transport.Settings, in transport.Respond) transport.Settings {
	if in.Instructions != nil {
		settings.Instructions = *in.Instructions
	}
	if in.MaxTokens != 0 {
		settings.MaxTokens = in.MaxTokens
	}
	if in.Written != nil {
		settings.Written = *in.Written
	}
	if in.Tools != nil {
		settings.Tools, settings.Alone = in.Tools, true
	}
	if in.Choice != nil {
		settings.Choice = *in.Choice
	}
	if in.OneCall != nil {
		settings.OneCall = *in.OneCall
	}
	if in.Rate != 0 {
		settings.Rate, settings.Encoding = in.Rate, in.Encoding
	}
	if in.Aside || in.Input != nil {
		settings.Alone = true // what the service's tools bring is for the conversation
	}
	return settings
}

// of returns a conversation of its own made of items, of which those that have only an ID are this one's.
func (h *history) of(items []transport.Item) (*history, error) {
	out := &history{}
	for _, it := range items {
		if it.Role == "" {
			e, err := h.copyOf(it.ID)
			if err == nil && out.find(e.id) != nil {
				err = fmt.Errorf("item %q is there twice", it.ID)
			}
			if err == nil && e.call != nil && e.makes() == (out.callOf(e.call.ID) != nil) {
				err = fmt.Errorf("item %q is a call that is there already, or the result of one that is not there before it", it.ID)
			}
			if err != nil {
				return nil, err
			}
			if e.call != nil && !e.makes() {
				e.call = out.callOf(e.call.ID)
				e.call.result = e.id
			}
			out.items = append(out.items, e)
			continue
		}
		if it.ID == "" {
			it.ID = newID("item")
		}
		it.After = ""
		if _, err := out.add(it); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// copyOf returns a copy of an item that the caller's side knows of.
func (h *history) copyOf(id string) (*entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(id)
	if e == nil || e.untold {
		return nil, fmt.Errorf("item %q: %w", id, errNoItem)
	}
	out := *e
	out.spoken = slices.Clone(e.spoken)
	if e.call != nil {
		c := *e.call
		if out.call = &c; e.makes() {
			c.result = ""
		}
	}
	return &out, nil
}
