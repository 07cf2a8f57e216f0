package pipeline

import (
	"context"
	"sync"
	"time"
)

// floor says whether answers may be heard, or are held since the caller may be about to take the word. The zero value is
// free. It is safe for use by several goroutines.
type floor struct {
	mu    sync.Mutex
	since time.Time     // When it was held; zero while it is free.
	freed chan struct{} // Closed when it is free again.
	past  []held        // What nobody has taken note of.
}

// held is a time in which the floor was held.
type held struct{ from, until time.Time }

// longestHold is how long an answer is held at most: a line that brings no more sound cannot say that the caller is done.
const longestHold = 5 * time.Second

// hold holds the floor. It reports whether it was free.
func (f *floor) hold(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.since.IsZero() {
		return false
	}
	f.since, f.freed = now, make(chan struct{})
	return true
}

// release frees the floor. It reports whether it was held.
func (f *floor) release(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since.IsZero() {
		return false
	}
	close(f.freed)
	f.past = append(f.past, held{f.since, now})
	f.since, f.freed = time.Time{}, nil
	return true
}

// held returns since when the floor is held, and what is closed when it is free again; ok is false while it is free.
func (f *floor) held() (since time.Time, freed <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.freed, !f.since.IsZero()
}

// note returns each time in which the floor was held once, and since when it is held now; zero while it is free.
func (f *floor) note() (past []held, since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	past, f.past = f.past, nil
	return past, f.since
}

// wait waits until the floor is free, and reports whether ctx goes on: when it ends, wait returns early. When the floor has
// been held for longestHold, wait frees it: then it has expired.
func (f *floor) wait(ctx context.Context) (ok, expired bool) {
	since, freed, held := f.held()
	if !held {
		return ctx.Err() == nil, false
	}
	timer := time.NewTimer(time.Until(since.Add(longestHold)))
	defer timer.Stop()
	select {
	case <-freed:
	case now := <-timer.C:
		expired = f.release(now)
	case <-ctx.Done():
		return false, false
	}
	return ctx.Err() == nil, expired
}
