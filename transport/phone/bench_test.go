package phone

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"riposte/audio"
	"riposte/transport"
)

// clocked is a line that notes when frames leave, and brings silence.
type clocked struct {
	sent []time.Time
	next time.Time
	over chan struct{}
}

var quiet = mulaw.silence(160)

func (l *clocked) Receive() (Event, error) {
	l.next = l.next.Add(FrameLength)
	select {
	case <-time.After(time.Until(l.next)):
		return Media{Coded: quiet, Arrived: time.Now()}, nil
	case <-l.over:
		return nil, transport.ErrHungUp
	}
}

func (l *clocked) Play([]byte) error { l.sent = append(l.sent, time.Now()); return nil }
func (l *clocked) Close(error)       { close(l.over) }

// How evenly frames leave, and what a call takes, with so many calls at once that all speak and hear. Real time: it says what this machine does.
func BenchmarkCalls(b *testing.B) {
	for _, calls := range []int{1, 120} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			for b.Loop() {
				benchCalls(b, calls)
			}
		})
	}
}

func benchCalls(b *testing.B, calls int) {
	const lasting = 5 * time.Second
	sound := tone(FrameLength, 8000)
	s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
		go func() { _, _ = listen(ctx, c) }()
		r := transport.Response{ID: "a", Item: "i"}
		p := audio.Pacer{Lead: set.Lead}
		_ = c.Send(ctx, transport.ResponseStarted{Response: r})
		for range int(lasting / FrameLength) {
			time.Sleep(p.Wait(time.Now()))
			p.Next(FrameLength, time.Now())
			if err := c.Send(ctx, transport.Voice{Response: r, PCM: sound}); err != nil {
				return err
			}
		}
		return c.(transport.Telephone).HangUp(ctx)
	})
	runtime.GC()
	var before, during, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var began, ended unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &began)
	lines := make([]*clocked, calls)
	var all sync.WaitGroup
	for i := range lines {
		lines[i] = &clocked{over: make(chan struct{}), next: time.Now(), sent: make([]time.Time, 0, 1000)}
		all.Go(func() { _ = s.Converse(b.Context(), lines[i], opened(mulaw, 0, false)) })
	}
	time.Sleep(lasting / 2)
	runtime.GC()
	runtime.ReadMemStats(&during)
	all.Wait()
	runtime.ReadMemStats(&after)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &ended)
	var off []time.Duration
	frames := 0
	for _, l := range lines {
		frames += len(l.sent)
		for i, at := range l.sent[1:] {
			off = append(off, max(at.Sub(l.sent[i])-FrameLength, FrameLength-at.Sub(l.sent[i])))
		}
	}
	slices.Sort(off)
	b.ReportMetric(float64(off[len(off)/2].Microseconds())/1000, "ms-off-p50")
	b.ReportMetric(float64(off[len(off)*99/100].Microseconds())/1000, "ms-off-p99")
	b.ReportMetric(float64(during.HeapInuse+during.StackInuse-before.HeapInuse-before.StackInuse)/1000/float64(calls), "kB/call")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(frames), "allocs/frame")
	cpu := time.Duration(ended.Utime.Nano() + ended.Stime.Nano() - began.Utime.Nano() - began.Stime.Nano())
	b.ReportMetric(100*cpu.Seconds()/lasting.Seconds()/float64(calls), "%core/call")
}
