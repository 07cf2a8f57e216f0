package budget

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Why work was not done, or not to its end.
var (
	// ErrLate reports partial or speculative work whose deadline passed before its turn came.
	ErrLate = errors.New("too late to be of use")
	// ErrPreempted reports work that nobody awaits and that was stopped for the sake of more urgent work.
	ErrPreempted = errors.New("stopped for more urgent work")
)

// Executor shares few cores among all native work, whoever does it. Its zero value is ready to use; a nil one runs
// everything at once. It is safe for use by many goroutines.
//
// The most urgent work goes first, by class and then by deadline. Work runs on its caller's goroutine, since native
// libraries tie threads to threads, and on as many threads as there are cores free: all threads together are never more
// than the cores. Nothing waits behind another's speculation, or behind what goes on in the background: that is stopped. A
// partial pass is stopped when awaited work would be late otherwise.
type Executor struct {
	Cores int // It defaults to the cores of the machine.
	// Speculation is the part of the cores' time, over some ten seconds, that speculation may take at most: it is heat for
	// nothing when it falls. It defaults to a half; negative allows none.
	Speculation float64
	// Queue counts the awaited work that there is, and what of any class is dropped before it runs, as time that the cores need for it.
	Queue *Queue

	mu      sync.Mutex
	started bool
	free    int
	queue   []*task // By urgency.
	running []*task
	rates   map[string]float64 // Core-seconds for one of a kind's units, as learned.
	counts  [classes]Count
	worked  float64     // Core-seconds that were neither speculation nor in the background, of which those of long ago count less,
	asOf    time.Time   // by then.
	credit  float64     // Core-seconds that speculation may still take,
	as      time.Time   // by then.
	revive  *time.Timer // Looks at the queue again when there is credit; nil while that is not needed.
}

// busySpan is the time over which it is reckoned how busy the cores are.
const busySpan = 10 * time.Second

// purse is the time over which speculation's part of the cores is reckoned.
const purse = 10 * time.Second

// Job is work to be done.
type Job struct {
	Urgency
	Kind    string  // What its speed is learned by, such as "stt.encode".
	Size    float64 // How much it is, in any unit that goes with the time that it takes; 0 means 1.
	Threads int     // So many threads it can use. It defaults to 1.
}

// Count says what became of the work of one class.
type Count struct {
	Done      int // Run, to its end or to an error.
	Late      int // Dropped, since its deadline passed before its turn came.
	Preempted int // Stopped for more urgent work.
	Unwanted  int // Given up by those who wanted it before its turn came.
}

// Load is how much an executor has to do.
type Load struct {
	Busy    float64        // The part of the cores' time of the last ten seconds or so that was taken, but for speculation and the background.
	Queue   time.Duration  // How long the cores need for all awaited work, what runs included. New awaited work waits less.
	Waiting [classes]int   // Jobs whose turn has not come, by class.
	Running [classes]int   // Jobs that run, by class.
	Counts  [classes]Count // What became of all so far, by class.
}

// patience is when work without a deadline is due: others with deadlines do not go before it for ever.
const patience = 2 * time.Second

// task is a job in the executor's hands. Job and ready do not change; all else is guarded by the executor's mu.
type task struct {
	Job
	ready   chan int  // Gets the number of threads when its turn has come. One buffered.
	due     time.Time // What it is ordered by within its class.
	seconds float64   // Core-seconds that it will take, as far as is known.
	threads int       // 0 until it runs.
	began   time.Time
	stop    context.CancelCauseFunc
	stopped bool

	unwanted bool // Its turn came when nobody wanted it any more.
}

// Run runs work when its turn has come, with the number of threads that it may use, and returns its error. The context
// that work is given ends with ErrPreempted when it is to make room; then Run returns that, unless work ended well all
// the same. When ctx ends before work's turn has come, Run returns its cause and work does not run. What ran goes
// on the bill of ctx.
func (x *Executor) Run(ctx context.Context, j Job, work func(ctx context.Context, threads int) error) error {
	j.Threads, j.Size = max(1, j.Threads), max(0, j.Size)
	if j.Size == 0 {
		j.Size = 1
	}
	asked, bill := time.Now(), BillOf(ctx)
	if x == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		defer func() { bill.Add(j.Kind, 0, time.Since(asked)) }()
		return work(ctx, j.Threads)
	}
	j.Urgency = j.Now()
	t := &task{Job: j, ready: make(chan int, 1), due: j.Deadline}
	if t.due.IsZero() {
		t.due = time.Now().Add(patience)
	}
	ctx, t.stop = context.WithCancelCause(ctx)
	defer t.stop(nil)
	x.enter(t)
	threads, err := x.await(ctx, t)
	if err != nil {
		return err
	}
	defer func() { x.leave(t, err) }() // also when work panics: the cores are not lost
	if ctx.Err() != nil {
		t.unwanted, err = true, context.Cause(ctx)
		return err
	}
	began := time.Now()
	defer func() { bill.Add(j.Kind, began.Sub(asked), time.Since(began)) }()
	if err = work(ctx, threads); err != nil && errors.Is(context.Cause(ctx), ErrPreempted) {
		err = ErrPreempted
	}
	return err
}

