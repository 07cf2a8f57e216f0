package store

import (
	"os"
	"testing"
	"time"

	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

// prune removes all that is over the limits, and returns how many steps that took.
func prune(t *testing.T, s *Store, l Limits, now time.Time) int {
	t.Helper()
	for steps := 1; ; steps++ {
		more, err := s.Prune(t.Context(), l, now)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return steps
		}
	}
}

// sound returns a second of it.
func sound() *trace.Sound {
	return &trace.Sound{Rate: 16000, Caller: make([]int16, 8000), Answer: make([]int16, 8000)}
}

// count returns how many rows a table has.
func count(t *testing.T, s *Store, table string) int {
	t.Helper()
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// sane fails the test when the file is not.
func sane(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the file is %s, %v", verdict, err)
	}
	if _, err := s.db.Exec("INSERT INTO words (words) VALUES ('integrity-check')"); err != nil {
		t.Errorf("the index of words: %v", err)
	}
}

func TestPruneByAge(t *testing.T) {
	turns := sample.New(1, noon).Turns(1500)
	for i := range turns[:400] {
		turns[i].Sound = sound()
	}
	s := filled(t, turns)
	if err := s.WriteCall(t.Context(), trace.Call{ID: "sess_now", Began: noon.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		t.Helper()
		if _, err := s.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	// Sound is kept for a shorter time than turns.
	now := turns[299].Report.SpeechEnd.Add(time.Hour)
	prune(t, s, Limits{Sound: time.Hour, Age: 1000 * time.Hour}, now.Add(time.Microsecond))
	if n, turns := count(t, s, "sounds"), count(t, s, "turns"); n != 100 || turns != 1500 {
		t.Errorf("%d sounds and %d turns are left, want 100 and 1500", n, turns)
	}
	if after := size(); after > before/2 {
		t.Errorf("the file has %d bytes of %d: the room of the sound was not given back", after, before)
	}
	now = turns[1099].Report.SpeechEnd.Add(time.Hour)
	if steps := prune(t, s, Limits{Age: time.Hour}, now.Add(time.Microsecond)); steps < 3 {
		t.Errorf("1,100 turns went in %d steps", steps)
	}
	for table, want := range map[string]int{"turns": 400, "bodies": 400, "words": 400, "sounds": 0, "calls": 40} {
		if n := count(t, s, table); n != want {
			t.Errorf("%d %s are left, want %d", n, table, want)
		}
	}
	page, err := s.Turns(t.Context(), Filter{Text: "the"}, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Turns {
		if r.At.Before(turns[1100].Report.SpeechEnd) {
			t.Errorf("turn %s is found, and was removed", r.ID)
		}
	}
	sane(t, s)
}

func TestPruneByBytes(t *testing.T) {
	turns := sample.New(1, noon).Turns(4000)
	for i := range turns[:60] {
		turns[i].Sound = sound()
	}
	s := filled(t, turns)
	for i := 0; i < len(turns); i += 10 {
		c := trace.Call{ID: turns[i].Call, Ended: turns[i+9].Report.SpeechEnd}
		if err := s.WriteCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	bytes := func() int64 {
		z, err := s.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return z.Bytes
	}
	all := bytes()
	prune(t, s, Limits{Bytes: all - 500_000}, noon)
	if n := count(t, s, "sounds"); n != 10 || count(t, s, "turns") != 4000 {
		t.Errorf("%d sounds are left, want 10, and all turns: sound goes first", n)
	}
	limit := all / 4
	prune(t, s, Limits{Bytes: limit}, noon)
	if n := bytes(); n > limit-limit/20 || n < limit/2 {
		t.Errorf("%d bytes are left, want a little less than 95 %% of %d", n, limit)
	}
	if n := count(t, s, "turns"); n%turnsAtOnce != 0 || count(t, s, "calls") != n/10 {
		t.Errorf("%d turns and %d calls are left", n, count(t, s, "calls"))
	}
	page, err := s.Turns(t.Context(), Filter{}, 0, 1)
	if err != nil || page.Turns[0].ID != turns[3999].ID {
		t.Errorf("the newest turn is gone: %v, %v", page, err)
	}
	sane(t, s)
	if steps := prune(t, s, Limits{Bytes: limit}, noon); steps != 1 {
		t.Errorf("nothing to do took %d steps", steps)
	}
}
