package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// This file is how a listener makes turns out of sound.

// sound listens. Without detection it only keeps what it hears, until the caller commits it.
func (l *listener) sound(in transport.Sound) error {
	d := l.settings.Detection
	if d == nil && l.ear.at(l.ear.tape.End()-l.ear.since)+in.PCM.Duration(in.Rate) > l.limits.Utterance {
		if l.full {
			return nil
		}
		l.full = l.ear.tape.End() > l.ear.since
		if !l.full {
			return l.Call.Send(l.ctx, transport.Fault{
				Code: "input_audio_buffer_full",
				Message: fmt.Sprintf("This sound lasts %v, but the input audio buffer holds at most %v between two commits. Nothing of it was taken: "+
					"send it in parts.", in.PCM.Duration(in.Rate).Round(time.Second), l.limits.Utterance),
			})
		}
		return l.Call.Send(l.ctx, transport.Fault{
			Code: "input_audio_buffer_full",
			Message: fmt.Sprintf("The input audio buffer is full: it holds at most %v between two commits. What is in it is kept, "+
				"what comes now is not. Commit or clear it.", l.limits.Utterance),
		})
	}
	if err := l.ear.arrive(in); err != nil {
		return err
	}
	// A client may send minutes at once. In parts, the end of a turn is found before the sound behind it is taken in, and a
	// call that ends in the meantime does not go on listening.
	for part := range slices.Chunk(in.PCM, max(1, audio.Samples(frameLength, in.Rate))) {
		if l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		l.ear.take(part)
		if d == nil && l.item == "" {
			l.ear.from = l.ear.since
			l.begin()
		}
		if l.hearing != nil {
			l.hearing.feed(l.ear.tape)
		}
		l.ear.tape.Forget(l.needed())
		if d == nil {
			l.ear.frames = nil
			continue
		}
		l.ear.ends.Silence = l.silence(d)
		l.ear.deaf = l.deaf()
		if err := l.ear.listen(d, time.Now(), l.detected); err != nil {
			return err
		}
		if err := errors.Join(l.idle(), l.waitForKeys()); err != nil {
			return err
		}
		if l.ear.ends.Talking() && l.ear.at(l.ear.tape.End()-l.ear.from) >= l.limits.Utterance {
			end := l.decided // what the caller goes on to say is the next turn
			if l.challenge != nil {
				end = l.giveBack // an echo that long
			}
			if err := end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unheard is how much sound is kept in which nobody was heard to speak: the padding of what may be said next, and what the caller's
// side may commit although nobody was heard.
const unheard = 10 * time.Second

// needed returns from where on the call's sound may be asked for again.
func (l *listener) needed() int64 {
	end := l.ear.tape.End()
	keep := unheard
	if d := l.settings.Detection; d != nil {
		keep = max(keep, d.Padding+time.Second) // speech is noticed a little late
	}
	from := end - int64(audio.Samples(keep, audio.SpeechRate))
	next := end // where what may go on with the last turn begins
	if l.item != "" {
		from, next = min(from, l.ear.from, l.hearing.to), l.ear.from
	}
	if l.settings.Detection == nil || l.carries {
		from = min(from, l.ear.since)
	}
	if l.last != nil && l.ear.at(next-l.lastFrom) < longestResumed+unheard/4 {
		from = min(from, l.lastFrom)
	}
	return from
}

// detected acts on what the ear noticed in a frame.
func (l *listener) detected(event audio.Event) error {
	if event == audio.Done && l.challenge != nil {
		if l.conclude() == given {
			return l.giveBack()
		}
		if err := l.takeWord(time.Now()); err != nil {
			return err
		}
	}
	if err := l.noticed(event); err != nil || l.settings.Detection == nil {
		return err
	}
	return l.heed(time.Now())
}

func (l *listener) noticed(event audio.Event) error {
	l.suspect()
	switch event {
	case audio.Onset:
		return l.onset()
	case audio.Maybe:
		l.forget()
		l.ending = l.end()
	case audio.Resumed:
		l.pauses.Add(l.ear.ends.Paused())
		l.forget()
	case audio.Done:
		return l.decided()
	}
	return nil
}

// onset notes that the caller begins to speak. While an answer is being given that is a challenge, which is decided later.
func (l *listener) onset() error {
	l.ear.begin(l.settings.Detection.Padding)
	if l.carries {
		l.ear.from, l.carries = l.ear.since, false
	}
	l.resumes = nil
	if l.challenge != nil {
		l.begin()
		return nil
	}
	l.goesOn()
	l.begin()
	return l.started()
}

// goesOn notes whether the caller goes on with the turn before, of whose answer nothing was heard: then both are one, and are
// recognised as one, since words are recognised better in their sentence than without it.
func (l *listener) goesOn() bool {
	l.spoke = l.ear.from
	if l.last == nil || !errors.Is(context.Cause(l.last.ctx), errContinued) || l.ear.at(l.ear.from-l.lastFrom) > min(longestResumed, l.limits.Utterance/2) {
		return false
	}
	l.resumes, l.ear.from = l.last, l.lastFrom
	return true
}

// started tells the caller's side that the caller speaks.
func (l *listener) started() error {
	return l.Call.Send(l.ctx, transport.SpeechStarted{Item: l.item, At: l.ear.at(l.spoke)})
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

	if l.ending == nil {
		l.ending = &ending{pass: l.finish(l.ctx, l.hearing, l.due(budget.STT))}
	}
	if err := l.Call.Send(l.ctx, transport.SpeechStopped{Item: l.item, At: l.ear.at(l.ear.ends.Position())}); err != nil {
		return err
	}
	return l.take(clock, l.settings.Detection.Respond)
}

// commit hands on what the caller has said since the last turn.
func (l *listener) commit(in transport.Commit) error {
	l.ear.flush()
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
		l.ear.from = l.ear.since
		l.begin()
	}
	l.hearing.feed(l.ear.tape)
	l.forget()
	now := time.Now()
	clock := budget.NewTurn(l.ear.endOf(pcm))
	clock.Mark(budget.Received, now)
	clock.Mark(budget.Decided, now)
	respond := l.settings.Detection != nil && l.settings.Detection.Respond
	l.ending = &ending{pass: l.finish(l.ctx, l.hearing, clock.Due(l.settings.Plan, budget.STT))}
	return l.take(clock, respond)
}

// take makes what was said an item of the conversation and a turn.
func (l *listener) take(clock *budget.Turn, respond bool) error {
	t := &turn{
		voiced: l.ear.at(l.ear.voiced - l.ear.from), clock: clock, item: l.item, hearing: l.ending.pass, guess: l.ending.guess, spent: l.spent, respond: respond, settings: l.settings,
	}
	if l.Record {
		t.caller, t.began = l.ear.speech(), l.ear.clock.TimeOf(l.ear.from)
	}
	l.saying.end()
	l.hearing.end(l.Session, l.ending.pass)
	l.ending.evidence.stop()
	if l.own > 0 {
		t.own = l.strip()
	}
	l.hearing, l.ending, l.own, l.spent, l.prompts = nil, nil, 0, speculation{}, 0
	if t.replaces = l.replaces(); t.replaces != "" {
		there := l.history.remove(t.replaces) // else the caller's side has taken it out already
		l.resumes.hearing.stop()              // it is heard again, as part of this turn
		if there {
			if err := l.Call.Send(l.ctx, transport.Removed{Item: t.replaces}); err != nil {
				return err
			}
		}
	}
	if !l.gate.shuts() {
		l.gate = nil // whoever goes on speaking after the greeting is a person
	}
	l.last, l.lastFrom, l.lastEnd, l.resumes = t, l.ear.from, l.ear.voiced, nil
	l.ear.commit()
	l.item, l.full, l.carries = "", false, false
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

// begin begins to hear an item, from the ear's from on.
func (l *listener) begin() {
	l.item = newID("item")
	l.hearing = l.hear(l.item, l.ear.from, l.settings)
	l.hearing.feed(l.ear.tape)
	l.saying.begin(utterance{item: l.item, replaces: l.replaces(), settings: l.settings})
}

// replaces returns the item that what is being said takes in; empty when it stands for itself.
func (l *listener) replaces() string {
	if l.resumes == nil {
		return ""
	}
	return l.resumes.item
}

// again hears the item anew, from the ear's from on.
func (l *listener) again() {
	l.forget()
	l.hearing.end(l.Session, nil)
	l.begin()
}

// drop forgets what is being said.
func (l *listener) drop() {
	l.forget()
	l.saying.end()
	l.hearing.end(l.Session, nil)
	l.item, l.hearing, l.own, l.resumes, l.spent, l.challenge = "", nil, 0, nil, speculation{}, nil
}
