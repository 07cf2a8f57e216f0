package llama

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riposte/llm"
)

// fakeMachine continues texts by a rule: what comes next depends on every token before it. So an answer is only right
// if the memory of its sequence held exactly the right tokens, whatever else was in the batches.
type fakeMachine struct {
	t        testing.TB
	memory   [][]token
	batch    []entry
	mu       sync.Mutex
	steps    []string      // What each step decoded: "seq×count …".
	threads  []int         // Of each step.
	cost     time.Duration // Of each entry, on the clock of a synctest bubble.
	rigid    bool          // Memory can only be removed as a whole, as that of recurrent models.
	fail     error         // What the next step fails with.
	open     int           // Pickers that are not closed.
	restored int           // Memories that were saved before.
}

func (m *fakeMachine) Decode(batch []entry, threads int, stop func() bool) error {
	m.batch = append(m.batch[:0], batch...)
	counts := map[int]int{}
	var order []int
	for _, e := range batch {
		if len(m.memory[e.seq]) != e.pos {
			m.t.Errorf("sequence %d: position %d follows %d tokens", e.seq, e.pos, len(m.memory[e.seq]))
		}
		m.memory[e.seq] = append(m.memory[e.seq], e.token)
		if counts[e.seq]++; counts[e.seq] == 1 {
			order = append(order, e.seq)
		}
		time.Sleep(m.cost)
		if stop != nil && stop() {
			return errStopped
		}
	}
	var step []string
	for _, seq := range order {
		step = append(step, fmt.Sprintf("%d×%d", seq, counts[seq]))
	}
	m.mu.Lock()
	m.steps = append(m.steps, strings.Join(step, " "))
	m.threads = append(m.threads, threads)
	m.mu.Unlock()
	err := m.fail
	m.fail = nil
	return err
}

// made returns the steps so far.
func (m *fakeMachine) made() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.steps)
}

func (m *fakeMachine) Keep(seq, n int) bool {
	if n > len(m.memory[seq]) {
		m.t.Errorf("sequence %d has %d tokens, %d of them are to be kept", seq, len(m.memory[seq]), n)
		return false
	}
	if m.rigid && n < len(m.memory[seq]) {
		m.memory[seq] = nil
		return false
	}
	m.memory[seq] = m.memory[seq][:n]
	return true
}

func (m *fakeMachine) Copy(from, to, n int) bool {
	m.memory[to] = slices.Clone(m.memory[from])
	return m.Keep(to, n)
}

func (m *fakeMachine) Save(seq int) []byte { return []byte(letters(m.memory[seq])) }

func (m *fakeMachine) Restore(seq int, state []byte) bool {
	m.memory[seq] = prompt(string(state))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restored++
	return true
}

// LogProb says that every token is one of a hundred as likely ones, but what the rule says next, which is certain.
func (m *fakeMachine) LogProb(i int, t token) float64 {
	e := m.batch[i]
	if !e.last {
		m.t.Errorf("entry %d is asked for but was not marked", i)
	}
	if next(m.memory[e.seq][:e.pos+1]) == t {
		return 0
	}
	return math.Log(0.01)
}

// Top knows only what the rule says next.
func (m *fakeMachine) Top(i, n int) []likely {
	e := m.batch[i]
	return []likely{{token: next(m.memory[e.seq][:e.pos+1])}}[:min(n, 1)]
}

func (m *fakeMachine) Picker(llm.Sampling, *form) picker {
	m.open++
	return &fakePicker{m}
}

type fakePicker struct{ m *fakeMachine }

func (p *fakePicker) Close() { p.m.open-- }

func (p *fakePicker) Pick(i int) (token, error) {
	e := p.m.batch[i]
	if !e.last {
		p.m.t.Errorf("entry %d is picked after but was not marked", i)
	}
	return next(p.m.memory[e.seq][:e.pos+1]), nil
}

// endToken is what ends the fake's answers.
const endToken token = 0

// next is the fake's rule: one of 26 letters, or the end.
func next(tokens []token) token {
	h := fnv.New32a()
	for _, t := range tokens {
		_, _ = h.Write([]byte{byte(t), byte(t >> 8)}) // A hash takes everything.
	}
	n := h.Sum32()
	n = (n ^ n>>15) * 0x2c1b3c6d // The low bits of this hash alone are too regular.
	if n = (n ^ n>>12) % 150; n > 0 {
		return 'a' + token(n)%26
	}
	return endToken
}

// fakeWords are letters.
type fakeWords struct{}

func (fakeWords) Piece(t token) []byte { return []byte{byte(t)} }
func (fakeWords) Ends(t token) bool    { return t == endToken }

// prompt makes tokens of a text, one for each byte.
func prompt(text string) []token {
	var p []token
	for _, b := range []byte(text) {
		p = append(p, token(b))
	}
	return p
}

// wantAnswer is what the fake's rule makes of a prompt.
func wantAnswer(text string, most int) string {
	p := prompt(text)
	for n := len(p); ; {
		t := next(p)
		if t == endToken || len(p)-n == most {
			return letters(p[n:])
		}
		p = append(p, t)
	}
}

func letters(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte(byte(t))
	}
	return b.String()
}

// startLoop runs a loop over a fake until the test ends.
func startLoop(t *testing.T, slots int, options ...func(*loop, *fakeMachine)) (*loop, *fakeMachine) {
	t.Helper()
	m := &fakeMachine{t: t, memory: make([][]token, slots)}
	l := newLoop(m, fakeWords{}, newCache(slots, 4096, 1))
	l.context, l.batch, l.chunk, l.room = 4096, 64, 16, 4*slots
	for _, o := range options {
		o(l, m)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go l.run(ctx)
	t.Cleanup(func() {
		cancel()
		<-l.done
		if m.open != 0 {
			t.Errorf("%d pickers were not closed", m.open)
		}
	})
	return l, m
}

// newSequence asks for the continuation of a text.
func newSequence(ctx context.Context, conversation, text string, most, ahead int) *sequence {
	p := prompt(text)
	return &sequence{ctx: ctx, conversation: conversation, most: most, out: make(chan llm.Piece, ahead), tokens: p, prompt: len(p)}
}

// reply is all of an answer.
type reply struct {
	text  string
	usage llm.Usage
	err   error
}

// hear reads an answer to its end and checks the order of what comes.
func hear(t testing.TB, l *loop, s *sequence, each func(text string) bool) reply {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.ctx = ctx
	var r reply
	ended := false
	l.answer(s, func(p llm.Piece, err error) bool {
		if ended {
			t.Errorf("%q comes after the end", p.Text)
		}
		r.text += p.Text
		switch {
		case err != nil:
			r.err, ended = err, true
		case p.Usage != nil:
			r.usage, ended = *p.Usage, true
			if p.Text != "" {
				t.Errorf("the last piece has text: %q", p.Text)
			}
		case p.Text == "":
			t.Error("a piece without text")
		}
		return each == nil || each(p.Text)
	})
	return r
}

// errFake is a failure of the fake machine.
var errFake = errors.New("the fake fails")
