package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Limits say how long and how much is kept. A zero limit does not hold.
type Limits struct {
	Age   time.Duration // Of turns and calls.
	Sound time.Duration // Age of recorded sound.
	Bytes int64         // In all. Over it the oldest sound goes first, and when there is none the oldest turns.
}

// How much is removed at a time, so that what is new need not wait for long to be written: some tens of milliseconds.
const (
	turnsAtOnce  = 500
	soundsAtOnce = 50
	pagesAtOnce  = 500 // Of 4 KiB, given back to the file system.
)

// Prune removes some of what is over the limits, the oldest first, and gives its place back to the file system. It reports
// whether there is more to be removed. Once the bytes are over their limit it goes on until they are 5 % below.
func (s *Store) Prune(ctx context.Context, l Limits, now time.Time) (more bool, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("removing old traces: %w", err)
	}
	more, err = s.prune(ctx, tx, l, now)
	if err != nil {
		tx.Rollback() // what it says is that the first error ended it
		return false, fmt.Errorf("removing old traces: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("removing old traces: %w", err)
	}
	free, err := s.vacuum(ctx)
	return more || free, err
}

// prune removes within a transaction.
func (s *Store) prune(ctx context.Context, tx *sql.Tx, l Limits, now time.Time) (more bool, err error) {
	do := func(removed bool, failed error) {
		more = more || removed
		if err == nil {
			err = failed
		}
	}
	if l.Sound > 0 {
		do(removeSounds(ctx, tx, now.Add(-l.Sound)))
	}
	if l.Age > 0 {
		do(s.removeTurns(ctx, tx, now.Add(-l.Age)))
		do(false, removeCalls(ctx, tx, now.Add(-l.Age)))
	}
	if l.Bytes <= 0 || more || err != nil {
		return more, err
	}
	bytes, err := used(ctx, tx)
	if err != nil {
		return false, err
	}
	switch {
	case bytes > l.Bytes:
		s.shrinking = true
	case bytes <= l.Bytes-l.Bytes/20:
		s.shrinking = false
	}
	if !s.shrinking {
		return false, nil
	}
	forever := now.AddDate(100, 0, 0)
	if do(removeSounds(ctx, tx, forever)); !more {
		do(s.removeTurns(ctx, tx, forever))
		do(false, removeCalls(ctx, tx, time.Time{}))
	}
	return more, err
}

// removeSounds removes sound of turns before the given time.
func removeSounds(ctx context.Context, tx *sql.Tx, before time.Time) (removed bool, err error) {
	r, err := tx.ExecContext(ctx, "DELETE FROM sounds WHERE id IN (SELECT id FROM sounds WHERE id < ? ORDER BY id LIMIT ?)", before.UnixMicro(), soundsAtOnce)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// removeTurns removes turns before the given time, with all that belongs to them.
func (s *Store) removeTurns(ctx context.Context, tx *sql.Tx, before time.Time) (removed bool, err error) {
	var last sql.NullInt64
	err = tx.QueryRowContext(ctx, "SELECT max(id) FROM (SELECT id FROM turns WHERE id < ? ORDER BY id LIMIT ?)", before.UnixMicro(), turnsAtOnce).Scan(&last)
	if err != nil || !last.Valid {
		return false, err
	}
	for _, table := range []string{"sounds WHERE id", "words WHERE rowid", "bodies WHERE id", "turns WHERE id", "blocks WHERE last"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" <= ?", last.Int64); err != nil {
			return false, err
		}
	}
	_, err = s.repack(ctx, tx, last.Int64+1)
	return true, err
}

// removeCalls removes calls whose turns are all gone: those that began before the given time, and those that ended before the
// oldest turn that is kept. One whose end nobody told of may still go on.
func removeCalls(ctx context.Context, tx *sql.Tx, before time.Time) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE (id < ?1 OR ended < (SELECT min(id) FROM turns) AND id < (SELECT min(id) FROM turns))
		AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.call = calls.id)`, before.UnixMicro())
	return err
}

// vacuum gives some of the free pages back to the file system, unless they are few: those will be used again. It reports whether
// there are more.
func (s *Store) vacuum(ctx context.Context) (more bool, err error) {
	var free, pages int64
	err = s.db.QueryRowContext(ctx, "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count").Scan(&free, &pages)
	if err != nil {
		return false, fmt.Errorf("measuring the traces: %w", err)
	}
	if free < pages/20 || free < pagesAtOnce {
		return false, nil
	}
	if _, err := s.db.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pagesAtOnce)); err != nil {
		return false, fmt.Errorf("giving room back: %w", err)
	}
	return true, nil
}
