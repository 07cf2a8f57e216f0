package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// What nobody said aloud has no verdict, however soon it is answered, and its trace tells what it was; what is said about it afterwards has one.
func TestOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast()
		c.says = "It is noon."
		l := newLine(t)
		s := enforcing(l, c)
		s.Greeting = Greeting{Text: "Hello."}
		s.Silence = Silence{After: 20 * time.Second, Prompts: []string{"Are you there?"}}
		var turns []trace.Turn
		s.Trace = func(t trace.Turn) { turns = append(turns, t) }
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		time.Sleep(5 * time.Second)
		c.tell(l, "what time is it", 10*time.Second)
		for _, text := range []string{"How are", "you?", strings.Repeat("ü", mostWritten)} {
			l.in <- transport.Add{Item: transport.Item{ID: newID("item"), Role: llm.User, Text: text}}
			if text == "How are" {
				continue
			}
			l.in <- transport.Respond{}
			time.Sleep(10 * time.Second)
		}
		l.in <- transport.Respond{}
		time.Sleep(10 * time.Second)
		c.tell(l, "", 25*time.Second) // nothing
		c.tell(l, "stop it now please", 8*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		type told struct {
			origin  trace.Origin
			said    string
			verdict budget.Verdict
		}
		var got []told
		for _, turn := range turns {
			got = append(got, told{turn.Origin, turn.Said, turn.Report.Verdict})
			if turn.Report.Total == 0 {
				t.Errorf("nothing of %+v was heard", turn)
			}
		}
		want := []told{
			{trace.Greeting, "", ""}, {trace.Aloud, "what time is it", budget.Met}, {trace.Written, "How are you?", ""},
			{trace.Written, strings.Repeat("ü", mostWritten/2) + "…", ""}, {trace.Requested, "", ""}, {trace.Prompt, "", ""}, {trace.Aloud, "stop it now please", budget.Met},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%.200q\nwant\n%.200q", got, want)
		}
	})
}
