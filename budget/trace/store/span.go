package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Span returns when the oldest and the newest of the turns are that f takes; both are zero where it takes none.
func (s *Store) Span(ctx context.Context, f Filter) (first, last time.Time, err error) {
	known, err := s.byNumber(ctx)
	if err != nil {
		return first, last, err
	}
	w := f.turns(known)
	source, id := "turns t", "t.id"
	if w.match != "" { // The index of words is in the order of time, from either end.
		source, id = "words JOIN turns t ON t.id = words.rowid", "words.rowid"
		w.and("words MATCH ?", w.match)
	}
	for _, end := range []struct {
		order string
		at    *time.Time
	}{{"", &first}, {" DESC", &last}} {
		var micros int64
		err := s.db.QueryRowContext(ctx, "SELECT "+id+" FROM "+source+" "+w.sql()+" ORDER BY "+id+end.order+" LIMIT 1", w.args...).Scan(&micros)
		if errors.Is(err, sql.ErrNoRows) {
			return first, last, nil
		} else if err != nil {
			return first, last, fmt.Errorf("finding the first and the last turn: %w", err)
		}
		*end.at = time.UnixMicro(micros)
	}
	return first, last, nil
}
