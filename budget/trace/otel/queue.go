package otel

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// queue stands before the SDK's batches. Those drop what is too much without saying so; here it is counted, and so they never
// have to.
type queue struct {
	sdk.SpanProcessor
	most    int64
	waiting atomic.Int64 // Spans that ended and have been neither delivered nor lost.
	lost    atomic.Uint64
}

// queueSize returns how many spans may wait: what the SDK takes by itself, which the environment can change. A turn has five.
func queueSize() int64 {
	if n, err := strconv.ParseInt(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE"), 10, 32); err == nil && n > 0 {
		return n
	}
	return sdk.DefaultMaxQueueSize
}

// OnEnd takes a span if there is place for it.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.most {
		q.waiting.Add(-1)
		q.lost.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// delivery hands batches on, and says in the log when that begins to fail and when it works again.
type delivery struct {
	next  sdk.SpanExporter
	queue *queue
	log   *slog.Logger
	lost  atomic.Uint64

	down   bool // Only ExportSpans uses it, of which there is one at a time.
	ctx    context.Context
	abort  context.CancelFunc
	once   sync.Once
	closed chan struct{}
}

func newDelivery(next sdk.SpanExporter, q *queue, log *slog.Logger) *delivery {
	d := &delivery{next: next, queue: q, log: log, closed: make(chan struct{})}
	d.ctx, d.abort = context.WithCancel(context.Background())
	return d
}

// ExportSpans sends a batch. It returns no error: the SDK would print each.
func (d *delivery) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	err := d.next.ExportSpans(ctx, spans)
	d.queue.waiting.Add(-int64(len(spans)))
	if err != nil {
		d.lost.Add(uint64(len(spans)))
		if !d.down {
			d.log.Warn("the collector takes no spans; this is said once until it does", "err", err)
		}
	} else if d.down {
		d.log.Info("the collector takes spans again", "lost", d.lost.Load()+d.queue.lost.Load())
	}
	d.down = err != nil
	return nil
}

// Shutdown closes what spans were sent by.
func (d *delivery) Shutdown(ctx context.Context) error {
	defer d.once.Do(func() { close(d.closed) })
	return d.next.Shutdown(ctx)
}
