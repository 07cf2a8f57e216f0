package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// crew runs jobs on an executor and notes in which order they began.
type crew struct {
	x *Executor
	sync.WaitGroup
	mu    sync.Mutex
	began []string
}

// start runs a job that takes so long on one thread, and stops when it is told to. It returns when the job has run or waits.
func (c *crew) start(ctx context.Context, name string, j Job, takes time.Duration, result ...*error) {
	c.Go(func() {
		err := c.x.Run(ctx, j, func(ctx context.Context, threads int) error {
			c.mu.Lock()
			c.began = append(c.began, name)
			c.mu.Unlock()
			return sleep(ctx, takes/time.Duration(threads))
		})
		for _, r := range result {
			*r = err
		}
	})
	synctest.Wait()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func due(c Class, in time.Duration) Job {
	return Job{Urgency: Urgency{Class: c, Deadline: time.Now().Add(in)}, Kind: "test"}
}

func wantOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestExecutorOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1}}
		c.start(t.Context(), "first", due(Awaited, ms), 10*ms)
		c.start(t.Context(), "speculative, due", due(Speculative, 150*ms), 10*ms)
		c.start(t.Context(), "partial, due", due(Partial, 150*ms), 10*ms)
		c.start(t.Context(), "any time", Job{}, 10*ms)
		c.start(t.Context(), "late", due(Awaited, 300*ms), 10*ms)
		c.start(t.Context(), "soon", due(Awaited, 100*ms), 10*ms)
		c.start(t.Context(), "as soon, but after", due(Awaited, 100*ms), 10*ms)
		c.start(t.Context(), "partial, sooner", due(Partial, 100*ms), 10*ms)
		c.Wait()
		wantOrder(t, c.began, "first", "soon", "as soon, but after", "late", "any time", "partial, sooner", "partial, due", "speculative, due")
	})
}

// Work without a deadline is not put off for ever by a stream of work with deadlines.
func TestExecutorStarvation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1}}
		c.start(t.Context(), "busy", due(Awaited, 100*ms), 100*ms)
		c.start(t.Context(), "patient", Job{}, 10*ms)
		begin := time.Now()
		for range 60 {
			c.start(t.Context(), "pressing", due(Awaited, 400*ms), 100*ms) // each comes when the one before it begins
			time.Sleep(100 * ms)
		}
		c.Wait()
		i := slices.Index(c.began, "patient")
		if i < 0 || i > int(patience/(100*ms))+1 {
			t.Errorf("the patient one was the %dth to run, after %v", i, time.Since(begin))
		}
	})
}

// Two that may use both cores share them; one alone has both.
func TestExecutorThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 2}
		var got []int
		var mu sync.Mutex
		var all sync.WaitGroup
		run := func() {
			all.Go(func() {
				_ = x.Run(t.Context(), Job{Threads: 2}, func(ctx context.Context, threads int) error {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, threads)
					return nil
				})
			})
		}
		hold := make(chan struct{})
		all.Go(func() { // both wait until both cores are free
			_ = x.Run(t.Context(), Job{Threads: 2}, func(context.Context, int) error { <-hold; return nil })
		})
		synctest.Wait()
		run()
		run()
		synctest.Wait()
		close(hold)
		all.Wait()
		run()
		all.Wait()
		if want := []int{1, 1, 2}; !slices.Equal(got, want) {
			t.Errorf("threads %v, want %v", got, want)
		}
	})
}

