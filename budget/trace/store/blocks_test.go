package store

import (
	"cmp"
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace/sample"
)

// inBlocks returns how many turns are in blocks and how many are not, and fails the test unless both together are what the table of turns has.
func inBlocks(t *testing.T, s *Store) (packed, loose int) {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	want, err := s.figures(t.Context(), tx, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	var got []figures
	if err := s.eachFigures(t.Context(), tx, math.MinInt64+1, math.MaxInt64, func(f *figures) { got = append(got, *f) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the blocks and what is loose have %d turns, which are not the %d of the table", len(got), len(want))
	}
	var last sql.NullInt64
	if err := tx.QueryRow("SELECT max(last) FROM blocks").Scan(&last); err != nil {
		t.Fatal(err)
	}
	packed, _ = slices.BinarySearchFunc(want, last.Int64+1, func(f figures, id int64) int { return cmp.Compare(f.id, id) })
	return packed, len(want) - packed
}

// Blocks hold what the table holds, in whatever order turns come, when they come again, and when they are removed; so statistics are the same
// with them as without.
func TestBlocks(t *testing.T) {
	turns := sample.New(3, noon).Turns(6000)
	turns[17].Report = budget.Report{SpeechEnd: turns[17].Report.SpeechEnd}
	s := fresh(t)
	random := rand.New(rand.NewPCG(1, 2))
	order := make([]int, len(turns)) // Turns come as much as 1500 others late.
	late := make([]int, len(turns))
	for i := range order {
		order[i], late[i] = i, i+random.IntN(1500)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(late[a], late[b]) })
	for part := range slices.Chunk(order, 250) {
		batch := turns[:0:0]
		for _, i := range part {
			batch = append(batch, turns[i])
		}
		if err := s.WriteTurns(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	if packed, loose := inBlocks(t, s); packed < 3*inBlock || loose > 3*inBlock+250 {
		t.Errorf("%d are in blocks, %d are loose", packed, loose)
	}
	for i := 0; i < len(turns); i += 70 {
		turns[i].Report.Total += time.Duration(i) * time.Millisecond
		turns[i].Report.Verdict = budget.Over
		if err := s.WriteTurns(t.Context(), turns[i]); err != nil {
			t.Fatal(err)
		}
	}
	inBlocks(t, s)
	for more, kept := true, noon.Add(2300*8*time.Second); more; {
		var err error
		if more, err = s.Prune(t.Context(), Limits{Age: time.Hour}, kept.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		inBlocks(t, s)
	}
	var with []any
	ask := func() (all []any) {
		for _, text := range append(chosen(turns[2500:]), "verdict=none,met", "call=sess", "since=2000-01-01 until=2000-01-02", `"the" since=`+turns[3000].Report.SpeechEnd.UTC().Format(time.RFC3339)) {
			f, err := ParseFilter(text, noon)
			if err != nil {
				t.Fatal(err)
			}
			for _, split := range []Split{{}, {By: ByVersion, Every: time.Hour}, {By: BySTT}, {By: ByTTS}} {
				groups, err := s.Stats(t.Context(), f, split)
				if err != nil {
					t.Fatal(text, err)
				}
				all = append(all, groups)
			}
		}
		return all
	}
	with = ask()
	if _, err := s.db.Exec("DELETE FROM blocks"); err != nil {
		t.Fatal(err)
	}
	equal(t, ask(), with)
}

// A file that has no blocks yet gets them little by little, while turns are written.
func TestBlocksOfOlderFiles(t *testing.T) {
	turns := sample.New(3, noon).Turns((blocksAtOnce + 4) * inBlock)
	s := filled(t, turns[:len(turns)-2])
	if _, err := s.db.Exec("DELETE FROM blocks"); err != nil {
		t.Fatal(err)
	}
	s.spare = 0
	for i := range 2 {
		if err := s.WriteTurns(t.Context(), turns[len(turns)-2+i]); err != nil {
			t.Fatal(err)
		}
		if packed, _ := inBlocks(t, s); packed != min((i+1)*blocksAtOnce, blocksAtOnce+3)*inBlock {
			t.Errorf("after %d transactions %d turns are in blocks", i+1, packed)
		}
	}
}

// What cannot be unpacked is an error, and nothing worse.
func FuzzFigures(f *testing.F) {
	some := []figures{
		{id: 1_800_000_000_123_456, call: 1_800_000_000_000_000, names: [9]int64{1, 2, 3, 4, 5, 300}, times: [5]int64{0, missing, 5_000_000, 1, math.MaxUint32}, plan: 890_000},
		{id: 1_800_000_000_123_457, call: 1_900_000_000_000_000, times: [5]int64{missing, missing, missing, missing, missing}},
	}
	packed := packFigures(some)
	f.Add(packed)
	f.Add(packed[:len(packed)-1])
	f.Add([]byte{inVarints})
	f.Add([]byte{inVarints + 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(b []byte) (all []figures, err error) {
			err = unpackFigures(b, func(f *figures) bool {
				all = append(all, *f)
				return true
			})
			return all, err
		}
		all, err := read(b)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, err := read(packFigures(all)); err != nil || !slices.Equal(again, all) {
			t.Fatalf("%v became %v, %v", all, again, err)
		}
	})
}

func TestFigures(t *testing.T) {
	turn := full()
	s := filled(t, sample.New(1, noon).Turns(50))
	if err := s.WriteTurns(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	all, err := s.figures(t.Context(), s.db, math.MinInt64, math.MaxInt64)
	if err != nil || len(all) != 51 {
		t.Fatal(len(all), err)
	}
	f := all[50]
	if f.id != turn.Report.SpeechEnd.UnixMicro() || f.times != [5]int64{910_000, 20_000, 240_000, 500_000, 150_000} || f.plan != 890_000 || slices.Contains(f.names[:originFigure], 0) || f.names[originFigure] != 0 {
		t.Errorf("the figures are %+v", f)
	}
	if n := len(packFigures(all)); n > 45*len(all) {
		t.Errorf("%d turns are packed in %d bytes", len(all), n)
	}
}
