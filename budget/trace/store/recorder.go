package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"riposte/budget/trace"
)

// Recorder takes calls and turns, and writes them to a file from a goroutine of its own. Whatever becomes of the file, whoever hands
// turns in goes on at once: what does not fit into the queue is dropped and counted, and where the file cannot be opened or written,
// it is tried again until it can.
type Recorder struct {
	Path   string       // The file.
	Limits Limits       // What is kept.
	Sound  bool         // Whether recorded sound is kept. Otherwise it is thrown away here.
	Log    *slog.Logger // It defaults to slog.Default().

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

// Drops counts what was thrown away because there was no place for it, or because the file refused it.
type Drops struct {
	Turns, Calls, Sounds int // Calls counts that they began or ended.
}

// keeper is what the recorder writes to: a Store.
type keeper interface {
	writeAll(context.Context, []entry) error
	Prune(context.Context, Limits, time.Time) (more bool, err error)
	Close() error
}

var (
	_ trace.Sink = (*Recorder)(nil)
	_ keeper     = (*Store)(nil)
)

const (
	// linger is how long the first of a batch waits for others. A process that is killed loses what came in this time.
	linger = 250 * time.Millisecond
	// batch is how many entries a transaction has: some 30 ms of work.
	batch = 128
	// again is how long it waits before it tries anew what has failed.
	again = time.Second
	// often is how often it looks for what is too old, and how often it says what was dropped.
	often = time.Minute
	// pause lets others at the file while much is removed.
	pause = 20 * time.Millisecond
)

// Start starts the recorder, which Close ends.
func (r *Recorder) Start() {
	if r.Log == nil {
		r.Log = slog.Default()
	}
	if r.MaxEntries == 0 {
		r.MaxEntries = 1024
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
func (r *Recorder) CallBegan(c trace.Call) { r.add(entry{call: &c, size: 512}) }

// CallEnded takes a call that has ended.
func (r *Recorder) CallEnded(c trace.Call) { r.add(entry{call: &c, size: 512}) }

// TurnEnded takes a turn that has ended.
func (r *Recorder) TurnEnded(t trace.Turn) {
	if !r.Sound {
		t.Sound = nil
	}
	r.add(entry{turn: &t, size: sizeOf(&t)})
}

// add puts an entry into the queue. Sound, which is most of it, has to leave a quarter to all else.
func (r *Recorder) add(e entry) {
	e.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.turn != nil && e.turn.Sound != nil && r.bytes+e.size > r.MaxBytes/4*3 {
		e.turn.Sound, e.size = nil, e.size-soundOf(e.turn)
		r.drops.Sounds++
	}
	if len(r.entries) >= r.MaxEntries || r.bytes+e.size > r.MaxBytes {
		r.drops.count(e)
		return
	}
	r.entries = append(r.entries, e)
	r.bytes += e.size
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// count counts e as dropped.
func (d *Drops) count(e entry) {
	if e.turn == nil {
		d.Calls++
		return
	}
	d.Turns++
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

// run writes until the recorder is closed and nothing is left, or nothing more can be done.
func (r *Recorder) run() {
	defer close(r.done)
	var k keeper
	defer func() {
		if k != nil {
			if err := k.Close(); err != nil {
				r.Log.Warn("the traces could not be closed", "err", err)
			}
		}
	}()
	minute := time.NewTicker(often)
	defer minute.Stop()
	prune := time.NewTimer(0) // what became too old while the service was down goes at once
	defer prune.Stop()
	failing := false
	for {
		closing, due := false, false
		select {
		case <-r.wake:
			r.rest(linger)
		case <-minute.C:
			r.tell()
			continue
		case <-prune.C:
			due = true
		case <-r.closing:
			closing = true
		}
		var err error
		if k == nil {
			k, err = r.reopen()
		}
		if err == nil {
			err = r.flush(k)
		}
		if err == nil && due {
			err = r.prune(k, prune)
		}
		switch {
		case err != nil && !failing:
			r.Log.Error("traces cannot be written; this is said once until they can", "file", r.Path, "err", err)
		case err == nil && failing:
			r.Log.Info("traces are written again", "file", r.Path)
		}
		failing = err != nil
		if closing || r.ctx.Err() != nil {
			r.tell()
			return
		}
		if failing {
			r.rest(again)
			prune.Reset(0)
		}
	}
}

// reopen opens the file.
func (r *Recorder) reopen() (keeper, error) {
	k, err := r.open(r.ctx)
	if err != nil {
		return nil, err // not k, which would be a nil *Store that is not nil
	}
	return k, nil
}

// rest waits, unless the recorder is being closed.
func (r *Recorder) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.closing:
	}
}

// flush writes all that is in the queue. What has been written leaves it, so what is being written counts as well.
func (r *Recorder) flush(k keeper) error {
	for {
		r.mu.Lock()
		part := r.entries[:min(len(r.entries), batch)]
		r.mu.Unlock()
		if len(part) == 0 {
			return nil
		}
		err := k.writeAll(r.ctx, part)
		if refused(err) {
			err = r.each(k, part)
		}
		if err != nil {
			return err
		}
		r.mu.Lock()
		for i := range part {
			r.bytes -= part[i].size
		}
		clear(part) // the memory behind them is free
		if r.entries = r.entries[len(part):]; len(r.entries) == 0 {
			r.entries = nil
		}
		r.mu.Unlock()
	}
}

// each writes one entry after the other, and drops those that the file refuses.
func (r *Recorder) each(k keeper, part []entry) error {
	for _, e := range part {
		err := k.writeAll(r.ctx, []entry{e})
		if refused(err) {
			r.Log.Error("a trace was refused", "err", err)
			r.mu.Lock()
			r.drops.count(e)
			r.mu.Unlock()
		} else if err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether err is about what was to be written, and not about the file: then it will fail again.
func refused(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff { // what lies above tells kinds of it apart
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// prune removes some of what is over the limits, and sets the timer for when to go on.
func (r *Recorder) prune(k keeper, next *time.Timer) error {
	more, err := k.Prune(r.ctx, r.Limits, time.Now())
	if more {
		next.Reset(pause)
	} else {
		next.Reset(often)
	}
	return err
}

// tell says what was dropped since it last did.
func (r *Recorder) tell() {
	r.mu.Lock()
	d := r.drops
	turns, calls, sounds := d.Turns-r.logged.Turns, d.Calls-r.logged.Calls, d.Sounds-r.logged.Sounds
	r.logged = d
	r.mu.Unlock()
	if turns+calls+sounds > 0 {
		r.Log.Warn("traces were dropped", "turns", turns, "calls", calls, "sounds", sounds)
	}
}
