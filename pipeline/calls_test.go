package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
	"riposte/llm/toolcall"
	"riposte/transport"
)

// conversation makes a history of a line: u is what the caller says, a what the assistant says, c1 and so on calls of the answer
// a1 unless another one is named, r1 their results.
func conversation(t *testing.T, line string) *history {
	t.Helper()
	var h history
	answer := "a1"
	for i, word := range strings.Fields(line) {
		it := transport.Item{ID: fmt.Sprint(i), Text: word}
		var err error
		switch word[0] {
		case 'u':
			it.Role = llm.User
			_, err = h.add(it)
		case 'a':
			it.Role, answer = llm.Assistant, word
			_, err = h.addOf(word, 0, it)
		case 'c':
			it.Role, it.Text, it.Call = llm.Assistant, "", &llm.ToolCall{ID: word[1:], Name: "f", Arguments: json.RawMessage("{}")}
			_, err = h.addOf(answer, 0, it)
		case 'r':
			it.Role, it.Call = llm.ToolRole, &llm.ToolCall{ID: word[1:]}
			_, err = h.add(it)
		case 'x':
			h.cancel("a" + word[1:])
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return &h
}

// spelled writes what the model reads: words with their calls behind them, and results.
func spelled(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		word := strings.NewReplacer(pending, "pending", cancelled, "cancelled").Replace(m.Text)
		for _, c := range m.Calls {
			word += "+c" + c.ID
		}
		if m.Role == llm.ToolRole {
			word += "/" + m.Call
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

// The model reads each call with a result behind it, wherever that came.
func TestCallsAreRead(t *testing.T) {
	for line, want := range map[string]string{
		"u c1":                      "u +c1 pending/1",
		"u c1 r1":                   "u +c1 r1/1",
		"u a1 c1 r1":                "u a1+c1 r1/1",
		"u c1 c2 r2 r1":             "u +c1+c2 r1/1 r2/2",
		"u c1 r1 c2 r2":             "u +c1+c2 r1/1 r2/2", // one answer made both
		"u a1 c1 r1 a2 c2":          "u a1+c1 r1/1 a2+c2 pending/2",
		"u c1 u2 a2":                "u +c1 pending/1 u2 a2",
		"u c1 u2 a2 r1":             "u u2 a2+c1 r1/1",
		"u c1 u2 r1":                "u u2 +c1 r1/1",
		"u c1 c2 r1 u2 a2 r2":       "u +c1 r1/1 u2 a2+c2 r2/2",
		"u c1 c2 u2 a2 r2 r1":       "u u2 a2+c2+c1 r2/2 r1/1",
		"u a1 c1 x1 u2":             "u a1+c1 cancelled/1 u2",
		"u a1 c1 x1 u2 a2 r1 u3":    "u a1+c1 r1/1 u2 a2 u3",
		"u a1 c1 r1 x1":             "u a1+c1 r1/1",
		"u a1 c1 r1 a2 c2 x2 u2":    "u a1+c1 r1/1 a2+c2 cancelled/2 u2",
		"u c1 r1 a2 u2 c3 a3 c4 r4": "u +c1 r1/1 a2 u2 +c3 pending/3 a3+c4 r4/4",
	} {
		got := conversation(t, line).messages("", "")
		if s := spelled(got); s != want {
			t.Errorf("%s is read as %s, want %s", line, s, want)
		}
		if why := malformed(got); why != "" {
			t.Errorf("%s is read with %s", line, why)
		}
	}
}

// Whatever comes in whatever order, what the model reads is well formed.
func TestCallsAreAlwaysWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var words, made []string
		for n := range r.IntN(12) {
			switch k := r.IntN(6); {
			case k < 2:
				words = append(words, fmt.Sprintf("c%d", n))
				made = append(made, fmt.Sprint(n))
			case k == 2 && len(made) > 0:
				i := r.IntN(len(made))
				words, made = append(words, "r"+made[i]), slices.Delete(made, i, i+1)
			case k == 3:
				words = append(words, fmt.Sprintf("x%d", r.IntN(12)))
			case k == 4:
				words = append(words, fmt.Sprintf("u%d", n))
			default:
				words = append(words, fmt.Sprintf("a%d", n))
			}
		}
		line := strings.Join(words, " ")
		if got := conversation(t, line).messages("Be brief.", ""); malformed(got) != "" {
			t.Fatalf("%s is read as %s: %s", line, spelled(got), malformed(got))
		}
	}
}

func TestCallsAreRefused(t *testing.T) {
	h := conversation(t, "u c1 r1 c2")
	for _, test := range []struct {
		role llm.Role
		id   string
		want string
	}{
		{llm.ToolRole, "1", "has its result already"},
		{llm.ToolRole, "7", `there is no call "7"`},
		{llm.Assistant, "2", "already in the conversation"},
	} {
		_, err := h.add(transport.Item{ID: "new", Role: test.role, Call: &llm.ToolCall{ID: test.id}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %s", test.role, test.id, err, test.want)
		}
	}
	if _, err := h.add(transport.Item{ID: "big", Role: llm.ToolRole, Text: strings.Repeat("x", maxHistory+1), Call: &llm.ToolCall{ID: "2"}}); err == nil {
		t.Error("a result of any length is taken")
	}
	if _, err := h.add(transport.Item{ID: "small", Role: llm.ToolRole, Text: "x", Call: &llm.ToolCall{ID: "2"}}); err != nil {
		t.Errorf("after a refused result none is taken: %v", err)
	}
	if err := h.truncate("1", 0); err == nil {
		t.Error("a call was truncated")
	}
}

func TestSteps(t *testing.T) {
	for line, want := range map[string]int{
		"u a1": 0, "u c1": 1, "u c1 c2 r1 r2": 1, "u c1 r1 a2 c2": 2, "u c1 r1 a2 c2 r2 u2": 0, "u c1 r1 u2 a2 c2": 1,
	} {
		if got := conversation(t, line).steps(); got != want {
			t.Errorf("%s: %d steps, want %d", line, got, want)
		}
	}
}

// A caller who waits for a tool is not asked whether they are there, unless it takes for ever.
func TestSilentWhileAToolWorks(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) {
		s.Silence = Silence{After: 3 * time.Second, Prompts: []string{"Are you there?", "Hello?"}}
	}, func(l *line) {
		l.in <- transport.Add{Item: transport.Item{Role: llm.Assistant, Call: &llm.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage("{}")}}}
		l.speak(0, 50*time.Second)
		if n := len(told[transport.ResponseStarted](l)); n != 0 {
			t.Errorf("the caller was asked %d times while the tool was at work", n)
		}
		l.speak(0, 15*time.Second)
		if n := len(told[transport.ResponseStarted](l)); n == 0 {
			t.Error("the caller was not asked though the tool is gone")
		}
	})
}

