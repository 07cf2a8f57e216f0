package store

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

// many returns a store of 200,000 turns.
func many(b *testing.B) *Store {
	s := fresh(b)
	for part := range slices.Chunk(sample.New(1, noon).Turns(200_000), 1000) {
		if err := s.WriteTurns(context.Background(), part...); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkStore(b *testing.B) {
	s := many(b)
	ctx := context.Background()
	list := func(text string) func(*testing.B) {
		f, err := ParseFilter(text, noon)
		if err != nil {
			b.Fatal(err)
		}
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Turns(ctx, f, 0, 50); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	stats := func(text string, split Split) func(*testing.B) {
		f, err := ParseFilter(text, noon)
		if err != nil {
			b.Fatal(err)
		}
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Stats(ctx, f, split); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	calls := func(text string) func(*testing.B) {
		f, err := ParseFilter(text, noon)
		if err != nil {
			b.Fatal(err)
		}
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Calls(ctx, f, 0, 50); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("list", list(""))
	b.Run("list/verdict", list("verdict=failed"))
	b.Run("list/nothing", list("route=sales gap=20s"))
	b.Run("list/frequent", list("the order verdict=over"))
	b.Run("list/rare", list("backen"))
	b.Run("list/frequentNothing", list("the gap=20s"))
	b.Run("calls", calls(""))
	b.Run("calls/verdict", calls("verdict=failed"))
	b.Run("calls/rare", calls("backen"))
	b.Run("calls/nothing", calls("gap=20s"))
	b.Run("stats", stats("", Split{}))
	b.Run("stats/hourByModel", stats("", Split{By: ByModel, Every: time.Hour}))
	b.Run("stats/filter", stats("verdict=over,masked route=sales", Split{By: ByVersion}))
	b.Run("stats/word", stats("the", Split{}))
	b.Run("stats/text", stats("the order", Split{By: ByVersion}))
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Compare(ctx, Filter{Version: []string{"v1.4.0"}}, Filter{Version: []string{"v1.5.0"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What a call pays for a turn.
func BenchmarkTurnEnded(b *testing.B) {
	turns := sample.New(1, noon).Turns(1000)
	r := &Recorder{Path: filepath.Join(b.TempDir(), "traces.db"), MaxEntries: 1 << 30, MaxBytes: 1 << 40}
	r.open = func(context.Context) (keeper, error) { return new(discard), nil }
	r.Start()
	defer r.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.TurnEnded(turns[i%len(turns)])
	}
}

// discard keeps nothing.
type discard struct{ disk }

func (*discard) writeAll(context.Context, []entry) error { return nil }

// What the writer pays for a turn, off the way of calls.
func BenchmarkWrite(b *testing.B) {
	s := fresh(b)
	m := sample.New(1, noon)
	var turns []trace.Turn
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		turns = m.Turns(batch)
		b.StartTimer()
		if err := s.WriteTurns(context.Background(), turns...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/turn")
}
