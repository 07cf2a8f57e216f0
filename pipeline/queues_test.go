package pipeline

import (
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/transport"
)

// counted gives a session queues that are counted.
func counted(q *Queues, l Limits) func(*Session) {
	*q = NewQueues(l)
	return func(s *Session) { s.Limits, s.Queues = l, *q }
}

// An answer that is heard to its end fills what stands between the stages, and never more than may stand there. Nothing is lost.
func TestQueuesOfAnAnswer(t *testing.T) {
	var q Queues
	e := quick()
	e.says = strings.Repeat("It is noon, as far as I can see from here. ", 8)
	session(t, e, counted(&q, Limits{}), func(l *line) {
		l.speak(1000*ms, 40*time.Second)
		if done := told[transport.ResponseDone](l); len(done) != 1 || done[0].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
		l.speak(300*ms, 20*time.Second) // so that all of it lies in the last minute
		for _, c := range []struct {
			*budget.Queue
			least int64
		}{{q.Turns, 1}, {q.Clauses, 3}, {q.Sound, int64(360 * ms)}, {q.Lead, int64(200 * ms)}, {q.Drafts, 1}} {
			if s := c.State(); s.High < c.least || s.High > c.Limit || s.Full != 0 || s.Stale != 0 {
				t.Errorf("%s: %+v, of %d", c.Name, s, c.Limit)
			}
		}
	})
}

// What is thrown away of an answer that the caller interrupts is counted.
func TestQueuesOfAnInterruption(t *testing.T) {
	var q Queues
	e := quick()
	e.hears = []string{"what time is it", "no stop"}
	e.says = strings.Repeat("It is noon, as far as I can see from here. ", 8)
	session(t, e, func(s *Session) {
		counted(&q, Limits{})(s)
		s.Settings.Holds = true // else the caller's side plays what it has while the answer is held
	}, func(l *line) {
		l.speak(1000*ms, 3*time.Second)
		l.speak(900*ms, 30*time.Second)
		if done := told[transport.ResponseDone](l); len(done) != 2 || done[0].Status != transport.Cancelled {
			t.Errorf("the answers ended as %+v", done)
		}
		if s := q.Sound.State(); s.Stale < int64(200*ms) || s.Full != 0 {
			t.Errorf("sound: %+v", s)
		}
		if s := q.Lead.State(); s.Stale < int64(100*ms) || s.Stale > q.Lead.Limit {
			t.Errorf("lead: %+v", s)
		}
		if s := q.Clauses.State(); s.Stale < 1 {
			t.Errorf("clauses: %+v", s)
		}
	})
}

// The sound of an answer that was begun too early is thrown away, and counted.
func TestQueuesOfAGuess(t *testing.T) {
	var q Queues
	e := quick()
	e.stt, e.ttft = 50*ms, 20*ms
	session(t, e, func(s *Session) {
		counted(&q, Limits{})(s)
		s.Settings.Detection.Silence = 600 * ms
	}, func(l *line) {
		l.speak(400*ms, 500*ms)
		l.speak(400*ms, 500*ms)
		if s := q.Drafts.State(); s.Stale == 0 || s.High == 0 || s.High > q.Drafts.Limit {
			t.Errorf("draft sound: %+v", s)
		}
	})
}

// Turns beyond those that may wait are counted.
func TestQueueOfTurns(t *testing.T) {
	var q Queues
	e := quick()
	e.ttft = 20 * time.Second
	session(t, e, func(s *Session) {
		counted(&q, Limits{Turns: 2, Stall: time.Minute})(s)
		s.Settings.Detection.Interrupt = false
	}, func(l *line) {
		for range 4 {
			l.speak(500*ms, time.Second)
		}
		if s := q.Turns.State(); s != (budget.QueueState{High: 2, Full: 2}) {
			t.Errorf("turns: %+v", s)
		}
	})
}

// A hypothesis that nobody has taken is overtaken by the next.
func TestQueueOfHypotheses(t *testing.T) {
	c := make(chan int, 1)
	for i, want := range []bool{false, true, true} {
		if got := replace(c, i); got != want {
			t.Errorf("hypothesis %d took the place of another: %v", i, got)
		}
	}
	if got := <-c; got != 2 {
		t.Errorf("hypothesis %d was left", got)
	}
}
