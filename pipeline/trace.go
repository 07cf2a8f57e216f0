package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/transport"
)

// trace tells of a turn that has ended.
func (p *player) trace(t *turn, o outcome, report transport.TurnReport) {
	if p.Trace == nil {
		return
	}
	p.turns++
	out := trace.Turn{
		ID: t.answer.ID, Number: p.turns, Report: report.Report, Origin: t.origin, Said: t.asked(), Answer: report.Answer, Models: p.Models,
		Tokens:  trace.Tokens{Input: o.usage.Prompt, Cached: o.usage.Cached, Output: o.usage.Output},
		Guesses: trace.Guesses{Tries: report.Guesses.Tries, Stood: report.Guesses.Stood, Wasted: report.Guesses.Wasted},
		Status:  string(o.status), Reason: o.reason, Tools: t.calls, Work: t.work(),
	}
	if t.hearing != nil {
		out.Words = t.hearing.of.trace(t.clock)
	}
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, errBargeIn):
		t.happened(time.Now(), trace.KindBargeIn, "")
	case errors.Is(cause, errContinued):
		t.happened(time.Now(), trace.KindContinued, "")
	}
	if o.err != nil {
		t.happened(time.Now(), trace.KindFault, o.err.Error())
	}
	tell := func() error {
		if p.Record {
			out.Sound = t.sound()
		}
		t.tell(out, p.Trace)
		return nil
	}
	if p.Record && !p.gone {
		p.group.Go(tell) // nobody waits for the sound
		return
	}
	_ = tell()
}

// mostWritten is how many bytes of what was written are traced: lists show them, of which each turn has little else.
const mostWritten = 4 << 10

// asked returns what the turn answers, in words.
func (t *turn) asked() string {
	switch t.origin {
	case trace.Aloud:
		return t.transcript
	case trace.Written:
		if len(t.wrote) > mostWritten {
			return strings.ToValidUTF8(t.wrote[:mostWritten], "") + "…"
		}
		return t.wrote
	}
	return ""
}

// tell tells of the turn with what has happened in it. What happens later finds what was told.
func (t *turn) tell(out trace.Turn, to func(trace.Turn)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Events = slices.Clone(t.events)
	for _, a := range out.Report.Actions {
		out.Events = append(out.Events, trace.Event{At: a.At, Kind: trace.KindAction, Detail: string(a.Stage) + ": " + string(a.Kind)})
	}
	inOrder(out.Events)
	t.traced = &out
	to(out)
}

// inOrder sorts events by their times.
func inOrder(events []trace.Event) []trace.Event {
	slices.SortStableFunc(events, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// mostRecorded is how much of an answer's sound is recorded.
const mostRecorded = 5 * time.Minute

// record keeps what is sent of the answer.
func (t *turn) record(pcm audio.PCM) {
	if t.spoke.IsZero() {
		t.spoke = time.Now()
	}
	if t.voice.Duration(t.settings.Rate) < mostRecorded {
		t.voice = append(t.voice, pcm...)
	}
}

// sound returns what was recorded of the turn; nil where that is nothing.
func (t *turn) sound() *trace.Sound {
	if len(t.caller) == 0 && len(t.voice) == 0 {
		return nil
	}
	out := &trace.Sound{Rate: audio.SpeechRate, Caller: t.caller}
	switch {
	case !t.began.IsZero():
		out.Begins = t.clock.Since(t.began)
	case !t.spoke.IsZero():
		out.Begins = t.clock.Since(t.spoke)
	}
	if len(t.voice) == 0 {
		return out
	}
	var err error
	if out.Answer, err = audio.Resample(t.voice, t.settings.Rate, out.Rate); err != nil {
		return out
	}
	if !t.began.IsZero() {
		out.Offset = t.spoke.Sub(t.began)
	}
	return out
}

// trace returns what the recogniser thought when, by a turn's clock.
func (h *hearing) trace(clock *budget.Turn) []trace.Heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []trace.Heard
	for _, y := range h.traced {
		out = append(out, trace.Heard{At: clock.Since(y.at), Text: y.Text, Stable: y.Stable})
	}
	return out
}

// bills returns what the turn's work is on.
func (t *turn) bills() []*budget.Bill {
	bills := []*budget.Bill{&t.bill}
	if t.hearing != nil {
		bills = append(bills, &t.hearing.of.bill)
	}
	for _, d := range t.drafts {
		bills = append(bills, &d.bill)
	}
	return bills
}

// detour notes where the turn's work did not go the straight way: that a remote engine was dialled again, and that another engine was asked in
// place of one, which is an action of the budget's as well unless the caller was still speaking.
func (t *turn) detour() {
	for _, b := range t.bills() {
		for _, d := range b.Detours() {
			t.happened(d.At, trace.KindRedial, d.Why)
			if d.Act != "" && t.clock.Since(d.At) >= 0 {
				t.clock.Act(d.Stage, d.Act, d.At)
			}
		}
	}
}

// work returns what the executor did for the turn, by stage. What was done for guesses that fell is not in it.
func (t *turn) work() map[budget.Stage]trace.Work {
	out := make(map[budget.Stage]trace.Work)
	for _, b := range t.bills() {
		for kind, s := range b.Work() {
			engine, _, _ := strings.Cut(kind, ".")
			w := out[budget.Stage(engine)]
			out[budget.Stage(engine)] = trace.Work{Runs: w.Runs + s.Runs, Waited: w.Waited + s.Waited, Ran: w.Ran + s.Ran}
		}
	}
	return out
}
