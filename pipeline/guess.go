package pipeline

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"riposte/llm"
	"riposte/transport"
)

// guess is the work on the answer to what may turn out to be a whole turn. Its drafts are the model's answers to what the
// caller seems to have said; when the turn is decided it takes the one that answers what was really said, and when the caller
// goes on they are all thrown away.
type guess struct {
	session  *Session
	ctx      context.Context // Of the call.
	settings transport.Settings
	before   []llm.Message // The conversation so far.
	due      time.Time     // When the answer's first clause is, if the turn ends here.
	tries    int           // Drafts that may be begun.

	mu    sync.Mutex
	draft *draft
	over  bool // It was taken or stopped.
	spent speculation
}

// speculation is what a turn's guesses have cost.
type speculation struct {
	tries  int  // Drafts that were begun,
	stood  bool // whether the answer was one of them,
	wasted int  // and the tokens of those that it was not.
}

// add sums up.
func (s *speculation) add(t speculation) {
	s.tries, s.wasted, s.stood = s.tries+t.tries, s.wasted+t.wasted, s.stood || t.stood
}

// try begins a draft that answers the given words, unless there is one for the same words. On nil it does nothing.
func (g *guess) try(words string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || words == "" || g.spent.tries >= g.tries {
		return
	}
	messages := append(slices.Clip(g.before), llm.Message{Role: llm.User, Text: words})
	if g.draft != nil {
		if sameMessages(g.draft.messages, messages) {
			return
		}
		g.waste()
	}
	g.spent.tries++
	g.draft = g.session.write(g.ctx, g.session.LLM, g.settings, messages, g.due, true)
}

// take ends the guessing, and returns the draft that answers the messages; nil if there is none.
func (g *guess) take(messages []llm.Message) *draft {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return nil
	}
	g.over = true
	d := g.draft
	if d == nil || !sameMessages(d.messages, messages) {
		g.waste()
		return nil
	}
	g.spent.stood = true
	d.take()
	return d
}

// stop throws everything away. Stopping nil does nothing.
func (g *guess) stop() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.over = true
		g.waste()
	}
}

// cost returns what the guessing has cost so far. That of nil is nothing.
func (g *guess) cost() speculation {
	if g == nil {
		return speculation{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spent
}

// waste throws the draft away.
func (g *guess) waste() {
	if g.draft != nil {
		g.draft.stop()
		g.spent.wasted += int(g.draft.tokens.Load())
		g.draft = nil
	}
}

// sameMessages reports whether two conversations say the same: the last message in the same words, however they are
// punctuated, and everything before it to the letter.
func sameMessages(a, b []llm.Message) bool {
	n := len(a) - 1
	if len(b) != n+1 || n < 0 || a[n].Role != b[n].Role || !sameWords(a[n].Text, b[n].Text) {
		return false
	}
	return slices.EqualFunc(a[:n], b[:n], sameMessage)
}

// sameWords reports whether two texts have the same letters and digits, word by word.
func sameWords(a, b string) bool {
	return slices.Equal(words(a), words(b))
}

// words returns the words of a text in lower case, without punctuation.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "'", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
