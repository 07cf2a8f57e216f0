// Package sample makes calls and turns that look like real ones, for tests and measurements of what keeps and shows them. The
// same seed makes the same.
package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Maker makes calls, one after the other.
type Maker struct {
	Versions []string      // Of the service, over the time of all turns. It defaults to two.
	Every    time.Duration // From turn to turn. It defaults to 8 s.

	random *rand.Rand
	now    time.Time
	made   int
	all    int
}

// New returns a maker of turns, the first of which is at the given moment.
func New(seed uint64, from time.Time) *Maker {
	return &Maker{
		Versions: []string{"v1.4.0", "v1.5.0"}, Every: 8 * time.Second, random: rand.New(rand.NewPCG(seed, 1)), now: from,
	}
}

// Turns returns n turns of calls with ten turns each, in the order of time.
func (m *Maker) Turns(n int) []trace.Turn {
	m.made, m.all = 0, n
	out := make([]trace.Turn, 0, n)
	var call string
	var route string
	for i := range n {
		if i%10 == 0 {
			call = "sess_" + m.id()
			route = []string{"default", "default", "support", "sales"}[m.random.IntN(4)]
		}
		t := m.turn()
		t.Call, t.Route, t.Number = call, route, i%10+1
		out = append(out, t)
		m.made++
	}
	return out
}

// turn makes one turn.
func (m *Maker) turn() trace.Turn {
	m.now = m.now.Add(time.Duration(float64(m.Every) * (0.5 + m.random.Float64())).Truncate(time.Microsecond))
	t := trace.Turn{
		ID: "resp_" + m.id(), Version: m.Versions[min(m.made*len(m.Versions)/max(m.all, 1), len(m.Versions)-1)], Status: "completed",
		Said: m.sentence(4, 14), Answer: m.sentence(8, 28),
		Models: map[budget.Stage]string{
			budget.STT: "whisper-tiny.en-q8_0", budget.LLM: []string{"smollm2-135m-instruct-q8_0", "qwen2.5-0.5b-instruct-q4_k_m"}[m.random.IntN(2)],
			budget.TTS: "piper-en_us-joe-medium",
		},
		Tokens: trace.Tokens{Input: 80 + m.random.IntN(900), Output: 12 + m.random.IntN(50)},
	}
	t.Tokens.Cached = t.Tokens.Input * 9 / 10
	m.report(&t)
	m.words(&t)
	t.Work = map[budget.Stage]trace.Work{}
	for _, stage := range []budget.Stage{budget.STT, budget.LLM, budget.TTS} {
		t.Work[stage] = trace.Work{Runs: 2 + m.random.IntN(20), Waited: m.around(9 * time.Millisecond), Ran: m.around(180 * time.Millisecond)}
	}
	for range 1 + m.random.IntN(2) {
		t.Guesses.Tries++
		t.Events = append(t.Events, trace.Event{At: t.Report.Marks[budget.Decided] - m.around(150*time.Millisecond), Kind: trace.KindGuess, Detail: t.Said})
	}
	t.Guesses.Stood, t.Guesses.Wasted = m.random.IntN(3) > 0, m.random.IntN(12)
	if m.random.IntN(12) == 0 {
		t.Status, t.Reason = "cancelled", "turn_detected"
		at := t.Report.Total + m.around(900*time.Millisecond)
		t.Events = append(t.Events, trace.Event{At: at, Kind: trace.KindHeld}, trace.Event{At: at + m.around(200*time.Millisecond), Kind: trace.KindBargeIn, Detail: m.sentence(2, 4)})
	}
	return t
}

// report times the turn.
func (m *Maker) report(t *trace.Turn) {
	clock := budget.NewTurn(m.now)
	at := m.now
	mark := func(mark budget.Mark, took time.Duration) {
		at = at.Add(m.around(took))
		clock.Mark(mark, at)
	}
	mark(budget.Received, 24*time.Millisecond)
	mark(budget.Decided, 190*time.Millisecond)
	mark(budget.Final, 30*time.Millisecond)
	mark(budget.FirstToken, 80*time.Millisecond)
	mark(budget.FirstClause, 160*time.Millisecond)
	mark(budget.FirstAudio, 70*time.Millisecond)
	mark(budget.FirstAudible, 20*time.Millisecond)
	mark(budget.Answered, 0)
	mark(budget.Done, 3*time.Second)
	t.Report = clock.Report(budget.DefaultPlan)
	// All are drawn, whatever comes of it: so turns stay the same when verdicts are found in another way.
	failed, masked := m.random.IntN(400) == 0, m.random.IntN(2) == 0
	switch r := &t.Report; {
	case failed:
		r.Verdict, r.Blame, t.Status = budget.Failed, budget.LLM, "failed"
		t.Events = append(t.Events, trace.Event{At: r.Marks[budget.Final] + 400*time.Millisecond, Kind: trace.KindFault, Detail: "llm: the engine does not answer"})
	case r.Verdict == budget.Over && r.Blame == budget.LLM && masked:
		const heard = 850 * time.Millisecond // something else than the answer
		r.Verdict, r.Total, r.Marks[budget.FirstAudible] = budget.Masked, heard, heard
		r.Actions = append(r.Actions, budget.Action{Stage: budget.LLM, Kind: budget.Opener, At: 820 * time.Millisecond})
		t.Events = append(t.Events, trace.Event{At: 820 * time.Millisecond, Kind: trace.KindAction, Detail: string(budget.Opener)})
	}
}

// words lets the recogniser hear what is said, three words at a time.
func (m *Maker) words(t *trace.Turn) {
	words := strings.Fields(t.Said)
	for n := 3; ; n += 3 {
		n = min(n, len(words))
		text := strings.Join(words[:n], " ")
		t.Words = append(t.Words, trace.Heard{At: time.Duration(n-len(words))*330*time.Millisecond + m.around(40*time.Millisecond), Text: text, Stable: len(text) / 2})
		if n == len(words) {
			return
		}
	}
}

// around returns a time about d, now and then much longer, in whole microseconds.
func (m *Maker) around(d time.Duration) time.Duration {
	return time.Duration(float64(d) * math.Exp(0.45*m.random.NormFloat64())).Truncate(time.Microsecond)
}

func (m *Maker) id() string {
	return fmt.Sprintf("%012x%012x", m.random.Uint64()>>16, m.random.Uint64()>>16)
}

// sentence returns a sentence of so many words, of which some are frequent and some rare.
func (m *Maker) sentence(least, most int) string {
	var b strings.Builder
	for i := range least + m.random.IntN(most-least+1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		// Zipf's law: the n-th word is 1/n as frequent as the first.
		n := int(math.Exp(m.random.Float64()*math.Log(4000))) - 1
		word := word(n)
		if i == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	b.WriteByte('.')
	return b.String()
}

// frequent words are spelled out; the others are made of syllables.
var frequent = strings.Fields("the I to you a it of and in that is for my can on have be what do me at with please not how we was this your order call")

// word returns the n-th word of the language.
func word(n int) string {
	if n < len(frequent) {
		return frequent[n]
	}
	var b strings.Builder
	for n -= len(frequent) - 12; n > 0; n /= 12 {
		b.WriteString([]string{"ba", "tion", "mer", "lo", "sta", "ri", "ing", "ver", "do", "pa", "cken", "si"}[n%12])
	}
	return b.String()
}
