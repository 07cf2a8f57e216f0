package bench

import (
	"math"
	"slices"
	"time"
)

// Percentiles are exact percentiles of all samples, by nearest rank, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// percentiles returns those of the samples; without samples they are 0.
func percentiles(samples []time.Duration) Percentiles {
	if len(samples) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := func(p float64) float64 {
		rank := int(math.Ceil(p / 100 * float64(len(sorted))))
		return ms(sorted[max(rank, 1)-1])
	}
	return Percentiles{P50: at(50), P95: at(95), P99: at(99)}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
