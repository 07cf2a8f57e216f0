package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// services adds whose calls a file keeps, so that one can tell which of them nobody will end any more.
const services = `
CREATE TABLE services (
	id   INTEGER PRIMARY KEY, -- At random, for each time that the file was opened to be written.
	seen INTEGER NOT NULL     -- When it last said that it is there, in microseconds since 1970.
) STRICT;
ALTER TABLE calls ADD COLUMN service INTEGER; -- Which of the services told of it last; NULL before there was this table.
CREATE INDEX calls_without_end ON calls (service) WHERE ended IS NULL;
`

// Lost is the reason for which calls ended whose service was killed, or lost its power, before it could say how they ended.
const Lost = "lost"

// silence is after how long a service that does not say that it is there is taken for gone. That is some four times pulse.
const silence = time.Minute

// beat says that this service is there, and ends the calls of those that are gone. Several services may write to the same file.
func (s *Store) beat(ctx context.Context, now time.Time) (err error) {
	s.write.Lock()
	defer s.write.Unlock()
	present := s.seen
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keeping the state of the service: %w", err)
	}
	defer func() {
		if err != nil {
			s.seen = present
			s.names = nil // one may have been kept in this transaction
			err = undo(tx, err)
		}
	}()
	if err = s.present(ctx, tx, now); err == nil {
		err = s.bury(ctx, tx, now)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("keeping the state of the service: %w", err)
	}
	return nil
}

// present says that this service is there. Another may have taken it for gone, such as when this one was stopped for long: then what that one
// said of its calls is taken back.
func (s *Store) present(ctx context.Context, tx *sql.Tx, now time.Time) error {
	known := s.seen
	s.seen = true
	done, err := tx.ExecContext(ctx, "UPDATE services SET seen = ? WHERE id = ?", now.UnixMicro(), s.service)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO services (id, seen) VALUES (?, ?)", s.service, now.UnixMicro()); err != nil || !known {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE calls SET ended = NULL, reason = NULL
		WHERE service = ? AND reason = (SELECT id FROM names WHERE kind = ? AND name = ?)`, s.service, reasonName, Lost)
	return err
}

// bury ends the calls of services that are gone, when the last was heard of them.
func (s *Store) bury(ctx context.Context, tx *sql.Tx, now time.Time) error {
	before := now.Add(-silence).UnixMicro()
	const gone = "ended IS NULL AND (service IS NULL OR service NOT IN (SELECT id FROM services WHERE seen >= ?))"
	var some bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM calls WHERE "+gone+")", before).Scan(&some); err != nil {
		return err
	}
	if some {
		if s.names == nil {
			s.names = names{}
		}
		lost, err := s.names.number(ctx, tx, reasonName, Lost)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE calls SET reason = ?,
				ended = max(id, ifnull((SELECT max(turns.id) FROM turns WHERE turns.call = calls.id), 0), ifnull((SELECT seen FROM services WHERE services.id = service), 0)),
				turns = max(turns, (SELECT count(*) FROM turns WHERE turns.call = calls.id))
			WHERE `+gone, lost, before)
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM services WHERE seen < ?", before)
	return err
}
