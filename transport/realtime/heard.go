package realtime

import (
	"fmt"
	"strings"
	"time"

	"riposte/transport"
)

// Bounds of what a client can have measured: more is a mistake in its measuring, and would be one in every figure made of it.
const (
	mostMouthToEar = 60_000 // Milliseconds.
	mostOnTheWay   = 10_000 // The same, of jitter, of what is buffered and of a round trip.
)

// read reads what a client has measured of an answer.
func (e *answerHeard) read(id string) (transport.Inbound, error) {
	if e.Response == "" || len(e.Response) > maxID {
		return nil, invalid("response_id", "missing_required_parameter", "response_id must have 1 to %d characters: which answer was heard?", maxID)
	}
	if e.MouthToEar == nil {
		return nil, invalid("mouth_to_ear_ms", "missing_required_parameter",
			"mouth_to_ear_ms is missing: how long was it from the last voiced sample at the microphone to the first audible one of the answer?")
	}
	var way []string
	for _, m := range []struct {
		param  string
		value  *float64
		most   float64
		detail string // How it is told; empty for what has a place of its own.
	}{
		{"mouth_to_ear_ms", e.MouthToEar, mostMouthToEar, ""},
		{"jitter_ms", e.Jitter, mostOnTheWay, "jitter %.0f ms"},
		{"buffer_ms", e.Buffer, mostOnTheWay, "buffered for %.0f ms"},
		{"round_trip_ms", e.RoundTrip, mostOnTheWay, "round trip %.0f ms"},
		{"lost_percent", e.Lost, 100, "%.1f %% of the packets lost"},
	} {
		if m.value == nil {
			continue
		}
		if *m.value < 0 || *m.value > m.most {
			return nil, invalid(m.param, "invalid_value", "%s is %v; it must be 0 to %v.", m.param, *m.value, m.most)
		}
		if m.detail != "" {
			way = append(way, fmt.Sprintf(m.detail, *m.value))
		}
	}
	return transport.Heard{
		Ref: id, Response: e.Response, MouthToEar: time.Duration(*e.MouthToEar * float64(time.Millisecond)), Detail: strings.Join(way, ", "),
	}, nil
}