// calling is a model that calls what it is told to.
type calling struct {
	*engines
	calls []llm.ToolCall
}

func (c calling) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		c.mu.Lock()
		c.asked = append(c.asked, r)
		c.mu.Unlock()
		for _, call := range c.calls {
			if !yield(llm.Piece{Call: &call}, nil) {
				return
			}
		}
		yield(llm.Piece{Usage: &llm.Usage{Output: 7, Finish: llm.FinishTools}}, nil)
	}
}

// What a model calls is checked before it leaves, whether or not the model was held to it.
func TestWrongCallsNeverLeave(t *testing.T) {
	tools := []llm.Tool{{Name: "book", Parameters: json.RawMessage(`{"properties": {"day": {"enum": ["Monday"]}}, "required": ["day"]}`)}}
	for _, test := range []struct {
		call   llm.ToolCall
		choice llm.Choice
		ok     bool
	}{
		{llm.ToolCall{ID: "1", Name: "book", Arguments: json.RawMessage(`{"day": "Monday"}`)}, "", true},
		{llm.ToolCall{ID: "1", Name: "book", Arguments: json.RawMessage(`{"day": "Sunday"}`)}, "", false},
		{llm.ToolCall{ID: "1", Name: "book", Arguments: json.RawMessage(`{}`)}, "", false},
		{llm.ToolCall{ID: "1", Name: "cook", Arguments: json.RawMessage(`{}`)}, "", false},
		{llm.ToolCall{ID: "1", Name: "book", Arguments: json.RawMessage(`{"day": "Monday"}`)}, llm.ChoiceNone, false},
	} {
		session(t, quick(), func(s *Session) {
			s.Settings.Tools, s.Settings.Choice = tools, test.choice
			s.LLM = calling{s.LLM.(*engines), []llm.ToolCall{test.call}}
		}, func(l *line) {
			l.speak(500*ms, 3*time.Second)
			calls, done := told[transport.Called](l), told[transport.ResponseDone](l)
			if len(done) != 1 {
				t.Fatalf("%d answers", len(done))
			}
			if test.ok && (len(calls) != 1 || done[0].Status != transport.Completed || done[0].Usage.Output != 7) {
				t.Errorf("%s(%s): %d calls, %+v", test.call.Name, test.call.Arguments, len(calls), done[0])
			}
			if !test.ok && (len(calls) != 0 || done[0].Status != transport.Failed || !errors.Is(done[0].Err, toolcall.ErrCall) || !strings.HasPrefix(done[0].Text, "Sorry")) {
				t.Errorf("%s(%s): %d calls, %+v", test.call.Name, test.call.Arguments, len(calls), done[0])
			}
		})
	}
}

