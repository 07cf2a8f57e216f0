package store

import (
	"math"
	"slices"
	"time"
)

// Percentiles are exact percentiles of all samples, by nearest rank.
type Percentiles struct {
	N                  int // Samples.
	P50, P90, P95, P99 time.Duration
}

// percentiles returns those of the times, which it puts in another order; without any they are 0.
func percentiles(times []uint32) Percentiles {
	p := Percentiles{N: len(times)}
	if p.N == 0 {
		return p
	}
	low := 0
	for _, want := range []struct {
		share float64
		to    *time.Duration
	}{{0.50, &p.P50}, {0.90, &p.P90}, {0.95, &p.P95}, {0.99, &p.P99}} {
		rank := max(int(math.Ceil(want.share*float64(p.N))), 1) - 1
		rise(times[low:], rank-low)
		*want.to = micros(int64(times[rank]))
		low = rank
	}
	return p
}

// rise brings the number that sorting would put at place k there, with none above it before it and none below it after it. It takes
// a time that is proportional to the numbers, where sorting them takes several times that.
func rise(v []uint32, k int) {
	for len(v) > 32 {
		// The pivot is the middle of three, against sorted lists.
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		less, more := 0, len(v) // v[:less] are below the pivot, v[more:] above it.
		for i := 0; i < more; {
			switch {
			case v[i] < pivot:
				v[i], v[less] = v[less], v[i]
				less++
				i++
			case v[i] > pivot:
				more--
				v[i], v[more] = v[more], v[i]
			default:
				i++
			}
		}
		switch {
		case k < less:
			v = v[:less]
		case k >= more:
			v, k = v[more:], k-more
		default:
			return
		}
	}
	slices.Sort(v)
}
