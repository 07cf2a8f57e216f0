package budget

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The most that was held counts for a minute, and not for much longer.
func TestQueueForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Limit: 100}
		q.Hold(70)
		q.Hold(30)
		for range 60 {
			if got := q.State().High; got != 70 {
				t.Fatalf("the most is %d", got)
			}
			time.Sleep(time.Second)
			q.Hold(10)
		}
		time.Sleep(slotSpan + time.Second)
		if got := q.State().High; got != 10 {
			t.Errorf("after more than a minute the most is still %d", got)
		}
		time.Sleep(time.Hour)
		if got := q.State().High; got != 0 {
			t.Errorf("after an hour the most is still %d", got)
		}
	})
}

// Whoever is told by many at once forgets nothing of it.
func TestQueueOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no time passes
		q := &Queue{Limit: 1000}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 1000 {
					q.Hold(int64(n - i))
					q.Refuse(1)
					q.Discard(2)
				}
			})
		}
		all.Wait()
		if got, want := q.State(), (QueueState{High: 999, Full: 8000, Stale: 16000}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
}

// What is out of bounds is counted as the most or the least that there is.
func TestQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{}
		q.Hold(-1)
		if got := q.State().High; got != 0 {
			t.Errorf("less than nothing is %d", got)
		}
		q.Hold(1 << 62)
		if got := q.State().High; got != mostHeld {
			t.Errorf("too much is %d", got)
		}
	})
}

// It costs a frame of sound nothing that has to be freed, and one that is not there costs nothing at all.
func TestQueueAllocates(t *testing.T) {
	q := &Queue{}
	for _, q := range []*Queue{q, nil} {
		n := int64(0)
		if got := testing.AllocsPerRun(100, func() { n++; q.Hold(n); q.Refuse(n); q.Discard(n) }); got != 0 {
			t.Errorf("it allocates %v times", got)
		}
	}
	if got := (*Queue)(nil).State(); got != (QueueState{}) {
		t.Errorf("one that is not there has counted %+v", got)
	}
}

func BenchmarkQueue(b *testing.B) {
	q := &Queue{}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			q.Hold(5)
		}
	})
}
