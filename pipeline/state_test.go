package pipeline

import (
	"cmp"
	"fmt"
	"strings"
	"testing/synctest"

	"riposte/llm"
)

// nowLine says how things stand at this moment.
func nowLine(p *phrase) func(*play) {
	if p.sees("number") {
		n := p.number()
		if len(p.tokens) > 0 {
			if one, ok := strings.CutSuffix(p.tokens[0].text, "s"); ok && !known(p.tokens[0].text) && known(one) {
				p.tokens[0].text = one
			}
		}
		w := p.wanted()
		return func(y *play) {
			synctest.Wait()
			got := 0
			for _, e := range y.happened() {
				if w.fits(e) {
					got++
				}
			}
			if got != n {
				y.wrong(y.at, "%v happened %d times, want %d", w, got, n)
			}
		}
	}
	return choose(p, "state", map[string]verb{
		"history": func(p *phrase) func(*play) {
			want := p.messages()
			return func(y *play) {
				synctest.Wait()
				y.same("the conversation holds", y.session.history.messages("", ""), want)
			}
		},
		"read": func(p *phrase) func(*play) {
			want := p.messages()
			return func(y *play) {
				synctest.Wait()
				y.cast.mu.Lock()
				defer y.cast.mu.Unlock()
				var got []llm.Message
				if n := len(y.cast.prompts); n > 0 {
					got = y.cast.prompts[n-1]
				}
				if len(want) > 0 && want[0].Role != llm.System && len(got) > 0 {
					got = got[1:]
				}
				y.same("the model read", got, want)
			}
		},
		"played": quoting(func(y *play, want string) {
			if r, ok := y.latest(); ok {
				if got := strings.Join(y.phone.played(r.ID), " "); got != want {
					y.wrong(y.at, "%q was played, want %q", got, want)
				}
			}
		}),
		"stt":   askedTimes(func(c *cast) *part { return &c.stt }),
		"model": askedTimes(func(c *cast) *part { return &c.llm }),
		"voice": askedTimes(func(c *cast) *part { return &c.tts }),
	})
}

// askedTimes says how often an engine was asked.
func askedTimes(part func(*cast) *part) verb {
	return func(p *phrase) func(*play) {
		p.expects("asked")
		n := p.number()
		if !p.takes("time") {
			p.expects("times")
		}
		return func(y *play) {
			synctest.Wait()
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			if got := part(y.cast).asked; got != n {
				y.wrong(y.at, "it was asked %d times, want %d", got, n)
			}
		}
	}
}

// messages reads a conversation.
func (p *phrase) messages() []llm.Message {
	if p.takes("empty") {
		return nil
	}
	var out []llm.Message
	for len(p.tokens) > 0 && p.err == nil {
		role := llm.Role(p.word())
		if role != llm.System && role != llm.User && role != llm.Assistant {
			p.fail("%q says nothing: system, user and assistant do", role)
		}
		out = append(out, llm.Message{Role: role, Text: p.text()})
	}
	if len(out) == 0 {
		p.fail("who said it is missing")
	}
	return out
}

// same compares conversations.
func (p *play) same(what string, got, want []llm.Message) {
	line := func(m []llm.Message) string {
		var out []string
		for _, m := range m {
			out = append(out, fmt.Sprintf("%s %q", m.Role, strings.TrimSuffix(m.Text, interruption)))
		}
		return cmp.Or(strings.Join(out, ", "), "empty")
	}
	if g, w := line(got), line(want); g != w {
		p.wrong(p.at, "%s %s\nwant %s", what, g, w)
	}
}
