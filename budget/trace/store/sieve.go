package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
)

// sieve is a filter that takes figures, in the order of their rows: what where is for SQL.
type sieve struct {
	since, before int64 // Rows.
	gap           int64 // The least, in microseconds; 0 for any.
	calls         map[int64]bool
	names         []nameSieve
	words         []int64 // Rows in which the words are, in their order, those that are still to come. nil where none are asked for.
}

// nameSieve takes figures of which one of some names has a number that is wanted.
type nameSieve struct {
	figures []int
	wanted  map[int64]bool
}

// sieve makes one. What it has to look up it reads from tx.
func (s *Store) sieve(ctx context.Context, tx *sql.Tx, f Filter, known map[int64]name) (*sieve, error) {
	v := &sieve{since: math.MinInt64 + 1, before: math.MaxInt64, gap: f.Gap.Microseconds()}
	if !f.Since.IsZero() {
		v.since = f.Since.UnixMicro()
	}
	if !f.Until.IsZero() {
		v.before = f.Until.UnixMicro()
	}
	for _, n := range []struct {
		kind    kind
		wanted  []string
		figures []int
	}{
		{routeName, f.Route, []int{routeFigure}}, {versionName, f.Version, []int{versionFigure}}, {modelName, f.Model, []int{sttFigure, llmFigure, ttsFigure}},
		{verdictName, texts(f.Verdict), []int{verdictFigure}}, {stageName, texts(f.Blame), []int{blameFigure}}, {statusName, f.Status, []int{statusFigure}},
		{originName, texts(f.Origin), []int{originFigure}},
	} {
		if len(n.wanted) == 0 {
			continue
		}
		numbers, none := numbersOf(known, n.kind, n.wanted)
		wanted := map[int64]bool{}
		for _, id := range numbers {
			wanted[id] = true
		}
		if none {
			wanted[0] = true
		}
		v.names = append(v.names, nameSieve{n.figures, wanted})
	}
	var err error
	if f.Call != "" {
		v.calls = map[int64]bool{}
		err = s.each(ctx, tx, func(id int64) { v.calls[id] = true }, "SELECT gather(?, id) FROM calls WHERE call >= ? AND call < ?", f.Call, after(f.Call))
	}
	if f.Text != "" {
		v.words = []int64{}
	}
	if match := f.match(); match != "" && err == nil {
		err = s.each(ctx, tx, func(id int64) { v.words = append(v.words, id) },
			"SELECT gather(?, rowid) FROM words WHERE words MATCH ? AND rowid >= ? AND rowid < ?", match, v.since, v.before)
		if !slices.IsSorted(v.words) { // they come in the order of rows
			slices.Sort(v.words)
		}
	}
	return v, err
}

// each calls f with the numbers that a query gathers.
func (s *Store) each(ctx context.Context, tx *sql.Tx, f func(int64), query string, args ...any) error {
	number, done := s.connector.gatherer(func(row []driver.Value) {
		id, _ := row[0].(int64)
		f(id)
	})
	defer done()
	var n int
	if err := tx.QueryRowContext(ctx, query, append([]any{number}, args...)...).Scan(&n); err != nil {
		return fmt.Errorf("looking for what a filter names: %w", err)
	}
	return nil
}

// takes reports whether the filter takes figures whose row is after that of the figures before.
func (v *sieve) takes(f *figures) bool {
	if f.id < v.since || f.id >= v.before || f.times[0] < v.gap && v.gap > 0 {
		return false
	}
	for i := range v.names {
		if !v.names[i].takes(f) {
			return false
		}
	}
	if v.calls != nil && !v.calls[f.call] {
		return false
	}
	if v.words == nil {
		return true
	}
	for len(v.words) > 0 && v.words[0] < f.id {
		v.words = v.words[1:]
	}
	return len(v.words) > 0 && v.words[0] == f.id
}

func (n *nameSieve) takes(f *figures) bool {
	for _, i := range n.figures {
		if n.wanted[f.names[i]] {
			return true
		}
	}
	return false
}
