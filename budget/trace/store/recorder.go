package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Recorder takes calls and turns, and writes them to a file from a goroutine of its own. Whatever becomes of the file, whoever hands
// turns in goes on at once: what does not fit into the queue is dropped and counted, and where the file cannot be opened or written,
// it is tried again until it can.
type Recorder struct {
	Path   string        // The file.
	Limits Limits        // What is kept.
	Log    *slog.Logger  // It defaults to slog.Default().
	Queue  *budget.Queue // Counts its entries; nil is nobody.

	// Bounds of the queue. They default to 1,024 entries, an hour of a busy caller's turns, and to 32 MiB, which is some forty recorded turns.
	MaxEntries, MaxBytes int
	// Grace is how long Close waits for what is still to be written. It defaults to 2 s.
	Grace time.Duration

	open func(context.Context) (keeper, error) // It defaults to Open.

	mu      sync.Mutex
	entries []entry // What is to be written, and what is being written at its head.
	bytes   int     // How long all of it is, about.
	drops   Drops
	logged  Drops // Of those, what the log has been told.

	ctx     context.Context // Of what is written.
	cancel  context.CancelFunc
	wake    chan struct{} // Holds one when there is something to be written.
	closing chan struct{}
	done    chan struct{}
}

// DefaultEntries is the default bound of a Recorder's queue.
const DefaultEntries = 1024

// Drops counts what was thrown away because there was no place for it, or because the file refused it.
type Drops struct {
	Turns, Calls, Sounds int // Calls counts that they began or ended.
}

var (
	_ trace.Sink = (*Recorder)(nil)
	_ keeper     = (*Store)(nil)
)

// Start starts the recorder, which Close ends.
func (r *Recorder) Start() {
	if r.Log == nil {
		r.Log = slog.Default()
	}
	if r.MaxEntries == 0 {
		r.MaxEntries = DefaultEntries
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = 32 << 20
	}
	if r.Grace == 0 {
		r.Grace = 2 * time.Second
	}
	if r.open == nil {
		r.open = func(ctx context.Context) (keeper, error) { return Open(ctx, r.Path) }
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.wake, r.closing, r.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go r.run()
}

// Close writes what is there and closes the file. It waits for no longer than Grace; the error says how much was not written.
func (r *Recorder) Close() error {
	close(r.closing)
	stop := time.AfterFunc(r.Grace, r.cancel)
	defer stop.Stop()
	late := time.NewTimer(r.Grace + r.Grace/10) // a write that nothing can stop is left behind
	defer late.Stop()
	select {
	case <-r.done:
	case <-late.C:
	}
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entries); n > 0 {
		return fmt.Errorf("%d traces were not written to %s", n, r.Path)
	}
	return nil
}

// Drops returns how much was dropped so far.
func (r *Recorder) Drops() Drops {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drops
}

// CallBegan takes a call that has begun.
func (r *Recorder) CallBegan(c trace.Call) { r.add(entry{call: &c, size: callSize(&c)}) }

// CallEnded takes a call that has ended.
func (r *Recorder) CallEnded(c trace.Call) { r.add(entry{call: &c, size: callSize(&c)}) }

// callSize returns how many bytes of memory a call holds, about.
func callSize(c *trace.Call) int {
	n := 512
	if c.Record != nil {
		n += 512 + len(c.Record.Note) + len(c.Record.Why)
	}
	return n
}

// TurnEnded takes a turn that has ended.
func (r *Recorder) TurnEnded(t trace.Turn) {
	r.add(entry{turn: &t, size: sizeOf(&t)})
}

// ForgetSound throws away what was recorded of a call so far.
func (r *Recorder) ForgetSound(call string) { r.add(entry{forget: call, size: 64}) }

// add puts an entry into the queue. Sound, which is most of it, has to leave a quarter to all else.
func (r *Recorder) add(e entry) {
	e.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.turn != nil && e.turn.Sound != nil && r.bytes+e.size > r.MaxBytes/4*3 {
		e.turn.Sound, e.size = nil, e.size-soundOf(e.turn)
		r.drops.Sounds++
	}
	full := len(r.entries) >= r.MaxEntries || r.bytes+e.size > r.MaxBytes
	if full && e.forget == "" { // what a caller does not want to be kept is not
		r.drops.count(e)
		r.Queue.Refuse(1)
		return
	}
	r.entries = append(r.entries, e)
	r.Queue.Hold(int64(len(r.entries)))
	r.bytes += e.size
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// count counts e as dropped.
func (d *Drops) count(e entry) {
	switch {
	case e.turn != nil:
		d.Turns++
	default:
		d.Calls++
	}
}

// sizeOf returns how many bytes of memory a turn holds, about.
func sizeOf(t *trace.Turn) int {
	n := 2048 + len(t.Said) + len(t.Answer) + soundOf(t)
	for _, w := range t.Words {
		n += 40 + len(w.Text)
	}
	for _, e := range t.Events {
		n += 40 + len(e.Detail)
	}
	return n
}

// soundOf returns how many bytes of memory a turn's sound holds.
func soundOf(t *trace.Turn) int {
	if t.Sound == nil {
		return 0
	}
	return 2 * (len(t.Sound.Caller) + len(t.Sound.Answer))
}
