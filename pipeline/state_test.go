package pipeline

import (
	"cmp"
	"fmt"
	"strings"
	"testing/synctest"

	"riposte/llm"
	"riposte/scenario"
)

// stands checks how things stand at this moment.
func (p *play) stands(s scenario.Statement) bool {
	synctest.Wait()
	switch s := s.(type) {
	case scenario.Happened:
		got := 0
		for _, e := range p.happened() {
			if s.Event.Fits(e) {
				got++
			}
		}
		if got != s.Times {
			p.wrong(p.at, "%v happened %d times, want %d", s.Event, got, s.Times)
		}
	case scenario.Holds:
		p.same("the conversation holds", p.session.history.conversation("", "", func(e *entry) string { return e.text }), s.Messages)
	case scenario.Read:
		p.cast.mu.Lock()
		defer p.cast.mu.Unlock()
		var got []llm.Message
		if n := len(p.cast.prompts); n > 0 {
			got = p.cast.prompts[n-1]
		}
		if len(s.Messages) > 0 && s.Messages[0].Role != string(llm.System) && len(got) > 0 {
			got = got[1:]
		}
		p.same("the model read", got, s.Messages)
	case scenario.Played:
		if r, ok := p.latest(); ok {
			if got := strings.Join(p.phone.played(r.ID), " "); got != s.Text {
				p.wrong(p.at, "%q was played, want %q", got, s.Text)
			}
		}
	case scenario.Asked:
		p.cast.mu.Lock()
		defer p.cast.mu.Unlock()
		if got := p.cast.part(s.Engine).asked; got != s.Times {
			p.wrong(p.at, "it was asked %d times, want %d", got, s.Times)
		}
	default:
		return false
	}
	return true
}

// same compares a conversation with what a script says of it.
func (p *play) same(what string, got []llm.Message, want []scenario.Message) {
	var has, wants []string
	for _, m := range got {
		if m.Text != "" || m.Role == llm.ToolRole {
			role, text := string(m.Role), strings.TrimSuffix(m.Text, interruption)
			if m.Role == llm.ToolRole {
				role, text = "result", strings.NewReplacer(pending, "pending", cancelled, "cancelled").Replace(text)
			}
			has = append(has, fmt.Sprintf("%s %q", role, text))
		}
		for _, c := range m.Calls {
			has = append(has, fmt.Sprintf("call %q", c.Name+" "+about(c.Arguments)))
		}
	}
	for _, m := range want {
		wants = append(wants, fmt.Sprintf("%s %q", m.Role, m.Text))
	}
	if g, w := cmp.Or(strings.Join(has, ", "), "empty"), cmp.Or(strings.Join(wants, ", "), "empty"); g != w {
		p.wrong(p.at, "%s %s\nwant %s", what, g, w)
	}
}
