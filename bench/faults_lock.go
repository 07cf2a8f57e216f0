package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // The driver "sqlite".

	"riposte/budget/trace/store"
)

// LockedFile is a file of traces that somebody else can hold locked, so that whoever wants to write to it waits, fails, and tries
// again: what a disk looks like that takes nothing. It can be read meanwhile.
type LockedFile struct {
	Path string

	db   *sql.DB
	conn *sql.Conn
}

var _ Disk = (*LockedFile)(nil)

// Block locks the file. It waits up to ten seconds for whoever is writing.
func (f *LockedFile) Block(ctx context.Context) (err error) {
	if f.db, err = sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)", f.Path, (10*time.Second).Milliseconds())); err != nil {
		return fmt.Errorf("locking the traces: %w", err)
	}
	if f.conn, err = f.db.Conn(ctx); err == nil {
		_, err = f.conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("locking the traces: %w", err), f.close())
	}
	return nil
}

// Free unlocks it.
func (f *LockedFile) Free() error {
	_, err := f.conn.ExecContext(context.Background(), "ROLLBACK")
	return errors.Join(err, f.close())
}

func (f *LockedFile) close() (err error) {
	if f.conn != nil {
		err = f.conn.Close()
	}
	err = errors.Join(err, f.db.Close())
	f.db, f.conn = nil, nil
	return err
}

// Kept returns how many turns are in the file; none, where there is no file yet.
func (f *LockedFile) Kept(ctx context.Context) (int, error) {
	s, err := store.OpenReader(ctx, f.Path)
	if errors.Is(err, store.ErrNone) || errors.Is(err, store.ErrOlder) || errors.Is(err, store.ErrEmpty) { // it is being made
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	z, err := s.Size(ctx)
	return z.Turns, errors.Join(err, s.Close())
}
