// Package object is the JSON form of what is kept of calls and turns, as the page of traces and riposte trace --json both write it. Times are
// milliseconds, to the microsecond.
package object

import "time"

// Millis returns a time as milliseconds.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// AllMillis returns times as milliseconds, by plain text.
func AllMillis[K ~string](m map[K]time.Duration) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		out[string(k)] = Millis(v)
	}
	return out
}

// plain returns a map with plain text for keys.
func plain[K ~string, V any](m map[K]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[string(k)] = v
	}
	return out
}
