package store

import (
	"context"
	"errors"
	"sync"
)

// Comparison is two sets side by side, such as before and after.
type Comparison struct{ A, B Group }

// Compare returns the statistics of the turns that a takes and of those that b takes. A set may be empty.
func (s *Store) Compare(ctx context.Context, a, b Filter) (Comparison, error) {
	var c Comparison
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { c.A, errs[0] = s.all(ctx, a) })
	both.Go(func() { c.B, errs[1] = s.all(ctx, b) })
	both.Wait()
	return c, errors.Join(errs[:]...)
}

// all returns the statistics of one undivided set.
func (s *Store) all(ctx context.Context, f Filter) (Group, error) {
	groups, err := s.Stats(ctx, f, Split{})
	if err != nil || len(groups) == 0 {
		return new(gathering).group(nil), err
	}
	return groups[0], nil
}
