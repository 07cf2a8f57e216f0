package endpoint

import (
	"slices"
	"time"
)

// remembered is how many of a caller's last pauses count.
const remembered = 16

// Pauses are those that a caller has made inside of turns, in the course of one call. The zero value, and nil, know none.
// It must not be used by two goroutines at once.
type Pauses struct {
	last []time.Duration
}

// Add notes a pause after which the caller went on with the turn.
func (p *Pauses) Add(d time.Duration) {
	if len(p.last) == remembered {
		p.last = slices.Delete(p.last, 0, 1)
	}
	p.last = append(p.last, d)
}

// Usual returns what four of five of the pauses are not longer than; 0 as long as there are fewer than three.
func (p *Pauses) Usual() time.Duration {
	if p == nil || len(p.last) < 3 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.last))
	return sorted[(len(sorted)*4-1)/5]
}

// Longest returns the longest of the pauses; 0 without any.
func (p *Pauses) Longest() time.Duration {
	if p == nil || len(p.last) == 0 {
		return 0
	}
	return slices.Max(p.last)
}
