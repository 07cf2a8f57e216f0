package phone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"riposte/transport"
)

var mulaw = Format{MuLaw, 8000}

// When an answer is cut off, the pipeline is told how much of it was heard, whatever the network and the far side's buffers are like: so the words
// are right, but for one that ended just then.
func TestHeardWhenCut(t *testing.T) {
	var most time.Duration
	tried := 0
	for _, buffers := range []time.Duration{0, 60 * ms, 200 * ms, 500 * ms} {
		for _, way := range [][2]time.Duration{{0, 0}, {20 * ms, 30 * ms}, {150 * ms, 100 * ms}, {300 * ms, 300 * ms}} {
			for n, after := range []time.Duration{453 * ms, 1231 * ms, 2777 * ms, 4100 * ms, 6500 * ms} {
				cut := interruption{buffers: buffers, way: way, after: after, first: n%2 == 1, held: time.Duration(n%3) * 140 * ms, seed: uint64(tried)}
				t.Run(fmt.Sprintf("%+v", cut), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						said, heard := cut.run(t)
						most = max(most, said-heard, heard-said)
						if d := said - heard; d > 20*ms || d < -20*ms {
							t.Errorf("%v is said to be heard, and was %v", said, heard)
						}
					})
				})
				tried++
			}
		}
	}
	t.Logf("%d answers were cut; what was heard is at most %v off", tried, most)
}

// A network whose delays vary costs no more than they do.
func TestHeardWhenCutWithJitter(t *testing.T) {
	var most, sum time.Duration
	const tried = 100
	for seed := range uint64(tried) {
		cut := interruption{
			buffers: time.Duration(seed%5) * 100 * ms, way: [2]time.Duration{50 * ms, 80 * ms}, after: time.Duration(900+seed*53) * ms, jitter: true, seed: seed,
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				said, heard := cut.run(t)
				off := max(said-heard, heard-said)
				most, sum = max(most, off), sum+off
				if off > 100*ms {
					t.Errorf("%+v: %v is said to be heard, and was %v", cut, said, heard)
				}
			})
		})
	}
	t.Logf("%d answers were cut; what was heard is %v off on average, at most %v", tried, sum/tried, most)
}

// interruption is how an answer is cut off.
type interruption struct {
	buffers time.Duration    // For so long the far side keeps sound.
	way     [2]time.Duration // How long the ways are, there and back.
	after   time.Duration    // So long after its beginning it is cut,
	held    time.Duration    // and held before that.
	first   bool             // Nothing was said before it.
	jitter  bool             // The ways take up to 60 ms longer.
	seed    uint64
}

// run says an answer and cuts it. It returns how much the call says was heard, and how much was.
func (i interruption) run(t *testing.T) (said, heard time.Duration) {
	f := newFar(mulaw)
	f.buffers, f.there, f.back = i.buffers, i.way[0], i.way[1]
	r := rand.New(rand.NewPCG(i.seed, 1))
	if i.jitter {
		f.jitter = rand.New(rand.NewPCG(i.seed, 2))
	}
	clauses := func() (all []time.Duration) {
		for range 8 {
			all = append(all, time.Duration(300+r.IntN(2000))*ms)
		}
		return all
	}
	said = -1
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
		if !i.first {
			p.say("greeting", nil, clauses()[:2]...)
			time.Sleep(6 * time.Second)
		}
		began := time.Now()
		stop := make(chan struct{})
		time.AfterFunc(i.after-i.held, func() {
			if i.held > 0 {
				_ = c.Send(ctx, transport.Held{})
			}
		})
		time.AfterFunc(i.after, func() { close(stop) })
		if p.say("answer", stop, clauses()...) {
			t.Error("it was said to its end")
		}
		p.cancel("answer")
		time.Sleep(2 * time.Second)
		heard = f.heard(began)
		for len(told) > 0 {
			if in, ok := (<-told).(transport.Truncate); ok && in.Item == "item_answer" {
				said = in.Heard
			}
		}
		return transport.ErrHungUp
	})
	if err := s.Converse(t.Context(), clearing{marking{f}}, opened(mulaw, 300*ms, false)); err != transport.ErrHungUp {
		t.Error(err)
	}
	return said, heard
}
