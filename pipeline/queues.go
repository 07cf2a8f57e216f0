package pipeline

import (
	"time"

	"riposte/audio"
	"riposte/budget"
)

// Queues counts what becomes of what waits in the queues of calls: all calls that are given the same ones are counted together. The zero
// value counts nothing.
type Queues struct {
	Turns      *budget.Queue // That wait for an answer.
	Clauses    *budget.Queue // That wait to be spoken.
	Sound      *budget.Queue // That waits to be played.
	Lead       *budget.Queue // Sound that has left and is not played yet.
	Hypotheses *budget.Queue // That wait to be told and read.
	Drafts     *budget.Queue // Chunks of sound of answers whose turn is not decided.
}

// NewQueues returns those of calls within the limits.
func NewQueues(l Limits) Queues {
	l = l.withDefaults()
	timed := func(name string, d time.Duration) *budget.Queue {
		return &budget.Queue{Name: name, Limit: int64(d), Timed: true}
	}
	return Queues{
		Turns:      &budget.Queue{Name: "turns", Limit: int64(l.Turns)},
		Clauses:    &budget.Queue{Name: "clauses", Limit: int64(l.Clauses + inHand)},
		Sound:      timed("sound", max(frameLength, l.Ahead)),
		Lead:       timed("lead", l.Lead+frameLength), // with the frame that leaves when there is place for it
		Hypotheses: &budget.Queue{Name: "hypotheses", Limit: 1},
		Drafts:     &budget.Queue{Name: "draft_sound", Limit: ahead},
	}
}

// inHand is how many clauses are out of the queue and not spoken yet: think waits with one, and speak speaks one.
const inHand = 2

// All returns all of them.
func (q Queues) All() []*budget.Queue {
	return []*budget.Queue{q.Turns, q.Clauses, q.Sound, q.Lead, q.Hypotheses, q.Drafts}
}

// length returns how long the sound is, in the unit of timed queues.
func (s sound) length() int64 {
	return int64(audio.Duration(len(s.pcm), max(s.turn.settings.Rate, 1)))
}
