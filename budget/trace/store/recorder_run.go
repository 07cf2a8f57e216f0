package store

import (
	"context"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// keeper is what the recorder writes to: a Store.
type keeper interface {
	writeAll(context.Context, []entry) error
	Prune(context.Context, Limits, time.Time) (more bool, err error)
	beat(context.Context, time.Time) error // Says that the service is there, and ends the calls of those that are not.
	replaced() bool                        // Whether what is at its path is not what was opened.
	Close() error
}

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
	// pulse is how often it says that the service is there, and looks whether the file still is while nothing is to be written.
	pulse = 15 * time.Second
)

// run writes until the recorder is closed and nothing is left, or nothing more can be done.
func (r *Recorder) run() {
	defer close(r.done)
	var k keeper
	defer func() { r.leave(k) }()
	minute := time.NewTicker(often)
	defer minute.Stop()
	alive := time.NewTicker(pulse)
	defer alive.Stop()
	prune := time.NewTimer(0) // what became too old while the service was down goes at once
	defer prune.Stop()
	failing := false
	for {
		closing, due, beat := false, false, false
		select {
		case <-r.wake:
			r.rest(linger)
		case <-minute.C:
			r.tell()
			continue
		case <-alive.C:
			beat = true
		case <-prune.C:
			due = true
		case <-r.closing:
			closing = true
		}
		if k != nil && k.replaced() {
			r.Log.Warn("the file of traces was removed or replaced, and is opened anew", "file", r.Path)
			r.leave(k)
			k = nil
		}
		var err error
		if k == nil {
			k, err = r.reopen()
			beat = true
		}
		if err == nil && beat {
			err = k.beat(r.ctx, time.Now())
		}
		if err == nil {
			err = r.flush(k)
		}
		if err == nil && due {
			err = r.prune(k, prune)
		}
		if damaged(err) { // it may be another one when it is opened again
			r.leave(k)
			k = nil
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

// leave closes the file, if there is one. It does so before another is opened at its place: what SQLite keeps beside both has the same names.
func (r *Recorder) leave(k keeper) {
	if k == nil {
		return
	}
	if err := k.Close(); err != nil {
		r.Log.Warn("the traces could not be closed", "err", err)
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

// damaged reports whether err says that the file is not, or not any more, what was opened.
func damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY:
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
