package traces

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

// many returns a file of 200,000 turns, which is made once for all runs.
func many(b *testing.B) string {
	b.Helper()
	path := filepath.Join(os.TempDir(), "riposte-bench-page", "traces.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if z, err := s.Size(context.Background()); err != nil || z.Turns == 200_000 {
		return path
	}
	for part := range slices.Chunk(sample.New(1, noon.Add(-19*24*time.Hour)).Turns(200_000), 1000) {
		if err := s.WriteTurns(context.Background(), part...); err != nil {
			b.Fatal(err)
		}
	}
	return path
}

// What the page asks for, as the browser gets it: zipped JSON.
func BenchmarkPage(b *testing.B) {
	p := shown(b, many(b))
	for _, bench := range []struct{ name, path string }{
		{"list", "turns"},
		{"list/verdict", "turns?verdict=failed"},
		{"list/text", "turns?text=the+order&verdict=over"},
		{"list/rare", "turns?text=backen"},
		{"list/gap", "turns?gap=2s&route=sales"},
		{"list/nothing", "turns?gap=20s"},
		{"calls", "calls"},
		{"calls/verdict", "calls?verdict=failed"},
		{"summary", "stats?every=all"},
		{"stats", "stats"},
		{"stats/model", "stats?by=model"},
		{"stats/text", "stats?by=version&text=the"},
		{"compare", "compare?a.version=v1.4.0&b.version=v1.5.0"},
		{"names", "names"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if w := get(p, "/traces/api/"+bench.path, "Accept-Encoding", "gzip"); w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
	turn := answer[rowsObject](b, p, "/traces/api/turns?limit=1").Turns[0].ID
	b.Run("turn", func(b *testing.B) {
		for b.Loop() {
			get(p, "/traces/api/turn?id="+turn, "Accept-Encoding", "gzip")
		}
	})
}
