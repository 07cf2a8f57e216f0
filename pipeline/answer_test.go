package pipeline

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
	"riposte/transport"
)

// parting is a model that says goodbye and calls a tool, before or behind that, and then says the rest.
type parting struct {
	*engines
	says  string // Before the call,
	rest  string // and behind its result.
	asked int
}

func (p *parting) Generate(_ context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		if p.asked++; last.Role == llm.ToolRole {
			_ = yield(llm.Piece{Text: p.rest}, nil) && yield(llm.Piece{Usage: &llm.Usage{}}, nil)
			return
		}
		if p.says != "" && !yield(llm.Piece{Text: p.says}, nil) {
			return
		}
		_ = yield(llm.Piece{Call: &llm.ToolCall{ID: "call_1", Name: "leave", Arguments: []byte("{}")}}, nil) && yield(llm.Piece{Usage: &llm.Usage{}}, nil)
	}
}

// leaving is a tool that waits for what was said, and then for all of the answer.
type leaving struct {
	began, said, heard time.Time
	words, whole       bool
	err                error
	done               chan struct{}
}

func (*leaving) Offered() []llm.Tool  { return []llm.Tool{{Name: "leave"}} }
func (*leaving) Server(string) string { return "box" }

func (l *leaving) Run(ctx context.Context, _ llm.ToolCall) (string, error) {
	a := AnswerOf(ctx)
	if !l.began.IsZero() {
		return "It is done already.", nil
	}
	l.began = time.Now()
	l.words, l.err = a.Said(ctx)
	l.said = time.Now()
	go func() {
		defer close(l.done)
		l.whole = a.Heard(context.WithoutCancel(ctx))
		l.heard = time.Now()
	}()
	return "Fine.", l.err
}

func TestToolsWaitForWords(t *testing.T) {
	const goodbye = "Goodbye then, and thank you for your call. "
	for _, tt := range []struct {
		name       string
		says, rest string
		over       bool // The caller speaks over the goodbye.
	}{
		{"words, and then the call", goodbye, "", false},
		{"the call, and then words", "", goodbye, false},
		{"words that are interrupted", goodbye, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t)
				e := &engines{hears: []string{"I would like to go now.", "No, wait a moment."}}
				s := newSession(l, e)
				tool := &leaving{done: make(chan struct{})}
				s.LLM, s.Tools = &parting{engines: e, says: tt.says, rest: tt.rest}, tool
				done := make(chan error)
				go func() { done <- s.Run(t.Context()) }()
				l.speak(time.Second, 1500*ms)
				if tt.over {
					l.speak(time.Second, 5*time.Second)
				} else {
					l.speak(0, 6*time.Second)
				}
				<-tool.done
				close(l.hang)
				if err := <-done; !errors.Is(err, transport.ErrHungUp) {
					t.Fatal(err)
				}
				if tt.over {
					if tool.err == nil && tool.whole {
						t.Errorf("an answer that was interrupted was heard whole: %+v", tool)
					}
					return
				}
				if !tool.whole || tool.err != nil || tool.words != (tt.says != "") {
					t.Errorf("%+v", tool)
				}
				spoken := time.Duration(len(goodbye)-1) * letter
				if tt.says != "" {
					if waited := tool.said.Sub(tool.began); waited < spoken-500*ms {
						t.Errorf("it waited for %v, while %v of words were spoken", waited, spoken)
					}
				} else if waited := tool.said.Sub(tool.began); waited > 0 {
					t.Errorf("it waited for %v, though nothing was said", waited)
				}
				if waited := tool.heard.Sub(tool.began); waited < spoken {
					t.Errorf("it was heard after %v, and takes %v", waited, spoken)
				}
			})
		})
	}
}

// The notice comes before the greeting, and whoever talks over it is not listened to.
func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		e := &engines{hears: []string{"Hello?"}, says: "Yes. "}
		s := newSession(l, e)
		s.Notice, s.Greeting.Text = "This call is recorded.", "Good morning."
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		l.speak(500*ms, 5*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		ends := told[transport.ResponseDone](l)
		if len(ends) < 2 || ends[0].Text != s.Notice || ends[0].Status != transport.Completed || ends[1].Text != s.Greeting.Text {
			t.Errorf("it says %+v", ends)
		}
	})
}
