package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// migrations bring a file from each version to the next. The version of a file is how many have been done; it stands in
// user_version. What is released is never changed, only added to.
var migrations = [...]string{first, second, third, services, records}

// first lays the tables out. What is scanned by the hundred thousand is narrow (turns: some 80 bytes a turn), and what is read one at a time
// is apart (bodies).
const first = `
-- What many turns have in common is kept once: routes, versions, models, verdicts, stages.
CREATE TABLE names (
	id   INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	UNIQUE (kind, name)
) STRICT;

CREATE TABLE calls (
	id      INTEGER PRIMARY KEY, -- When it began, in microseconds since 1970; one more where that is taken.
	call    TEXT NOT NULL UNIQUE,
	route   INTEGER REFERENCES names,
	wire    INTEGER REFERENCES names,
	version INTEGER REFERENCES names,
	parent  TEXT,    -- W3C traceparent.
	ended   INTEGER, -- Microseconds since 1970; NULL while it goes on.
	reason  INTEGER REFERENCES names,
	turns   INTEGER NOT NULL
) STRICT;

-- Times are microseconds.
CREATE TABLE turns (
	id       INTEGER PRIMARY KEY, -- The end of speech, since 1970; one more where that is taken. So lists are in order without an index.
	call     INTEGER NOT NULL REFERENCES calls,
	number   INTEGER NOT NULL,
	route    INTEGER REFERENCES names,
	version  INTEGER REFERENCES names,
	stt      INTEGER REFERENCES names, -- Models.
	llm      INTEGER REFERENCES names,
	tts      INTEGER REFERENCES names,
	status   INTEGER REFERENCES names,
	verdict  INTEGER REFERENCES names,
	blame    INTEGER REFERENCES names,
	plan     INTEGER NOT NULL, -- The total that was planned.
	gap      INTEGER,          -- NULL where nothing was answered aloud.
	took_mic INTEGER,
	took_stt INTEGER,
	took_llm INTEGER,
	took_tts INTEGER
) STRICT;
CREATE INDEX turns_of_calls ON turns (call, number);

CREATE TABLE bodies (
	id     INTEGER PRIMARY KEY REFERENCES turns,
	turn   TEXT NOT NULL, -- Its ID on the wire, which two wires might give twice.
	said   TEXT NOT NULL,
	answer TEXT NOT NULL,
	rest   BLOB NOT NULL  -- A byte that tells how, and then JSON, deflated.
) STRICT;
CREATE INDEX bodies_by_turn ON bodies (turn);

CREATE TABLE sounds (
	id     INTEGER PRIMARY KEY REFERENCES turns,
	rate   INTEGER NOT NULL, -- Hz.
	start  INTEGER NOT NULL, -- Where the answer begins in it.
	caller BLOB NOT NULL,    -- 16-bit PCM, little-endian, mono.
	answer BLOB NOT NULL
) STRICT;

-- The words of said and answer; their text is not kept a second time.
CREATE VIRTUAL TABLE words USING fts5 (said, answer, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
`

// second adds what statistics are made of in little room, and when recorded sound begins.
const second = `
CREATE TABLE blocks (
	last    INTEGER PRIMARY KEY, -- Of the rows in turns that are in it: all those after the block before.
	figures BLOB NOT NULL        -- A byte that tells how, and then numbers.
) STRICT;
ALTER TABLE sounds ADD COLUMN begins INTEGER; -- Since the end of speech; NULL where nobody knows.
`

// third adds what turns answer. Blocks are packed in another way since, with that and with what was planned.
const third = `
ALTER TABLE turns ADD COLUMN origin INTEGER REFERENCES names; -- NULL where that was said aloud.
DELETE FROM blocks;
`

// records adds what calls come to.
const records = `
ALTER TABLE calls ADD COLUMN record TEXT; -- JSON; NULL where nobody counted.
`

// migrate brings the file up to date. Two processes may do it at once: each step holds the file's lock.
func (s *Store) migrate(ctx context.Context) error {
	for {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return plain(err)
		}
		version, err := version(ctx, tx)
		switch {
		case err != nil:
			return undo(tx, err)
		case version > len(migrations):
			return undo(tx, ErrNewer)
		case version == len(migrations):
			return tx.Rollback()
		}
		if _, err = tx.ExecContext(ctx, migrations[version]); err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version+1))
		}
		if err != nil {
			return undo(tx, fmt.Errorf("bringing version %d up to date: %w", version, err))
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
}

// undo rolls a transaction back that failed with err, and returns err. Where SQLite or the end of a context has done so already, that is
// no failure of its own.
func undo(tx *sql.Tx, err error) error {
	if failed := tx.Rollback(); failed != nil && !errors.Is(failed, sql.ErrTxDone) {
		return errors.Join(err, failed)
	}
	return err
}

// version returns how many migrations the file has had.
func version(ctx context.Context, db asker) (int, error) {
	var n int
	err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, plain(err)
}

// plain says what SQLite means by its most frequent complaint about a file.
func plain(err error) error {
	if err != nil && strings.Contains(err.Error(), "not a database") {
		return fmt.Errorf("this is no file of traces: %w", err)
	}
	return err
}
