package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/scenario"
)

// patience is how long after a line of a script things may take to be as it says: what is said here has to reach the service.
const patience = 300 * time.Millisecond

// stands checks how things stand, now or in a moment.
func (p *play) stands(s scenario.Statement) {
	if p.line == nil {
		p.amiss("the call has not begun")
		return
	}
	var check func() string
	switch s := s.(type) {
	case scenario.Happened:
		check = func() string { return p.count(s) }
	case scenario.Holds:
		check = func() string { return p.conversation(s.Messages) }
	case scenario.Played:
		check = func() string { return p.wasPlayed(s.Text) }
	}
	var wrong string
	for began := time.Now(); ; time.Sleep(frame) {
		if wrong = check(); wrong == "" {
			return
		}
		if time.Since(began) > patience {
			p.amiss("%s", wrong)
			return
		}
	}
}

// count says whether an event has happened as often as it should.
func (p *play) count(s scenario.Happened) string {
	got := 0
	for _, e := range p.happened() {
		if fits(s.Event, e) && !e.At.After(time.Now()) {
			got++
		}
	}
	if got == s.Times {
		return ""
	}
	return fmt.Sprintf("%v happened %d times, want %d", s.Event, got, s.Times)
}

// wasPlayed says whether of the newest answer just those words were played. Of an answer that was cut off it is the service that
// says which words they were; the rule of heard text has a recogniser listen to what was played.
func (p *play) wasPlayed(want string) string {
	answer, _, ok := p.latest()
	if !ok {
		return ""
	}
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	_, all := p.line.phone.played(answer, time.Now())
	var done *response
	heard := ""
	for _, t := range p.line.told {
		switch {
		case t.Type == "response.done" && t.Response.ID == answer:
			done = t.Response
		case t.Type == "riposte.turn" && t.ResponseID == answer:
			heard = t.Answer
		}
	}
	switch {
	case done == nil:
		return "the answer has not come to its end"
	case partOf(p.taught, want):
		if begins(heard, done.text()) || done.Status == "cancelled" && same(heard, done.text()) {
			return ""
		}
		return fmt.Sprintf("%q was heard, want a part of %q", heard, done.text())
	case !all:
		return fmt.Sprintf("not all was played that came of %q", done.text())
	case done.Status != "completed" || !same(want, done.text()):
		return fmt.Sprintf("%q was played (%s), want %q", done.text(), done.Status, want)
	}
	return ""
}

// entry is a message of the conversation, as far as the service has told of it.
type entry struct {
	id, role, text string
	call           string // Which call it is, or the result of.
	whole          string // All of an answer, whether it was heard or not.
	cancelled      bool   // The answer was, perhaps when all that the model had written by then had been heard.
	cut            bool   // The client has said how much of it was heard, and nobody said which words that is.
	open           bool   // The result of a call of which none is known: the model reads that it is pending, or that it was cancelled.
}

// conversation says whether the conversation is as it should be, by what the service has told of it.
func (p *play) conversation(want []scenario.Message) string {
	got := p.entries()
	var has, wants []string
	for _, e := range got {
		text := e.text
		switch {
		case e.cut:
			text += "(cut by the client)"
		case e.open:
			text = "(none)"
		}
		has = append(has, fmt.Sprintf("%s %q", e.role, text))
	}
	for _, m := range want {
		wants = append(wants, fmt.Sprintf("%s %q", m.Role, m.Text))
	}
	if slices.EqualFunc(got, want, p.holds) {
		return ""
	}
	return fmt.Sprintf("the conversation holds %s, want %s", cmp.Or(strings.Join(has, ", "), "nothing"), cmp.Or(strings.Join(wants, ", "), "nothing"))
}

// holds reports whether an entry is as it should be. A part of an answer stands for any part of it: where a real voice was cut off
// nobody can say beforehand.
func (p *play) holds(e entry, want scenario.Message) bool {
	switch {
	case e.role != want.Role:
		return false
	case e.open:
		return want.Text == "pending" || want.Text == "cancelled"
	case e.cut:
		return begins(want.Text, e.whole) || same(want.Text, e.whole)
	case e.role == "assistant" && partOf(p.taught, want.Text):
		return begins(e.text, e.whole) || e.cancelled && same(e.text, e.whole)
	}
	return same(want.Text, e.text)
}

// entries returns the conversation without what the model was taught and without what nobody heard.
func (p *play) entries() []entry {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	var all []entry
	answers := map[string]string{} // The item of each answer.
	find := func(id string) *entry {
		for i := range all {
			if all[i].id == id {
				return &all[i]
			}
		}
		return &entry{}
	}
	for _, t := range p.line.told {
		switch t.Type {
		case "conversation.item.added":
			at := len(all)
			if i := slices.IndexFunc(all, func(e entry) bool { return e.id == t.Previous }); i >= 0 {
				at = i + 1
			}
			e := entry{id: t.Item.ID, role: t.Item.Role, text: t.Item.text()}
			switch t.Item.Type {
			case "function_call":
				e.role, e.call = "call", t.Item.CallID
			case "function_call_output":
				e.role, e.call = "result", t.Item.CallID
			}
			all = slices.Insert(all, at, e)
		case "conversation.item.done":
			if t.Item.Type == "function_call" {
				find(t.Item.ID).text = about(t.Item.Name, t.Item.Arguments)
			}
		case "conversation.item.deleted":
			all = slices.DeleteFunc(all, func(e entry) bool { return e.id == t.ItemID })
		case "conversation.item.input_audio_transcription.completed":
			find(t.ItemID).text = t.Transcript
		case "conversation.item.truncated":
			find(t.ItemID).cut = true
		case "response.output_audio.delta", "response.output_text.delta":
			answers[t.ResponseID] = t.ItemID
		case "response.done":
			for _, it := range t.Response.Output {
				if it.Type != "message" {
					continue
				}
				e := find(it.ID)
				e.whole = strings.TrimSpace(t.Response.text())
				if e.cancelled = t.Response.Status == "cancelled"; t.Response.Status == "completed" {
					e.text = e.whole
				}
			}
		case "riposte.turn":
			if e := find(answers[t.ResponseID]); !t.Continued && t.Answer != "" {
				e.text = t.Answer
			}
		}
	}
	return paired(slices.DeleteFunc(all, func(e entry) bool { return e.text == "" && !e.cut }))
}

// paired puts the results of calls behind the calls that stand together, in their order, as the model reads them.
func paired(all []entry) (out []entry) {
	for i, e := range all {
		if e.role != "result" {
			out = append(out, e)
		}
		if e.role != "call" || i+1 < len(all) && all[i+1].role == "call" {
			continue
		}
		first := i
		for first > 0 && all[first-1].role == "call" {
			first--
		}
		for _, c := range all[first : i+1] {
			r := entry{role: "result", call: c.call, open: true}
			if n := slices.IndexFunc(all, func(e entry) bool { return e.role == "result" && e.call == c.call }); n >= 0 {
				r = all[n]
			}
			out = append(out, r)
		}
	}
	return out
}
