package bench

import (
	"os"
	"testing"
)

func TestTraces(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r, err := Traces{Turns: 1000, Runs: 2, Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Median{
		"list": r.List, "filter": r.Filter, "text": r.Text, "percentiles": r.Percentiles, "by hour": r.ByHour, "by word": r.ByWord, "compare": r.Compare,
	} {
		if m.P50 <= 0 || m.Max < m.P50 {
			t.Errorf("%s took %v", name, m)
		}
	}
	if r.Failed != 0 || r.BytesPerTurn < 200 || r.BytesPerTurn > 5000 || r.Hand <= 0 || r.Write <= r.Hand {
		t.Errorf("got %+v", r)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("it left %v behind, %v", left, err)
	}
	if _, err := (Traces{Turns: 10, Runs: 1}).Run(t.Context()); err == nil {
		t.Error("ten turns are enough")
	}
}
