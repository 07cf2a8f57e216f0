package store

import (
	"context"
	"errors"
)

// Comparison is two sets side by side, such as before and after.
type Comparison struct{ A, B Group }

// Compare returns the statistics of the turns that a takes and of those that b takes. A set may be empty.
func (s *Store) Compare(ctx context.Context, a, b Filter) (Comparison, error) {
	left, errA := s.all(ctx, a)
	right, errB := s.all(ctx, b)
	return Comparison{A: left, B: right}, errors.Join(errA, errB)
}

// all returns the statistics of one undivided set.
func (s *Store) all(ctx context.Context, f Filter) (Group, error) {
	groups, err := s.Stats(ctx, f, Split{})
	if err != nil || len(groups) == 0 {
		return new(gathering).group(nil), err
	}
	return groups[0], nil
}
