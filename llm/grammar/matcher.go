package grammar

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Matcher follows one text through a grammar. It remembers which bytes lead where, so that most of them cost a look into
// a table. It is not safe for concurrent use.
type Matcher struct {
	code   []instruction
	states []*state
	index  map[string]int32 // The state of a set of threads.
	frames []frame          // Stacks of return addresses, which share their lower parts. The first is the empty one.
	framed map[frame]int32
	at     int32 // The state of the text so far.
	work   int   // Since the text last grew.
	err    error

	todo, threads []thread // Kept between steps.
	seen          map[thread]bool
}

// state is all that the machine can be doing at one place of a text.
type state struct {
	threads []thread    // At instructions that take a byte.
	ends    bool        // The text may end here.
	next    *[256]int32 // Where each byte leads: a state, dead, or 0 for what is not known yet.
}

type thread struct{ pc, frame int32 }
type frame struct{ back, below int32 }

const (
	dead  = -1
	unset = 0 // No byte leads there: it stands for what is not known, and is the state of nothing.
)

// Limits of what one grammar may cost.
const (
	maxStates = 4096    // Remembered states. They are forgotten beyond that.
	maxWork   = 1 << 18 // Instructions for one token: a quarter of a second.
)

// ErrAmbiguous reports a grammar that lets one text mean too many things to be followed in time.
var ErrAmbiguous = errors.New("the grammar is too ambiguous to be kept to")

// Matcher returns a new matcher of an empty text.
func (g *Grammar) Matcher() *Matcher {
	m := &Matcher{code: g.code, seen: map[thread]bool{}}
	m.forget()
	m.at = m.enter([]thread{{pc: g.start}})
	return m
}

// forget empties the memory.
func (m *Matcher) forget() {
	m.states = append(m.states[:0], nil) // Number 0 stands for what is not known.
	m.index = map[string]int32{}
	m.frames = append(m.frames[:0], frame{})
	m.framed = map[frame]int32{}
}

// Err returns ErrAmbiguous once it has come to that. Nothing is allowed any more then.
func (m *Matcher) Err() error { return m.err }

// Allows reports whether a text may go on with these bytes, which may end within a character.
func (m *Matcher) Allows(text []byte) bool {
	_, ok := m.follow(text)
	return ok
}

// Advance adds bytes to the text, if they are allowed.
func (m *Matcher) Advance(text []byte) bool {
	at, ok := m.follow(text)
	if !ok {
		return false
	}
	m.at, m.work = at, 0
	if len(m.states) > maxStates {
		m.restart()
	}
	return true
}

// MayEnd reports whether the text is complete as it is.
func (m *Matcher) MayEnd() bool { return m.err == nil && m.states[m.at].ends }

// MustEnd reports whether it is, and nothing can follow.
func (m *Matcher) MustEnd() bool { return m.MayEnd() && len(m.states[m.at].threads) == 0 }

// Forced returns how the text goes on where nothing else is allowed, at most maxForced bytes, and whether it is complete
// after them and nothing can follow. It may end within a character.
func (m *Matcher) Forced() (text []byte, ends bool) {
	at := m.at
	for len(text) < maxForced && m.err == nil {
		s := m.states[at]
		if s.ends {
			return text, len(s.threads) == 0
		}
		only := m.code[s.threads[0].pc].lo
		for _, t := range s.threads {
			if i := &m.code[t.pc]; i.lo != only || i.hi != only {
				return text, false
			}
		}
		if at = m.step(at, only); at == dead {
			return text, false
		}
		text = append(text, only)
	}
	return text, false
}

const maxForced = 1000

func (m *Matcher) follow(text []byte) (int32, bool) {
	at := m.at
	for _, b := range text {
		if at = m.step(at, b); at == dead {
			return at, false
		}
	}
	return at, m.err == nil
}

// step is where a byte leads from a state.
func (m *Matcher) step(from int32, b byte) int32 {
	s := m.states[from]
	if s.next == nil {
		s.next = new([256]int32)
	}
	if to := s.next[b]; to != unset {
		return to
	}
	m.todo = m.todo[:0]
	for _, t := range s.threads {
		if i := &m.code[t.pc]; i.lo <= b && b <= i.hi {
			m.todo = append(m.todo, thread{i.x, t.frame})
		}
	}
	to := m.enter(m.todo)
	if m.err == nil {
		s.next[b] = to
	}
	return to
}

// enter is the state in which all of todo's threads have come to instructions that take a byte.
func (m *Matcher) enter(todo []thread) int32 {
	clear(m.seen)
	m.threads = m.threads[:0]
	ends := false
	for len(todo) > 0 && m.err == nil {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if m.seen[t] {
			continue
		}
		m.seen[t] = true
		if m.work++; m.work > maxWork {
			m.err = ErrAmbiguous
		}
		switch i := &m.code[t.pc]; i.op {
		case opByte:
			m.threads = append(m.threads, t)
		case opSplit:
			todo = append(todo, thread{i.y, t.frame})
			if i.x != i.y {
				todo = append(todo, thread{i.x, t.frame})
			}
		case opCall:
			to := t.frame
			if m.code[i.y].op != opReturn { // What comes last in a rule returns to where the rule does.
				to = m.push(frame{i.y, t.frame})
			}
			todo = append(todo, thread{i.x, to})
		case opReturn:
			if t.frame == 0 {
				ends = true
			} else {
				todo = append(todo, thread{m.frames[t.frame].back, m.frames[t.frame].below})
			}
		}
	}
	m.todo = todo[:0]
	if m.err != nil || len(m.threads) == 0 && !ends {
		return dead
	}
	return m.intern(m.threads, ends)
}

// push is the number of a stack.
func (m *Matcher) push(f frame) int32 {
	n, ok := m.framed[f]
	if !ok {
		n = int32(len(m.frames))
		m.frames = append(m.frames, f)
		m.framed[f] = n
	}
	return n
}

// intern is the number of a state.
func (m *Matcher) intern(threads []thread, ends bool) int32 {
	slices.SortFunc(threads, func(a, b thread) int {
		if a.pc != b.pc {
			return int(a.pc - b.pc)
		}
		return int(a.frame - b.frame)
	})
	key := make([]byte, 0, 8*len(threads)+1)
	for _, t := range threads {
		key = binary.LittleEndian.AppendUint32(key, uint32(t.pc))
		key = binary.LittleEndian.AppendUint32(key, uint32(t.frame))
	}
	if ends {
		key = append(key, 1)
	}
	n, ok := m.index[string(key)]
	if !ok {
		m.work += len(threads)
		n = int32(len(m.states))
		m.states = append(m.states, &state{threads: slices.Clone(threads), ends: ends})
		m.index[string(key)] = n
	}
	return n
}

// restart forgets all but the present state and the stacks that it needs.
func (m *Matcher) restart() {
	now, old := m.states[m.at], m.frames
	m.frames = nil
	m.forget()
	var keep func(f int32) int32
	keep = func(f int32) int32 {
		if f == 0 {
			return 0
		}
		return m.push(frame{old[f].back, keep(old[f].below)})
	}
	threads := make([]thread, len(now.threads))
	for i, t := range now.threads {
		threads[i] = thread{t.pc, keep(t.frame)}
	}
	m.at = m.intern(threads, now.ends)
}
