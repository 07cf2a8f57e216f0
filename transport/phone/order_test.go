package phone

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name       string
		came, want []uint64
	}{
		{"in order", []uint64{1, 2, 3}, []uint64{1, 2, 3}},
		{"not from one on", []uint64{7, 8, 9}, []uint64{7, 8, 9}},
		{"two changed places", []uint64{1, 3, 2, 4}, []uint64{1, 2, 3, 4}},
		{"one comes three late", []uint64{1, 3, 4, 5, 2, 6}, []uint64{1, 2, 3, 4, 5, 6}},
		{"one is too late", []uint64{1, 3, 4, 5, 6, 2, 7}, []uint64{1, 3, 4, 5, 6, 2, 7}},
		{"one never comes", []uint64{1, 3, 4, 5, 6, 7}, []uint64{1, 3, 4, 5, 6, 7}},
		{"twice", []uint64{1, 2, 2, 4, 4, 3, 5}, []uint64{1, 2, 2, 3, 4, 4, 5}},
		{"without numbers", []uint64{0, 0, 0}, []uint64{0, 0, 0}},
	} {
		var o order
		var got []uint64
		for _, n := range tt.came {
			for _, m := range o.take(Media{Sequence: n}) {
				got = append(got, m.Sequence)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	var o order
	random := rand.New(rand.NewPCG(1, 2))
	var got int
	for range 10_000 {
		got += len(o.take(Media{Sequence: random.Uint64N(1 << random.Uint64N(64))}))
		if len(o.early) > mostEarly {
			t.Fatalf("%d wait", len(o.early))
		}
	}
	if got+len(o.early) != 10_000 {
		t.Errorf("%d of 10000 were handed on, and %d wait", got, len(o.early))
	}
}
