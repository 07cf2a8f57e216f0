package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"riposte/scenario"
)

// However and whenever an answer is interrupted, the conversation holds what was played of it, to the word.
func TestHeardAtAnyMoment(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		side := []string{"settings holds", "# a side that plays on while the answer is held"}[r.IntN(2)]
		breaks := []string{"caller says \"no stop it please\"", "caller cancels", "service shuts down"}[r.IntN(3)]
		cough := []string{"", "caller coughs 200ms\ncaller waits 700ms"}[r.IntN(2)]
		ends := ""
		if breaks == "service shuts down" {
			ends = "expect end shutdown within 20s\n"
		}
		text := fmt.Sprintf(`
%s
model says "Alpha bravo charlie delta. Echo foxtrot golf, and hotel india juliett kilo. Lima! Mike november oscar papa quebec?"
caller says "first"
caller waits for sound
caller waits 700ms
%s
line dies %dms
%s
%s`, side, cough, r.IntN(7000), breaks, ends)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s, err := scenario.Parse(fmt.Sprint(n), text)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { newPlay(t).run(s) })
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}
