package traces

import (
	"context"
	"errors"
	"os"
	"sync"

	"riposte/budget/trace/store"
)

// errNotKept reports that the settings say to keep no traces.
var errNotKept = errors.New("no traces are kept: the setting trace.file is none")

// shelf holds the file of traces open, for reading only. The file may come to be, and be replaced by another, while the page is shown.
type shelf struct {
	path string

	mu    sync.Mutex
	store *store.Store
	file  os.FileInfo // What store was opened as.
	users map[*store.Store]int
	gone  map[*store.Store]bool // Those that are closed when their last user is done.
}

// take returns the file, and what to call when it is not used any more.
func (s *shelf) take(ctx context.Context) (*store.Store, func(), error) {
	if s.path == "" {
		return nil, nil, errNotKept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := os.Stat(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	if s.store != nil && (err != nil || !os.SameFile(s.file, now)) {
		s.retire()
	}
	if s.store == nil {
		opened, err := store.OpenReader(context.WithoutCancel(ctx), s.path)
		if err != nil {
			return nil, nil, err
		}
		s.store, s.file = opened, now
	}
	if s.users == nil {
		s.users, s.gone = map[*store.Store]int{}, map[*store.Store]bool{}
	}
	held := s.store
	s.users[held]++
	return held, func() { s.put(held) }, nil
}

// put gives a file back.
func (s *shelf) put(held *store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[held]--; s.users[held] == 0 {
		delete(s.users, held)
		if s.gone[held] {
			delete(s.gone, held)
			_ = held.Close() // of a file that was only read
		}
	}
}

// retire closes the file once nobody uses it.
func (s *shelf) retire() {
	if s.users[s.store] > 0 {
		s.gone[s.store] = true
	} else {
		_ = s.store.Close() // of a file that was only read
	}
	s.store, s.file = nil, nil
}

func (s *shelf) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	err := s.store.Close()
	s.store = nil
	return err
}