// Whatever comes and goes, the threads of all that runs together are never more than the cores, and in the end none is lost.
func TestExecutorBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cores = 3
		x := &Executor{Cores: cores}
		r := rand.New(rand.NewPCG(1, 2))
		var busy, most atomic.Int64
		var all sync.WaitGroup
		for range 500 {
			j := due(Class(r.IntN(int(classes))), time.Duration(r.IntN(300))*ms)
			j.Threads = 1 + r.IntN(4)
			takes, patient := time.Duration(r.IntN(40))*ms, time.Duration(r.IntN(400))*ms
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patient)
				defer cancel()
				_ = x.Run(ctx, j, func(ctx context.Context, threads int) error {
					if threads > j.Threads {
						t.Errorf("%d threads for a job that can use %d", threads, j.Threads)
					}
					if n := busy.Add(int64(threads)); n > most.Load() {
						most.Store(n)
					}
					defer busy.Add(-int64(threads))
					return sleep(ctx, takes)
				})
			})
			time.Sleep(time.Duration(r.IntN(10)) * ms)
		}
		all.Wait()
		if most.Load() != cores {
			t.Errorf("at most %d threads ran at once, want %d", most.Load(), cores)
		}
		l := x.Load()
		if x.free != cores || l.Queue != 0 || l.Waiting != [classes]int{} || l.Running != [classes]int{} {
			t.Errorf("at the end %d cores are free, load %+v", x.free, l)
		}
		sum := 0
		for _, n := range l.Counts {
			sum += n.Done + n.Late + n.Preempted + n.Unwanted
		}
		if sum != 500 {
			t.Errorf("%d jobs are accounted for, want 500: %+v", sum, l.Counts)
		}
	})
}

func TestExecutorDropsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1}}
		var speculative, partial, awaited error
		c.start(t.Context(), "busy", due(Awaited, 0), 300*ms)
		begin := time.Now()
		c.start(t.Context(), "speculative", due(Speculative, 100*ms), ms, &speculative)
		c.start(t.Context(), "partial", due(Partial, 200*ms), ms, &partial)
		c.start(t.Context(), "awaited", due(Awaited, 100*ms), ms, &awaited)
		c.Wait()
		if speculative != ErrLate || partial != ErrLate || awaited != nil {
			t.Errorf("got %v, %v and %v, want the first two late and the last done", speculative, partial, awaited)
		}
		wantOrder(t, c.began, "busy", "awaited")
		if took := time.Since(begin); took != 301*ms {
			t.Errorf("all took %v, want 301 ms", took)
		}
	})
}

func TestExecutorCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1}}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		var waiting, running error
		c.start(ctx, "running", due(Awaited, 0), time.Hour, &running)
		c.start(ctx, "waiting", due(Awaited, 0), time.Hour, &waiting)
		c.start(t.Context(), "next", due(Awaited, 0), ms)
		begin := time.Now()
		cancel(gone)
		c.Wait()
		if running != gone || waiting != gone {
			t.Errorf("got %v and %v, want the cause of both", running, waiting)
		}
		wantOrder(t, c.began, "running", "next")
		if took := time.Since(begin); took != ms {
			t.Errorf("the next one was done after %v, want 1 ms", took)
		}
		if n := c.x.Load().Counts[Awaited]; n.Unwanted != 1 || n.Done != 2 {
			t.Errorf("counts %+v", n)
		}
	})
}

// Nobody waits behind another's speculation, and a closing pass that would be late behind a partial one does not.
func TestExecutorPreemption(t *testing.T) {
	for _, test := range []struct {
		name    string
		running Class
		comes   func() Job
		stopped bool
	}{
		{"speculation, for one who still talks", Speculative, func() Job { return due(Partial, 500*ms) }, true},
		{"speculation, for work without a deadline", Speculative, func() Job { return Job{} }, true},
		{"a partial pass, when time is short", Partial, func() Job { return due(Awaited, 100*ms) }, true},
		{"a partial pass, when there is time", Partial, func() Job { return due(Awaited, 500*ms) }, false},
		{"a partial pass, when there is no deadline", Partial, func() Job { return Job{Kind: "test"} }, false},
		{"its like", Speculative, func() Job { return due(Speculative, 500*ms) }, false},
		{"what is awaited", Awaited, func() Job { return due(Awaited, 0) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := crew{x: &Executor{Cores: 1}}
				c.start(t.Context(), "lesson", due(Awaited, 0), 200*ms) // it learns that such jobs take 200 ms
				c.Wait()
				begin := time.Now()
				var running error
				c.start(t.Context(), "running", due(test.running, time.Second), 200*ms, &running)
				time.Sleep(20 * ms)
				var took time.Duration
				c.Go(func() {
					_ = c.x.Run(t.Context(), test.comes(), func(context.Context, int) error {
						took = time.Since(begin)
						return nil
					})
				})
				c.Wait()
				want, after := error(nil), 200*ms
				if test.stopped {
					want, after = ErrPreempted, 20*ms
				}
				if running != want || took != after {
					t.Errorf("the running one ended with %v, the other began after %v; want %v and %v", running, took, want, after)
				}
			})
		})
	}
}

