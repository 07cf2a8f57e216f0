// Package store keeps calls and their turns in an SQLite file, and answers questions about them. A Recorder writes, off the
// way of the calls; any number of processes may read at the same time.
//
// What to ask:
//
//   - Store.Turns and Store.Calls list, newest first, a page at a time.
//   - Store.Turn, Store.Call and Store.Sound return one, whole; Store.Each goes through many.
//   - Store.Stats gives exact percentiles of the gap and of each stage, over time and by model, route or version.
//   - Store.Compare sets two sets side by side.
//   - Store.Names says what filters can name.
//
// All of them take a Filter, which has a textual form for command lines and addresses of pages.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Store is one file of calls and turns. It is safe for use by several goroutines. Times are kept in whole microseconds.
type Store struct {
	path      string
	opened    os.FileInfo // What was at path when a store that may write was opened.
	db        *sql.DB
	connector *connector
	service   int64 // Whose calls it keeps: a number at random, for each time that a file is opened to be written.

	write  sync.Mutex // Held by whoever writes: one transaction at a time.
	names  names      // Under write.
	packer packer     // Under write.
	spare  int        // Under write. How many more turns may come before it is looked whether some are to be put into blocks.
	seen   bool       // Under write. Whether this service has said that it is there.

	shrinking bool // Under write. The bytes were over their limit, and are not yet well below it.
}

// Open opens the file at path to read and to write, and makes it and its folder where they are missing; only their owner may
// read them, since they hold what people said. A file of an older version is brought up to date. The error is ErrNewer for
// one of a newer version.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("opening the traces: %w", err)
	}
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return nil, fmt.Errorf("opening the traces: %w: %s", ErrNoFile, path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would let everybody read it
	if err != nil {
		return nil, fmt.Errorf("opening the traces: %w", err)
	}
	opened, err := f.Stat()
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("opening the traces: %w", err)
	}
	// A commit waits for the kernel and not for the disk: a process that is killed loses nothing of it, and a machine that
	// loses its power may lose the last moments. Neither leaves a file that is corrupt.
	s, err := open(path, url.Values{
		"_auto_vacuum": {"incremental"}, "_journal_mode": {"wal"}, "_synchronous": {"normal"}, "_txlock": {"immediate"},
		"_pragma": {"journal_size_limit(16777216)", "secure_delete(fast)"},
	})
	if err != nil {
		return nil, err
	}
	s.opened, s.service = opened, rand.Int64()
	if err := s.migrate(ctx); err != nil {
		s.db.Close()
		return nil, fmt.Errorf("opening the traces in %s: %w", path, err)
	}
	return s, nil
}

// OpenReader opens the file at path to read, while another process may write to it. The error is ErrNone where there is no
// file, ErrNoFile where there is a folder or the like, ErrEmpty where nothing was ever kept in it, and ErrOlder or ErrNewer for one of
// another version.
func OpenReader(ctx context.Context, path string) (*Store, error) {
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrNone, path)
	case err != nil:
		return nil, fmt.Errorf("opening the traces: %w", err)
	case !at.Mode().IsRegular():
		return nil, fmt.Errorf("opening the traces: %w: %s", ErrNoFile, path)
	}
	s, err := open(path, url.Values{"mode": {"ro"}})
	if err != nil {
		return nil, err
	}
	version, err := version(ctx, s.db)
	switch {
	case err == nil && version == 0:
		err = ErrEmpty
	case err == nil && version < len(migrations):
		err = ErrOlder
	case err == nil && version > len(migrations):
		err = ErrNewer
	}
	if err != nil {
		s.db.Close()
		return nil, fmt.Errorf("opening the traces in %s: %w", path, err)
	}
	return s, nil
}

// patience is how long a transaction waits for another process to end its own.
const patience = 5 * time.Second

func open(path string, options url.Values) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the traces: %w", err)
	}
	options.Set("_busy_timeout", fmt.Sprint(patience.Milliseconds()))
	options.Set("_error_rc", "1")
	c, err := newConnector("file:" + (&url.URL{Path: absolute}).EscapedPath() + "?" + options.Encode())
	if err != nil {
		return nil, fmt.Errorf("opening the traces: %w", err)
	}
	s := &Store{path: absolute, db: sql.OpenDB(c), connector: c}
	s.db.SetMaxOpenConns(4) // A page asks several questions at once; each connection has a cache of 2 MB.
	return s, nil
}

// Path returns where the file is.
func (s *Store) Path() string { return s.path }

// replaced reports whether something else than the opened file is at its path now, or nothing: then what is written reaches nobody. It does
// not open the file, since to close it again would give up the locks that SQLite holds on it.
func (s *Store) replaced() bool {
	at, err := os.Stat(s.path)
	return err != nil || !os.SameFile(s.opened, at) || at.Size() < header
}

// header is how long the shortest SQLite file is, in bytes. A file that is shorter was written over in its place.
const header = 512

// Close closes the file. Nobody may use the store any more.
func (s *Store) Close() error { return s.db.Close() }

// Size is how much is kept.
type Size struct {
	Turns, Calls int
	Bytes        int64 // Of the pages in use: free ones are used again.
}

// Size counts what is kept.
func (s *Store) Size(ctx context.Context) (Size, error) {
	var z Size
	err := s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM calls)").Scan(&z.Turns, &z.Calls)
	if err != nil {
		return z, fmt.Errorf("counting the traces: %w", err)
	}
	z.Bytes, err = used(ctx, s.db)
	return z, err
}

// asker is a database or a transaction in one.
type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// used returns the bytes of the pages in use.
func used(ctx context.Context, db asker) (int64, error) {
	var bytes int64
	err := db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("measuring the traces: %w", err)
	}
	return bytes, nil
}
