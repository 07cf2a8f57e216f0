package pipeline

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// An answer beside the conversation is told of whole, and leaves nothing in the conversation.
func TestAside(t *testing.T) {
	e := quick()
	e.says = "One two three."
	written, aloud := true, false
	var noted []trace.Aside
	var mu sync.Mutex
	note := func(a trace.Aside) {
		mu.Lock()
		defer mu.Unlock()
		noted = append(noted, a)
	}
	session(t, e, func(s *Session) { s.Beside = note }, func(l *line) {
		l.in <- transport.Add{Item: transport.Item{ID: "fact", Role: llm.User, Text: "The code is 7."}}
		l.in <- transport.Respond{Ref: "a", Aside: true, Written: &written, Metadata: map[string]string{"about": "code"}, Instructions: new("Sort it."), Input: []transport.Item{
			{ID: "fact"}, {Role: llm.System, Text: "Be terse."},
		}}
		l.in <- transport.Respond{Ref: "b", Aside: true, Written: &aloud}
		time.Sleep(3 * time.Second)
		l.in <- transport.Look{Ref: "items", Item: told[transport.ResponseStarted](l)[0].Response.Item}
		l.in <- transport.Respond{Ref: "none", Aside: true, Input: []transport.Item{{ID: "nothing"}}}
		l.in <- transport.Respond{Ref: "twice", Aside: true, Input: []transport.Item{{ID: "fact"}, {ID: "fact"}}}
		l.in <- transport.Respond{Ref: "orphan", Aside: true, Input: []transport.Item{{Role: llm.ToolRole, Text: "x", Call: &llm.ToolCall{ID: "c"}}}}
		time.Sleep(100 * ms)
		done := told[transport.ResponseDone](l)
		if len(done) != 2 {
			t.Fatalf("%d answers ended: %+v", len(done), done)
		}
		slices.SortFunc(done, func(a, b transport.ResponseDone) int { return len(b.Response.Metadata) - len(a.Response.Metadata) })
		if d := done[0]; d.Status != transport.Completed || d.Text != "One two three." || !d.Response.Aside || !d.Response.Written || d.Response.Metadata["about"] != "code" || d.Voice != 0 {
			t.Errorf("the one in writing: %+v", d)
		}
		if d := done[1]; d.Status != transport.Completed || d.Voice == 0 || len(told[transport.Voice](l)) == 0 {
			t.Errorf("the one aloud: %+v", d)
		}
		if reports := told[transport.TurnReport](l); len(reports) > 0 {
			t.Errorf("a turn was reported: %+v", reports)
		}
		var faults []string
		for _, f := range told[transport.Fault](l) {
			faults = append(faults, f.Ref+" "+f.Code+" "+string(f.Part))
		}
		if diff := cmp.Diff([]string{
			"items item_retrieve_invalid_item_id item", "none invalid_value input", "twice invalid_value input", "orphan invalid_value input",
		}, faults); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	})
	slices.SortFunc(noted, func(a, b trace.Aside) int { return int(a.Sound - b.Sound) })
	if len(noted) != 2 || noted[0].Status != "completed" || noted[0].Sound != 0 || noted[1].Sound == 0 || noted[0].Tokens.Output == 0 || noted[0].ID == "" || !noted[0].Ended.After(noted[0].Began) {
		t.Errorf("noted: %+v", noted)
	}
	var asked [][]llm.Message
	for _, r := range e.asked {
		asked = append(asked, r.Messages)
	}
	want := []llm.Message{{Role: llm.System, Text: "Sort it."}, {Role: llm.User, Text: "The code is 7."}, {Role: llm.System, Text: "Be terse."}}
	if !slices.ContainsFunc(asked, func(m []llm.Message) bool { return cmp.Equal(m, want) }) {
		t.Errorf("the model was asked %+v, and not %+v", asked, want)
	}
}

// Answers beside the conversation are given while another one is, no more than there may be at once, and each can be cancelled by its ID.
func TestAsidesAtOnce(t *testing.T) {
	e := quick()
	e.says = "One two three four five, six seven eight nine ten eleven twelve. One two three four five, six seven eight."
	written := true
	session(t, e, func(s *Session) { s.Limits.Asides = 2 }, func(l *line) {
		l.in <- transport.Add{Item: transport.Item{Role: llm.User, Text: "Count."}}
		l.in <- transport.Respond{Ref: "main"}
		time.Sleep(50 * ms)
		for _, ref := range []string{"first", "second", "third"} {
			l.in <- transport.Respond{Ref: ref, Aside: true, Written: &written}
		}
		synctest.Wait()
		started := told[transport.ResponseStarted](l)
		var asides []transport.Response
		for _, s := range started {
			if s.Response.Aside {
				asides = append(asides, s.Response)
			}
		}
		if len(asides) == 0 {
			t.Fatalf("none began: %+v", started)
		}
		l.in <- transport.Cancel{Ref: "cancel", Response: asides[0].ID}
		time.Sleep(10 * time.Second)
		status := map[transport.Status]int{}
		for _, d := range told[transport.ResponseDone](l) {
			status[d.Status]++
		}
		if diff := cmp.Diff(map[transport.Status]int{transport.Cancelled: 1, transport.Completed: 2}, status); diff != "" {
			t.Errorf("answers ended (-want +got):\n%s", diff)
		}
		if f := told[transport.Fault](l); len(f) != 1 || f[0].Ref != "third" || f[0].Code != "too_many_responses" {
			t.Errorf("faults: %+v", f)
		}
	})
}

// Who is only listened to is transcribed, and not answered or greeted or asked to speak.
func TestListens(t *testing.T) {
	e := quick()
	e.hears = []string{"write this down", "and this"}
	session(t, e, func(s *Session) {
		s.Settings.Listens, s.Settings.Detection.Respond = true, false
		s.Greeting.Text, s.Silence = "Hello.", Silence{After: time.Second, Prompts: []string{"Are you there?"}}
	}, func(l *line) {
		l.speak(600*ms, 2500*ms)
		l.speak(600*ms, 2500*ms)
		if heard := told[transport.Transcribed](l); len(heard) != 2 || heard[1].Text != "and this" {
			t.Errorf("heard %+v", heard)
		}
		if said := told[transport.ResponseStarted](l); len(said) > 0 {
			t.Errorf("answered: %+v", said)
		}
	})
	if asked := e.asked; len(asked) > 0 {
		t.Errorf("the model was asked %+v", asked)
	}
}
