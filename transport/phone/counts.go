package phone

import (
	"log/slog"
	"sync/atomic"
)

// Counts says what became of the sound of calls.
type Counts struct {
	Received  int64 // Pieces of the caller's sound that came,
	Twice     int64 // of them those that came twice or too late,
	Missing   int64 // and gaps between them that were made up for by silence.
	Sent      int64 // Frames that were sent.
	Underruns int64 // Times at which an answer's sound was not there when it was due.
	Stalls    int64 // Times at which frames left so late that they were not caught up with.
	Unknown   int64 // Marks of the far side's that nobody had sent.
}

// LogValue shows what there is of them.
func (c Counts) LogValue() slog.Value {
	var all []slog.Attr
	for _, a := range []struct {
		name string
		n    int64
	}{
		{"received", c.Received}, {"twice", c.Twice}, {"missing", c.Missing}, {"sent", c.Sent}, {"underruns", c.Underruns}, {"stalls", c.Stalls},
		{"unknown_marks", c.Unknown},
	} {
		if a.n > 0 {
			all = append(all, slog.Int64(a.name, a.n))
		}
	}
	return slog.GroupValue(all...)
}

// counts are Counts that are being counted.
type counts struct{ received, twice, missing, sent, underruns, stalls, unknown atomic.Int64 }

func (c *counts) snapshot() Counts {
	return Counts{
		c.received.Load(), c.twice.Load(), c.missing.Load(), c.sent.Load(), c.underruns.Load(), c.stalls.Load(), c.unknown.Load(),
	}
}

// add adds those of a call.
func (c *counts) add(of *counts) {
	n := of.snapshot()
	c.received.Add(n.Received)
	c.twice.Add(n.Twice)
	c.missing.Add(n.Missing)
	c.sent.Add(n.Sent)
	c.underruns.Add(n.Underruns)
	c.stalls.Add(n.Stalls)
	c.unknown.Add(n.Unknown)
}