// Speculation that turns out to be needed goes where it would have gone had that been known, and is stopped no more.
func TestExecutorWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1}}
		speculation := func(wanted chan struct{}) Job {
			j := due(Speculative, 100*ms)
			j.Wanted = wanted
			return j
		}
		first, second, never := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var errs [3]error
		c.start(t.Context(), "first", speculation(first), 200*ms, &errs[0])
		close(first)
		c.start(t.Context(), "partial", due(Partial, time.Second), 10*ms)
		c.start(t.Context(), "never", speculation(never), 10*ms, &errs[1])
		c.start(t.Context(), "second", speculation(second), 10*ms, &errs[2])
		time.Sleep(150 * ms) // its deadline passes
		close(second)
		c.Wait()
		wantOrder(t, c.began, "first", "second", "partial", "never")
		if errs != [3]error{} {
			t.Errorf("they ended with %v", errs)
		}
	})
}

// Speculation takes no more than its part of the cores, and what turns out to be needed does not wait for that.
func TestExecutorSpeculationShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 2, Speculation: 0.25}
		var busy time.Duration
		begin := time.Now()
		for time.Since(begin) < 60*time.Second {
			if err := x.Run(t.Context(), Job{Urgency: Urgency{Class: Speculative}}, func(ctx context.Context, _ int) error {
				busy += 100 * ms
				return sleep(ctx, 100*ms)
			}); err != nil {
				t.Fatal(err)
			}
		}
		// A quarter of two cores for a minute, and the ten seconds' worth that it began with.
		if most := 30*time.Second + 5*time.Second; busy > most+time.Second || busy < most-2*time.Second {
			t.Errorf("speculation took %v of two minutes of cores, want %v", busy, most)
		}
		wanted := make(chan struct{})
		close(wanted)
		asked := time.Now()
		if err := x.Run(t.Context(), Job{Urgency: Urgency{Class: Speculative, Wanted: wanted}}, func(context.Context, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(asked); waited > 0 {
			t.Errorf("what is wanted waited %v", waited)
		}
	})
}

// Where no speculation is allowed, it waits until it is wanted or given up.
func TestExecutorNoSpeculation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 1, Speculation: -1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := x.Run(ctx, Job{Urgency: Urgency{Class: Speculative}}, func(context.Context, int) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := x.Run(t.Context(), Job{}, func(context.Context, int) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// Only as much is stopped as has to make room.
func TestExecutorStopsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 3}}
		var errs [3]error
		for i := range errs {
			c.start(t.Context(), fmt.Sprint(i), due(Speculative, time.Duration(i+1)*time.Second), 500*ms, &errs[i])
		}
		c.start(t.Context(), "awaited", due(Awaited, 100*ms), 10*ms)
		c.Wait()
		if errs != [3]error{nil, nil, ErrPreempted} {
			t.Errorf("got %v, want only the one with the latest deadline stopped", errs)
		}
	})
}

