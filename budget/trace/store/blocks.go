package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Blocks hold the figures of many turns at once, packed: to go through 200,000 rows of turns costs several times what it costs to unpack
// 200 blocks. A block holds all turns after the last one of the block before, up to its own last one. The newest turns are in none.

// inBlock is how many turns a block holds. So many or more stay loose: turns come in nearly the order of their ends, and what comes late
// for a block has it packed again.
const inBlock = 1024

// blocksAtOnce is how many blocks are packed within a transaction: some tens of milliseconds.
const blocksAtOnce = 8

// packed returns the last row that is in a block, before the limit; one that is before all where there is none.
func packed(ctx context.Context, tx *sql.Tx, limit int64) (int64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT ifnull(max(last), ?) FROM blocks WHERE last < ?", math.MinInt64, limit).Scan(&last)
	return last, err
}

// pack puts loose turns into blocks, where there are enough of them.
func (s *Store) pack(ctx context.Context, tx *sql.Tx) error {
	for range blocksAtOnce {
		after, err := packed(ctx, tx, math.MaxInt64)
		if err != nil {
			return fmt.Errorf("packing figures: %w", err)
		}
		var last, beyond sql.NullInt64
		err = tx.QueryRowContext(ctx, `SELECT (SELECT id FROM turns WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2), (SELECT id FROM turns WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?3)`,
			after, inBlock-1, 2*inBlock-1).Scan(&last, &beyond)
		if err != nil {
			return fmt.Errorf("packing figures: %w", err)
		}
		if !beyond.Valid {
			s.spare = inBlock
			return nil
		}
		if err := s.packRange(ctx, tx, after, last.Int64); err != nil {
			return err
		}
	}
	return nil
}

// packRange puts the turns after one row, up to another, into blocks.
func (s *Store) packRange(ctx context.Context, tx *sql.Tx, after, upTo int64) error {
	all, err := s.figures(ctx, tx, after, upTo)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(all, inBlock) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO blocks (last, figures) VALUES (?, ?)", part[len(part)-1].id, packFigures(part)); err != nil {
			return fmt.Errorf("packing figures: %w", err)
		}
	}
	return nil
}

// repack packs the block anew to which a row belongs, since its turns are others now. It returns the last row that was in it, the row
// itself where it belongs to none.
func (s *Store) repack(ctx context.Context, tx *sql.Tx, id int64) (int64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT last FROM blocks WHERE last >= ? ORDER BY last LIMIT 1", id).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	var after int64
	if err == nil {
		after, err = packed(ctx, tx, last)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM blocks WHERE last = ?", last)
	}
	if err != nil {
		return 0, fmt.Errorf("packing figures again: %w", err)
	}
	return last, s.packRange(ctx, tx, after, last)
}

// repackAll does so for many rows.
func (s *Store) repackAll(ctx context.Context, tx *sql.Tx, ids []int64) error {
	slices.Sort(ids)
	done := int64(math.MinInt64)
	for _, id := range ids {
		if id <= done {
			continue
		}
		var err error
		if done, err = s.repack(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// eachFigures goes through the figures of the turns from one moment on and before another, in their order. The figures are valid during the
// call only.
func (s *Store) eachFigures(ctx context.Context, tx *sql.Tx, since, before int64, each func(*figures)) error {
	inside := func(f *figures) bool {
		if f.id >= since && f.id < before {
			each(f)
		}
		return f.id < before
	}
	rows, err := tx.QueryContext(ctx, "SELECT last, figures FROM blocks WHERE last >= ? ORDER BY last", since)
	if err != nil {
		return fmt.Errorf("reading the figures of turns: %w", err)
	}
	defer rows.Close()
	last := since - 1
	for last < before-1 && rows.Next() {
		var block sql.RawBytes
		if err := rows.Scan(&last, &block); err != nil {
			return fmt.Errorf("reading the figures of turns: %w", err)
		}
		if err := unpackFigures(block, inside); err != nil {
			return fmt.Errorf("the block that ends with %d: %w", last, err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("reading the figures of turns: %w", err)
	}
	if last >= before-1 {
		return nil
	}
	loose, err := s.figures(ctx, tx, last, before-1)
	for i := range loose {
		each(&loose[i])
	}
	return err
}
