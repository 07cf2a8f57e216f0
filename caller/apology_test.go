package caller

import (
	"errors"
	"testing"
	"time"
)

// An answer that failed is heard out, and the server's account of it waited for: when the apology came, and who is to blame.
func TestSayHearsApologies(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		p.commit("item_1", "hello")
		p.begin("resp_1")
		p.say("resp_1", "Sorry.", loud(time.Second, 24000, -20))
		p.done("resp_1", "failed")
		time.Sleep(time.Second) // until it was heard
		e := accounted("resp_1", "hello", "Sorry.", false)
		e["verdict"] = "failed"
		e["actions"] = []object{{"stage": "llm", "kind": "opener", "at_ms": 850.5}}
		p.send(e)
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), speech(600*ms, 24000))
		if !errors.Is(err, ErrFailed) {
			t.Fatal(err)
		}
		r := turn.Report
		if r == nil || r.Verdict != "failed" || r.Blame != "llm" || turn.Audible != time.Second || turn.Answer != "Sorry." {
			t.Fatalf("turn = %q, %v, %+v", turn.Answer, turn.Audible, r)
		}
		if want := (Action{Stage: "llm", Kind: "opener", At: 850*ms + 500*time.Microsecond}); len(r.Actions) != 1 || r.Actions[0] != want {
			t.Errorf("the server did %v, want %v", r.Actions, want)
		}
	})
}
