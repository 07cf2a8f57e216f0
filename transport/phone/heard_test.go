package phone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"riposte/transport"
)

var mulaw = Format{MuLaw, 8000}

// When an answer is cut off, the pipeline is told how much of it was heard, whatever the network and the far side's buffers are like.
func TestHeardWhenCut(t *testing.T) {
	var most time.Duration
	for _, buffers := range []time.Duration{0, 60 * ms, 200 * ms, 500 * ms} {
		for _, way := range [][2]time.Duration{{0, 0}, {20 * ms, 30 * ms}, {150 * ms, 100 * ms}, {300 * ms, 300 * ms}} {
			for _, after := range []time.Duration{450 * ms, 1230 * ms, 2777 * ms, 4100 * ms, 6500 * ms} {
				t.Run(fmt.Sprintf("%v/%v+%v/%v", buffers, way[0], way[1], after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						off := heardWhenCut(t, buffers, way, after)
						most = max(most, off, -off)
						if max(off, -off) > 20*ms {
							t.Errorf("what was heard is off by %v", off)
						}
					})
				})
			}
		}
	}
	t.Logf("at most %v off", most)
}

// heardWhenCut says an answer twice, cuts the second one after a time, and returns by how much what is said to be heard is wrong.
func heardWhenCut(t *testing.T, buffers time.Duration, way [2]time.Duration, after time.Duration) (off time.Duration) {
	f := newFar(mulaw)
	f.buffers, f.there, f.back = buffers, way[0], way[1]
	r := rand.New(rand.NewPCG(uint64(after), uint64(buffers)))
	clauses := func() (all []time.Duration) {
		for range 8 {
			all = append(all, time.Duration(300+r.IntN(2000))*ms)
		}
		return all
	}
	s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
		p := &speaker{T: t, call: c, ctx: ctx, settings: set}
		p.pacer.Lead = set.Lead
		told := make(chan transport.Inbound, 10)
		go func() {
			for {
				in, err := c.Receive(ctx)
				if err != nil {
					return
				}
				told <- in
			}
		}()
		p.say("greeting", nil, clauses()[:2]...)
		time.Sleep(6 * time.Second)
		began := time.Now()
		stop := make(chan struct{})
		time.AfterFunc(after, func() { close(stop) })
		if p.say("answer", stop, clauses()...) {
			t.Error("it was said to its end")
		}
		p.cancel("answer")
		time.Sleep(2 * time.Second)
		heard := f.heard(began)
		said := time.Duration(-1)
		for len(told) > 0 {
			if in, ok := (<-told).(transport.Truncate); ok && in.Item == "item_answer" {
				said = in.Heard
			}
		}
		off = said - heard
		return transport.ErrHungUp
	})
	if err := s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, 300*ms, false)); err != transport.ErrHungUp {
		t.Error(err)
	}
	synctest.Wait()
	return off
}
