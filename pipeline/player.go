package pipeline

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// player is the last hop: it sends an answer to the caller at the pace at which it is heard, and knows what was.
type player struct {
	*Session
	pacer audio.Pacer

	answering *turn              // The answer that has begun and not ended; nil between answers.
	response  transport.Response // The same as the caller's side knows it: with the newest item of its words,
	said      bool               // which it was told of,
	item      string             // and its newest item in the conversation, whatever that is.
	running   []*running         // Its calls that the service runs.
	quiet     time.Time          // Since when nothing is heard, or nothing happens that was waited for.
	turns     int                // How many were reported.
	phrase    int                // Which opener was spoken last, counted on; -1 for none,
	waits     int                // and which of Waiting.Phrases. The same.
	early     []called           // Calls of an answer that has not begun here yet.
	began     time.Time          // When it did,
	before    time.Duration      // and what was played before it.
	spoken    []span             // Its clauses, with the sound that was sent.
	text      strings.Builder
	whole     bool // All of it has been sent.

	lost []*turn // Those that the call's end has cut off while they ended.
	gone bool    // The call has ended.
}

func newPlayer(s *Session, limits Limits) *player {
	return &player{Session: s, pacer: audio.Pacer{Lead: cmp.Or(s.Settings.Lead, limits.Lead)}, phrase: -1, waits: -1}
}

// take does what comes next with an answer.
func (p *player) take(ctx context.Context, snd sound) error {
	switch {
	case snd.done != nil:
		return p.finish(ctx, snd.turn, *snd.done)
	case snd.turn.ctx.Err() != nil:
		p.Queues.Sound.Discard(snd.length())
	case snd.place != nil:
		p.reach(snd.place)
	case snd.begin:
		if p.answering == snd.turn {
			return nil // an opener came before it
		}
		return p.begin(ctx, snd.turn)
	case snd.fault != nil:
		if n := len(p.spoken); snd.broke && n > 0 {
			p.spoken[n-1].guess()
			p.spoken[n-1].lasts += frameLength // its last word is missing at least
		}
		if err := p.say(ctx, snd.turn, p.Apology); err != nil {
			return err
		}
		p.hear(snd.turn)
		snd.turn.end(snd.fault)
	default:
		return p.sound(ctx, snd)
	}
	return nil
}

