package pipeline

import (
	"slices"
	"strings"
	"time"

	"riposte/budget"
	"riposte/transport"
)

// rules checks what holds in every call, whatever its script says.
func (p *play) rules() {
	p.ruleOfPace()
	p.ruleOfOrder()
	p.ruleOfHeardText()
	p.ruleOfCalls()
	if !p.hungUp && !p.ends {
		p.ruleOfAnswers()
	}
}

// ruleOfPace: the caller's side never has more than the lead in hand, so that an interruption is silent at once.
func (p *play) ruleOfPace() {
	if lead := p.session.Limits.withDefaults().Lead; p.phone.most > lead {
		p.amiss("the caller's side had %v of sound in hand as more came, want at most %v", p.phone.most, lead)
	}
}

// ruleOfOrder: everything of an answer lies between its beginning and its end, answers never overlap, and one that is held
// makes no sound.
func (p *play) ruleOfOrder() {
	var open string
	var held time.Time // Since when the answer is held; zero while it is not.
	words := ""        // The item of which the answer has said that it is of words.
	for i, s := range p.phone.out {
		var of string
		switch o := s.Outbound.(type) {
		case transport.ResponseStarted:
			if open != "" {
				p.amiss("an answer began in the middle of another")
			}
			open, of, words = o.Response.ID, o.Response.ID, ""
		case transport.MessageStarted:
			if words == o.Response.Item {
				p.amiss("the words of an answer began twice")
			}
			of, words = o.Response.ID, o.Response.Item
		case transport.Called:
			if !held.IsZero() && s.at.After(held) {
				p.amiss("event %d calls a tool while the answer is held", i)
			}
			of = o.Response.ID
		case transport.Ran:
			of = o.Response.ID
			if s := p.session.history.callOf(o.Item.Call.ID); s == nil {
				p.amiss("event %d is the result of a call that the conversation does not hold", i)
			}
		case transport.Words:
			if words != o.Response.Item {
				p.amiss("the words of an answer came before their beginning")
			}
			of = o.Response.ID
		case transport.Voice:
			of = o.Response.ID
			if !held.IsZero() && s.at.After(held) { // what was on its way at that moment comes
				p.amiss("event %d is sound while the answer is held", i)
				held = time.Time{} // once is enough to know it
			}
		case transport.ResponseDone:
			of, held = o.Response.ID, time.Time{}
		case transport.Held:
			held = s.at
		case transport.Released, transport.SpeechStarted:
			held = time.Time{}
		}
		if of != "" && of != open {
			p.amiss("event %d, %T, is outside of its answer", i, s.Outbound)
		}
		if _, ok := s.Outbound.(transport.ResponseDone); ok {
			open = ""
		}
	}
}

// ruleOfHeardText: what the conversation is said to hold of an answer is what was played of it, to the word.
func (p *play) ruleOfHeardText() {
	for _, r := range told[transport.TurnReport](p.phone.line) {
		if r.Response == "" || r.Continued || slices.Contains(p.corrected, r.Response) {
			continue
		}
		started, ok := p.response(r.Response)
		if !ok || started.Written {
			continue
		}
		if played := strings.Join(p.phone.played(r.Response), " "); played != r.Answer {
			p.amiss("the conversation holds %q of an answer of which %q was played", r.Answer, played)
		}
	}
}

// response returns an answer that has begun.
func (p *play) response(id string) (transport.Response, bool) {
	for _, s := range told[transport.ResponseStarted](p.phone.line) {
		if s.Response.ID == id {
			return s.Response, true
		}
	}
	return transport.Response{}, false
}

// ruleOfAnswers: every turn that was to be answered ends in speech, or in a reason why not.
func (p *play) ruleOfAnswers() {
	gone := map[string]bool{}
	for _, r := range told[transport.Removed](p.phone.line) {
		gone[r.Item] = true
	}
	unwanted := map[string]bool{}
	for _, d := range told[transport.ResponseDone](p.phone.line) {
		unwanted[d.Response.ID] = d.Reason == "client_cancelled"
	}
	answered := map[string]bool{}
	for _, r := range told[transport.TurnReport](p.phone.line) {
		_, spoken := r.Report.Marks[budget.FirstAudible]
		if spoken || len(r.Calls) > 0 || unwanted[r.Response] || r.Report.Verdict == budget.Failed || r.Answer != "" {
			for _, item := range r.Items {
				answered[item] = true
			}
		}
	}
	for _, h := range told[transport.Transcribed](p.phone.line) {
		if h.Text != "" && !gone[h.Item] && !answered[h.Item] && !p.unanswered {
			p.amiss("%q was heard and not answered", h.Text)
		}
	}
}
