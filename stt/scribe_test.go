package stt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"riposte/audio"
	"riposte/budget"
)

// yielding is a recogniser that has to make room so many times.
type yielding struct{ times *int }

func (yielding) Knows(string) bool          { return true }
func (yielding) Open(context.Context) error { return nil }
func (yielding) Close() error               { return nil }
func (y yielding) Listen(Options) Stream    { return yieldingStream(y) }

type yieldingStream struct{ times *int }

func (yieldingStream) Write(audio.PCM)       {}
func (yieldingStream) Hasten(budget.Urgency) {}
func (yieldingStream) Close()                {}

func (s yieldingStream) Finish(context.Context, budget.Urgency) (Transcript, error) {
	if *s.times--; *s.times >= 0 {
		return Transcript{}, fmt.Errorf("hearing: %w", budget.ErrPreempted)
	}
	return Transcript{Text: "hello"}, nil
}

// What is written down in the background makes room for others, and is written down all the same.
func TestWriteMakesRoom(t *testing.T) {
	for class, want := range map[budget.Class]string{budget.Background: "hello", budget.Awaited: ""} {
		times := 3
		for s, err := range Write(t.Context(), yielding{&times}, nil, Recording{Urgency: budget.Urgency{Class: class}}) {
			if s.Text != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, budget.ErrPreempted) {
				t.Errorf("class %v: %q, %v", class, s.Text, err)
			}
		}
	}
}