// begin starts an answer.
func (p *player) begin(ctx context.Context, t *turn) error {
	now := time.Now()
	p.began = now
	p.note(t)
	p.answering, p.spoken, p.whole = t, nil, false
	p.response, p.said, p.item = t.answer, false, t.answer.Item
	p.text.Reset()
	p.aloud.begin()
	p.before = p.pacer.Played(now) + p.pacer.Queued(now)
	if err := p.Call.Send(ctx, transport.ResponseStarted{Response: t.answer}); err != nil {
		return err
	}
	early := p.early
	p.early = nil
	for _, c := range early {
		if err := p.call(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// speak tells the caller's side that the answer has words, once for each item of them. An empty one is the newest.
func (p *player) speak(ctx context.Context, t *turn, item string) error {
	item = cmp.Or(item, p.response.Item)
	if p.said && item == p.response.Item {
		return nil
	}
	p.said, p.response.Item = true, item
	if item != t.answer.Item {
		p.item = item
		t.mu.Lock()
		t.parts = append(t.parts, passage{item, p.sent()})
		t.mu.Unlock()
	}
	return p.Call.Send(ctx, transport.MessageStarted{Response: p.response, Previous: p.history.tell(item)})
}

// sent returns how much sound of the answer has been sent.
func (p *player) sent() (d time.Duration) {
	for _, s := range p.spoken {
		d += s.sound
	}
	return d
}

// call calls a tool, or has the caller's side do so, unless the answer is held or no longer wanted: then nothing is called.
func (p *player) call(ctx context.Context, c called) error {
	t := c.turn
	if p.answering != t && t.ctx.Err() == nil {
		p.early = append(p.early, c)
		return nil
	}
	if !p.pause(t) || p.isDraining() {
		return nil
	}
	if c.said {
		if err := p.speak(ctx, t, c.words); err != nil {
			return err
		}
	}
	if p.history.knows(c.call.ID) {
		c.call.ID = newID("call") // some models count anew in each answer
	}
	it := transport.Item{ID: newID("item"), Role: llm.Assistant, Call: &c.call, After: p.item, Server: c.server, Asked: c.asks, Request: c.asked}
	previous, err := p.history.addOf(t.answer.ID, c.step, it)
	if err != nil {
		return err
	}
	p.item = it.ID
	t.calls = append(t.calls, c.call.Name)
	if err := p.Call.Send(ctx, transport.Called{Response: p.response, Item: it, Previous: previous}); err != nil {
		return err
	}
	if c.server != "" && !c.asks {
		p.run(c, it, previous)
		return nil
	}
	t.happened(time.Now(), trace.KindTool, c.call.Name)
	return nil
}

// sound sends one frame when it is due, and the words that begin with it.
func (p *player) sound(ctx context.Context, snd sound) error {
	t := snd.turn
	if n := len(p.spoken); snd.text != "" && n > 0 && p.isDraining() {
		if sentence, _ := endMark(strings.TrimSpace(p.spoken[n-1].text)); sentence {
			p.hear(t) // else its last words would be thrown away with what the caller's side has in hand
			t.end(transport.ErrShutdown)
			return nil
		}
	}
	length := audio.Duration(len(snd.pcm), max(t.settings.Rate, 1))
	if len(snd.pcm) > 0 && !p.due(t) {
		p.Queues.Sound.Discard(snd.length())
		return nil
	}
	if snd.text != "" {
		if err := p.speak(ctx, t, snd.item); err != nil {
			return err
		}
		p.aloud.say(snd.text)
		p.text.WriteString(snd.text)
		p.spoken = append(p.spoken, span{item: p.response.Item, text: snd.text, lasts: snd.lasts, ours: snd.ours})
		if err := p.Call.Send(ctx, transport.Words{Response: p.response, Text: snd.text}); err != nil {
			return err
		}
	}
	if len(snd.pcm) == 0 {
		return nil
	}
	if n := len(p.spoken); n > 0 {
		p.spoken[n-1].sound += length
		p.spoken[n-1].words = append(p.spoken[n-1].words, snd.words...)
		if snd.pause {
			p.spoken[n-1].pause += length
		}
	}
	if err := p.Call.Send(ctx, transport.Voice{Response: p.response, PCM: snd.pcm, Rate: t.settings.Rate}); err != nil {
		return err
	}
	if p.Record {
		t.record(snd.pcm)
	}
	now := time.Now() // that it has left, and not when it was to leave
	p.pacer.Next(length, now)
	p.quiet = later(p.quiet, now.Add(p.pacer.Queued(now)))
	p.Queues.Lead.Hold(int64(p.pacer.Queued(now)))
	p.aloud.play(p.pacer.Begins(length), length, snd.words)
	if err := p.monitor.play(snd.pcm, t.settings.Rate, p.pacer.Begins(length)); err != nil {
		return err
	}
	if _, ok := audio.FirstAudible(snd.pcm, t.settings.Rate); ok {
		t.markAudible(time.Now(), snd.ready)
	}
	return nil
}

// due waits until the next frame is due. It reports false when the answer is no longer wanted.
func (p *player) due(t *turn) bool {
	for p.pause(t) {
		d := p.pacer.Wait(time.Now())
		if d == 0 {
			return true
		}
		if !p.wait(t, d) {
			break
		}
	}
	return false
}

// pause waits while the answer is held. It reports false when the answer is no longer wanted.
func (p *player) pause(t *turn) bool {
	for p.note(t) {
		wanted, expired := p.floor.wait(t.ctx)
		if !wanted {
			return false // what it has in hand will be thrown away
		}
		if expired {
			if err := p.Call.Send(t.ctx, transport.Released{}); err != nil {
				return false
			}
		}
	}
	return t.ctx.Err() == nil
}

// note takes into account when the caller's side paused, and reports whether it pauses now. A side that cannot pause plays what it
// has. Pauses from before the answer were none of it.
func (p *player) note(t *turn) bool {
	past, since := p.floor.note()
	for _, h := range past {
		t.happened(h.from, trace.KindHeld, "")
		t.happened(h.until, trace.KindReleased, "")
	}
	if !t.settings.Holds {
		return !since.IsZero()
	}
	for _, h := range past {
		if !h.from.Before(p.began) {
			p.pacer.Hold(h.from)
			p.pacer.Resume(h.until)
		}
		p.monitor.pause(h.from, h.until)
		p.aloud.pause(h.from, h.until)
	}
	if since.IsZero() {
		return false
	}
	p.monitor.hold(since)
	if !since.Before(p.began) {
		p.pacer.Hold(since)
	}
	return true
}

// wait waits until a frame is due, or until a call of the answer has come, or the result of one. It reports false when the answer is no longer wanted.
func (p *player) wait(t *turn, d time.Duration) bool {
	if d <= 0 {
		return t.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case c := <-p.calls:
		return p.call(t.ctx, c) == nil
	case r := <-p.results:
		return p.returned(t.ctx, r) == nil
	case <-t.ctx.Done():
		return false
	}
}

// finish ends an answer, once it was heard or is no longer wanted, and reports on its turn.
func (p *player) finish(ctx context.Context, t *turn, o outcome) error {
	defer close(t.settled)
	defer p.live.remove(t)
	defer t.end(nil)

	if f := t.status(o); f.status == transport.Failed && t.ctx.Err() != nil && ctx.Err() == nil {
		p.Log.Error("the answer failed", "call", p.Call.ID(), "response", t.answer.ID, "err", f.err)
	}
	if p.answering == t && len(p.spoken) > 0 && t.ctx.Err() == nil && t.clock.Pending() == budget.TTS && !t.settings.Written {
		o.status, o.blame, o.err = transport.Failed, budget.TTS, errSilence
		if err := p.say(ctx, t, p.Apology); err != nil {
			return p.cut(t, err)
		}
	}
	defer p.history.forget(t.answer.ID) // what came to nothing, and nobody was told of
	p.early = nil
	report := t.report()
	if p.answering == t {
		p.answering, p.whole = nil, t.ctx.Err() == nil
		t.clock.Mark(budget.Done, time.Now())
		o = t.status(o)
		if o.silent && o.status == "" {
			o.status = transport.Completed // but for the opener
		}
		done := transport.ResponseDone{
			Response: p.response, Status: o.status, Reason: o.reason, Err: o.err, Usage: o.usage, Text: p.all(),
		}
		for _, s := range p.spoken {
			done.Voice += s.sound
		}
		if err := p.abandon(ctx); err != nil {
			return p.cut(t, err)
		}
		if o.status == transport.Cancelled || o.status == transport.Failed {
			p.history.cancel(t.answer.ID)
		}
		t.markSent() // before the caller knows, who may ask for the next answer at once
		if err := p.Call.Send(ctx, done); err != nil {
			return p.cut(t, err)
		}
		report.Answer = p.settle(t)
	} else if o.silent && context.Cause(t.ctx) == nil {
		return nil // nobody wanted an answer, so there is nothing to report
	}
	return p.Call.Send(ctx, p.account(t, o, report))
}

// cut notes that the call ends in the middle of an answer, and returns why.
func (p *player) cut(t *turn, why error) error {
	t.end(why)
	p.lost = append(p.lost, t)
	return why
}

// leave accounts for the turns that the end of the call has cut off: who gives up has waited as well. Nothing else of the call runs any more.
func (p *player) leave() {
	p.gone = true
	p.outlived()
	for _, t := range append(p.lost, p.live.all()...) {
		if !t.respond {
			continue
		}
		report := t.report()
		if len(p.spoken) > 0 && p.response.ID == t.answer.ID {
			report.Answer = p.settle(t)
		}
		t.clock.Mark(budget.Done, time.Now())
		p.account(t, t.status(outcome{usage: t.usage()}), report)
	}
}

// account judges a turn that is over, and tells of it.
func (p *player) account(t *turn, o outcome, report transport.TurnReport) transport.TurnReport {
	report.Calls = t.calls
	report.Continued = errors.Is(context.Cause(t.ctx), errContinued)
	t.detour()
	report.Report = t.clock.Report(t.settings.Plan)
	if took := report.Report.Marks[budget.Done]; p.gone && report.Report.Verdict == "" && took > t.settings.Plan.Total() {
		report.Report.Verdict, report.Report.Blame = budget.Over, t.clock.Pending() // who hung up had waited for too long
	}
	if t.origin != trace.Aloud {
		report.Report.Verdict, report.Report.Blame = "", "" // nobody asked for it aloud
	}
	if o.status == transport.Failed {
		report.Report.Verdict, report.Report.Blame = budget.Failed, o.blame // an apology is no answer, however soon it comes
	}
	p.Log.Info("turn", "call", p.Call.ID(), "response", t.answer.ID, "verdict", report.Report.Verdict,
		"blame", report.Report.Blame, "total", report.Report.Total, "continued", report.Continued, "calls", report.Calls)
	p.trace(t, o, report)
	return report
}

// settle waits until the caller has heard what was sent, unless the answer is interrupted, and notes in the conversation
// what was heard. It returns the words.
func (p *player) settle(t *turn) string {
	if t.settings.Written {
		for part := range p.parts() {
			p.history.setText(part[0].item, textOf(part))
		}
		return p.all()
	}
	p.hear(t)
	now := time.Now()
	heard := p.pacer.Played(now) - p.before
	if t.ctx.Err() != nil {
		heard = p.cutOff(t, now)
	}
	heard = t.atMost(heard)
	// Who speaks in the answer's last moment has heard it.
	cut := errors.Is(context.Cause(t.ctx), errBargeIn) && !(p.whole && heardText(p.spoken, heard) == strings.TrimSpace(p.text.String()))
	var words []string
	for part := range p.parts() {
		last := len(part) == len(p.spoken) || part[0].item == p.spoken[len(p.spoken)-1].item
		words = append(words, p.history.setSpoken(part[0].item, part, max(0, heard), cut && last))
		for _, s := range part {
			heard -= s.sound
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// parts returns what was said of the answer, item by item.
func (p *player) parts() iter.Seq[[]span] {
	return func(yield func([]span) bool) {
		for rest := p.spoken; len(rest) > 0; {
			n := slices.IndexFunc(rest, func(s span) bool { return s.item != rest[0].item })
			if n < 0 {
				n = len(rest)
			}
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// all returns all words of the answer.
func (p *player) all() string {
	var b strings.Builder
	for part := range p.parts() {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), " ") {
			b.WriteString(" ")
		}
		b.WriteString(textOf(part))
	}
	return b.String()
}

// textOf returns all words of clauses.
func textOf(spoken []span) string {
	var b strings.Builder
	for _, s := range spoken {
		b.WriteString(s.text)
	}
	return b.String()
}

// hear waits until the caller has heard what was sent. It returns early when the answer is no longer wanted.
func (p *player) hear(t *turn) {
	for p.pause(t) && p.pacer.Queued(time.Now()) > 0 {
		p.wait(t, min(p.pacer.Queued(time.Now()), frameLength)) // it may be held meanwhile
	}
	p.note(t)
}

// cutOff forgets the sound that the caller has not heard yet of an answer that was interrupted, and returns how much was
// heard.
func (p *player) cutOff(t *turn, now time.Time) time.Duration {
	if n := len(p.spoken); n > 0 && p.spoken[n-1].pause == 0 && !p.whole {
		p.spoken[n-1].guess()
	}
	p.Queues.Lead.Discard(int64(p.pacer.Queued(now)))
	heard := max(0, p.pacer.Cut(now)-p.before)
	p.monitor.cut(now)
	p.aloud.cut(now)
	if errors.Is(context.Cause(t.ctx), errContinued) {
		return 0
	}
	return heard
}