// All that the model reads of a call, it reads with the same tools, so that it need not read anything again.
func TestToolsAreReadAhead(t *testing.T) {
	tools := []llm.Tool{{Name: "book"}}
	e := quick()
	e.over = 0.9
	session(t, e, func(s *Session) {
		s.STT = e
		s.Settings.Detection.Silence = 0
		s.Settings.Tools = tools
	}, func(l *line) { l.speak(2*time.Second, 4*time.Second) })
	if len(e.reads) < 3 || len(e.asked) == 0 {
		t.Fatalf("the model read %d times and answered %d times", len(e.reads), len(e.asked))
	}
	for _, r := range append(slices.Clone(e.reads), e.asked...) {
		if len(r.Tools) != 1 || r.Tools[0].Name != "book" {
			t.Errorf("the model read %+v with the tools %+v", r.Messages, r.Tools)
		}
	}
}

// New tools are read as soon as they are there.
func TestNewToolsAreReadAhead(t *testing.T) {
	e := quick()
	session(t, e, nil, func(l *line) {
		l.speak(0, 100*ms)
		s := transport.Settings{Instructions: "Be brief.", Rate: rate, Tools: []llm.Tool{{Name: "book"}}}
		l.in <- transport.Configure{Settings: s}
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		if n := len(e.reads); n != 2 || len(e.reads[1].Tools) != 1 {
			t.Errorf("the model read %+v", e.reads)
		}
	})
}

// An answer of its own has its own tools.
func TestToolsOfOneAnswer(t *testing.T) {
	e := quick()
	required, tools := llm.ChoiceRequired, []llm.Tool{{Name: "book"}}
	session(t, e, func(s *Session) { s.Settings.Tools = tools }, func(l *line) {
		for _, r := range []transport.Respond{{}, {Tools: []llm.Tool{}}, {Tools: []llm.Tool{{Name: "cook"}}, Choice: &required}, {}} {
			l.in <- r
			l.speak(0, 5*time.Second)
		}
	})
	var got []string
	for _, r := range e.asked {
		name := ""
		for _, t := range r.Tools {
			name = t.Name
		}
		got = append(got, name+string(r.Choice))
	}
	if want := []string{"book", "", "cookrequired", "book"}; !slices.Equal(got, want) {
		t.Errorf("the answers had %q, want %q", got, want)
	}
}