// What goes on in the background takes what is left: it makes room for all else, is no load, and does not wait for speculation that has had
// its part.
func TestExecutorBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 1, Speculation: -1}}
		errs := make([]error, 3)
		c.start(t.Context(), "background", Job{Urgency: Urgency{Class: Background}}, 500*ms, &errs[0])
		time.Sleep(100 * ms)
		c.start(t.Context(), "never", due(Speculative, time.Second), 10*ms, &errs[1])
		time.Sleep(100 * ms)
		if l := c.x.Load(); l.Busy != 0 || l.Queue != 0 || l.Running[Background] != 1 || l.Waiting[Speculative] != 1 {
			t.Errorf("load %+v, want only work in the background to run, and to count for nothing", l)
		}
		c.start(t.Context(), "awaited", due(Awaited, 100*ms), 10*ms)
		c.start(t.Context(), "background again", Job{Urgency: Urgency{Class: Background}}, 10*ms, &errs[2])
		c.Wait()
		if !errors.Is(errs[0], ErrPreempted) || !errors.Is(errs[1], ErrLate) || errs[2] != nil {
			t.Errorf("got %v, want the first stopped, the second late and the third done", errs)
		}
	})
}

// Work for callers has all the threads that it can use, and does not go on fewer since something goes on in the background; others that work
// for callers it leaves theirs.
func TestExecutorReclaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 3}
		c := crew{x: x}
		background := Job{Urgency: Urgency{Class: Background}}
		var errs [2]error
		for i := range errs {
			c.start(t.Context(), "background", background, time.Second, &errs[i])
		}
		c.start(t.Context(), "partial", due(Partial, time.Second), 500*ms)
		began, j := time.Now(), due(Awaited, time.Second)
		j.Threads = 2
		if err := x.Run(t.Context(), j, func(_ context.Context, threads int) error {
			if threads != 2 || time.Since(began) != 0 {
				t.Errorf("it goes on %d threads after %v", threads, time.Since(began))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		j.Threads = 3
		if err := x.Run(t.Context(), j, func(_ context.Context, threads int) error {
			if threads != 2 {
				t.Errorf("beside a partial pass it goes on %d threads", threads)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		c.Wait()
		if errs != [2]error{ErrPreempted, ErrPreempted} {
			t.Errorf("what went on in the background ended with %v", errs)
		}
	})
}

func TestExecutorLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew{x: &Executor{Cores: 2}}
		job := func(class Class, size float64) Job {
			return Job{Urgency: Urgency{Class: class}, Kind: "test", Size: size}
		}
		c.start(t.Context(), "lesson", job(Awaited, 10), 100*ms) // 10 ms for one
		c.Wait()
		for range 2 {
			c.start(t.Context(), "running", job(Awaited, 20), 200*ms)
		}
		c.start(t.Context(), "waiting", job(Awaited, 30), 300*ms)
		c.start(t.Context(), "waiting", job(Speculative, 100), ms)
		time.Sleep(50 * ms)
		l := c.x.Load()
		if want := (2*150*ms + 300*ms) / 2; l.Queue != want {
			t.Errorf("the queue is %v long, want %v", l.Queue, want)
		}
		if l.Waiting != [classes]int{1, 0, 1} || l.Running != [classes]int{2, 0, 0} {
			t.Errorf("load %+v", l)
		}
		c.Wait()
	})
}

// Work that panics takes no core with it.
func TestExecutorPanic(t *testing.T) {
	x := &Executor{Cores: 1}
	func() {
		defer func() { _ = recover() }()
		_ = x.Run(t.Context(), Job{}, func(context.Context, int) error { panic("work") })
	}()
	if err := x.Run(t.Context(), Job{}, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestNoExecutor(t *testing.T) {
	var x *Executor
	ran := 0
	if err := x.Run(t.Context(), Job{Threads: 3}, func(_ context.Context, threads int) error { ran = threads; return nil }); err != nil || ran != 3 {
		t.Errorf("%v, on %d threads", err, ran)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Run(ctx, Job{}, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if l := x.Load(); l != (Load{}) {
		t.Errorf("load %+v", l)
	}
}
