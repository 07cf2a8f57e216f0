package pipeline

import (
	"cmp"
	"fmt"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
	"riposte/transport"
)

// shortestRecording is the least sound that is worth a recognition, as it is of what is committed.
const shortestRecording = 100 * time.Millisecond

// record makes a recording an item of the conversation, and a turn that nobody answers: its words are waited for in their place, before
// whatever is asked for next is answered.
func (l *listener) record(in transport.Recording) error {
	fault := func(format string, args ...any) error {
		return l.Call.Send(l.ctx, transport.Fault{Ref: in.Ref, Part: transport.PartContent, Code: "invalid_value", Message: fmt.Sprintf(format, args...)})
	}
	switch length := in.PCM.Duration(in.Rate); {
	case length > l.limits.Utterance:
		return fault("This sound lasts %v; a message may last %v. Send it in parts.", length.Round(time.Second), l.limits.Utterance)
	case length < shortestRecording:
		return fault("This sound lasts %v; a message has to last %v at least.", length, shortestRecording)
	}
	speech, err := audio.Resample(in.PCM, in.Rate, audio.SpeechRate)
	if err != nil {
		return err
	}
	in.Item.ID = cmp.Or(in.Item.ID, newID("item"))
	previous, err := l.history.addRecording(in.Item)
	if err != nil {
		return l.wrongItem(in.Ref, err)
	}
	if err := l.Call.Send(l.ctx, transport.Added{Item: in.Item, Previous: previous, Aloud: true}); err != nil {
		return err
	}
	h := &hearing{}
	h.stream = l.STT.Listen(stt.Options{Bill: &h.bill, Language: l.settings.Language, Prompt: l.settings.Vocabulary})
	h.stream.Write(speech)
	clock := clockOf(time.Now())
	p := l.finish(l.ctx, h, clock.Due(l.settings.Plan, budget.STT))
	h.end(l.Session, p)
	return l.enqueue(&turn{clock: clock, item: in.Item.ID, hearing: p, voiced: speech.Duration(audio.SpeechRate), recorded: true, settings: l.settings}, in.Ref)
}
