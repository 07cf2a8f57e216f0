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
	w := f.turns(known).within()
	for _, end := range []struct {
		order string
		at    *time.Time
	}{{"", &first}, {" DESC", &last}} {
		var id int64
		err := s.db.QueryRowContext(ctx, "SELECT t.id FROM turns t "+w.sql()+" ORDER BY t.id"+end.order+" LIMIT 1", w.args...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return first, last, nil
		} else if err != nil {
			return first, last, fmt.Errorf("finding the first and the last turn: %w", err)
		}
		*end.at = time.UnixMicro(id)
	}
	return first, last, nil
}