// enter takes a task in.
func (x *Executor) enter(t *task) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.started {
		if x.Cores <= 0 {
			x.Cores = runtime.NumCPU()
		}
		if x.Speculation == 0 {
			x.Speculation = 0.5
		}
		x.free, x.rates, x.started = x.Cores, map[string]float64{}, true
		x.credit, x.as = x.most(), time.Now()
	}
	t.seconds = t.Size * x.rates[t.Kind]
	x.insert(t)
	x.dispatch()
	x.Queue.Hold(int64(x.awaited()))
}

// insert puts a task where it belongs in the queue.
func (x *Executor) insert(t *task) {
	i := slices.IndexFunc(x.queue, func(q *task) bool { return t.before(q) }) // who came first goes first
	if i < 0 {
		i = len(x.queue)
	}
	x.queue = slices.Insert(x.queue, i, t)
}

// want makes a task that has turned out to be needed one that is awaited.
func (x *Executor) want(t *task) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.Index(x.queue, t)
	t.Urgency = t.Now()
	if i >= 0 { // else it runs already, and from now on to its end
		x.queue = slices.Delete(x.queue, i, i+1)
		x.insert(t)
		x.dispatch()
		x.Queue.Hold(int64(x.awaited()))
	}
}

// await waits until a task's turn has come, it is late, or nobody wants it any more.
func (x *Executor) await(ctx context.Context, t *task) (threads int, err error) {
	var late <-chan time.Time
	if t.Class != Awaited && t.Wanted == nil && !t.Deadline.IsZero() {
		timer := time.NewTimer(time.Until(t.Deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case n := <-t.ready:
		return n, nil
	case <-t.Wanted:
		x.want(t)
		return x.await(ctx, t)
	case <-late:
		err = ErrLate
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.Index(x.queue, t)
	if i < 0 { // its turn came at the same moment
		return <-t.ready, nil
	}
	x.queue = slices.Delete(x.queue, i, i+1)
	if err == ErrLate {
		x.counts[t.Class].Late++
		x.Queue.Refuse(int64(x.onCores(t.seconds)))
	} else {
		x.counts[t.Class].Unwanted++
		x.Queue.Discard(int64(x.onCores(t.seconds)))
	}
	return 0, err
}

// before reports whether t goes before u.
func (t *task) before(u *task) bool {
	if t.Class != u.Class {
		return t.Class < u.Class
	}
	return t.due.Before(u.due)
}

// leave gives back what a task had, and learns from it if it was done.
func (x *Executor) leave(t *task, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running = slices.DeleteFunc(x.running, func(r *task) bool { return r == t })
	x.free += t.threads
	took := time.Since(t.began).Seconds() * float64(t.threads)
	switch t.Class {
	case Background: // it is there to take what is left
	case Speculative:
		x.earn()
		x.credit -= took
	default:
		x.fade()
		x.worked += took
	}
	switch {
	case t.unwanted:
		x.counts[t.Class].Unwanted++
		x.Queue.Discard(int64(x.onCores(t.seconds)))
	case errors.Is(err, ErrPreempted):
		x.counts[t.Class].Preempted++
	default:
		x.counts[t.Class].Done++
	}
	if err == nil {
		x.learn(t.Kind, took/t.Size)
	}
	x.dispatch()
}

// fade lets work of long ago count less.
func (x *Executor) fade() {
	now := time.Now()
	x.worked *= math.Exp(-now.Sub(x.asOf).Seconds() / busySpan.Seconds())
	x.asOf = now
}

// learn notes what a unit of a kind has cost. A tenth of each new value counts, so that one job on a busy moment does not.
func (x *Executor) learn(kind string, cost float64) {
	if known := x.rates[kind]; known > 0 {
		cost = known + (cost-known)/10
	}
	x.rates[kind] = cost
}

// dispatch lets run what can run, and makes room for what must.
func (x *Executor) dispatch() {
	for x.free > 0 {
		i := x.next()
		if i < 0 {
			break
		}
		t := x.queue[i]
		// Side by side is better than one after the other on many threads, which lose time waiting for each other.
		peers := 1
		for i+peers < len(x.queue) && x.queue[i+peers].Class == t.Class {
			peers++
		}
		if x.reclaim(t, peers) {
			break
		}
		x.queue = slices.Delete(x.queue, i, i+1)
		t.threads = max(1, min(t.Threads, x.free/peers))
		t.began = time.Now()
		x.free -= t.threads
		x.running = append(x.running, t)
		t.ready <- t.threads
	}
	coming := 0 // Cores of tasks that have been told to stop.
	for _, r := range x.running {
		if r.stopped {
			coming += r.threads
		}
	}
	now := time.Now()
	for _, t := range x.queue {
		if t.Class == Speculative && !x.affordable() {
			continue
		}
		if coming--; coming >= 0 {
			continue
		}
		victim := x.victim(t, now)
		if victim == nil {
			return
		}
		victim.stopped = true
		victim.stop(ErrPreempted)
		coming += victim.threads
	}
}

// reclaim has the background make room for all the threads that t can use, as one of so many of its class, and reports whether it will:
// that takes less than t would lose by going on fewer.
func (x *Executor) reclaim(t *task, peers int) bool {
	lacks := min(t.Threads, max(1, x.Cores/peers)) - x.free
	if t.Class == Background || lacks <= 0 {
		return false
	}
	coming := 0
	for _, r := range x.running {
		if r.Class != Background {
			continue
		}
		if !r.stopped && coming < lacks {
			r.stopped = true
			r.stop(ErrPreempted)
		}
		if r.stopped {
			coming += r.threads
		}
	}
	return coming > 0
}

// next returns the place in the queue of the task that is to run next, -1 where none may: speculation that has had its part waits,
// and then what goes on in the background does not wait for it.
func (x *Executor) next() int {
	for i, t := range x.queue {
		if t.Class != Speculative || x.affordable() {
			return i
		}
	}
	return -1
}

// most is how much credit speculation can have, in core-seconds.
func (x *Executor) most() float64 { return max(0, x.Speculation) * float64(x.Cores) * purse.Seconds() }

// earn gives speculation its part of the time that has passed.
func (x *Executor) earn() {
	now := time.Now()
	x.credit = min(x.most(), x.credit+now.Sub(x.as).Seconds()*max(0, x.Speculation)*float64(x.Cores))
	x.as = now
}

// affordable reports whether speculation may go on. If not, the queue is looked at again when it may.
func (x *Executor) affordable() bool {
	x.earn()
	if x.credit > 0 || x.Speculation < 0 {
		return x.Speculation > 0
	}
	if x.revive == nil {
		wait := -x.credit/(x.Speculation*float64(x.Cores)) + 0.001
		x.revive = time.AfterFunc(time.Duration(wait*float64(time.Second)), func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.revive = nil
			x.dispatch()
		})
	}
	return false
}

// victim returns the running task that has to make room for t: the least urgent one of those that may be stopped.
func (x *Executor) victim(t *task, now time.Time) *task {
	var worst *task
	for _, r := range x.running {
		class := r.Now().Class
		if r.stopped || class <= t.Class || class == Partial && !x.late(t, r, now) {
			continue
		}
		if worst == nil || worst.before(r) {
			worst = r
		}
	}
	return worst
}

// late reports whether t would miss its deadline by waiting for r.
func (x *Executor) late(t, r *task, now time.Time) bool {
	if t.Deadline.IsZero() {
		return false
	}
	wait := max(0, r.seconds/float64(r.threads)-now.Sub(r.began).Seconds())
	return now.Add(time.Duration((wait + t.seconds) * float64(time.Second))).After(t.Deadline)
}

// Load says how much there is to do. On a nil executor it is nothing.
func (x *Executor) Load() Load {
	if x == nil {
		return Load{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := Load{Counts: x.counts, Queue: x.awaited()}
	for _, t := range x.queue {
		l.Waiting[t.Class]++
	}
	x.fade()
	l.Busy = x.worked
	for _, t := range x.running {
		l.Running[t.Class]++
		if t.Class < Speculative {
			l.Busy += time.Since(t.began).Seconds() * float64(t.threads)
		}
	}
	if x.Cores > 0 {
		l.Busy /= busySpan.Seconds() * float64(x.Cores)
	}
	return l
}

// awaited returns how long the cores need for all awaited work, what runs included.
func (x *Executor) awaited() time.Duration {
	var seconds float64
	for _, t := range x.queue {
		if t.Class == Awaited {
			seconds += t.seconds
		}
	}
	for _, t := range x.running {
		if t.Class == Awaited {
			seconds += max(0, t.seconds-time.Since(t.began).Seconds()*float64(t.threads))
		}
	}
	return x.onCores(seconds)
}

// onCores returns how long all cores need for so many core-seconds.
func (x *Executor) onCores(seconds float64) time.Duration {
	return time.Duration(seconds / float64(max(1, x.Cores)) * float64(time.Second))
}
