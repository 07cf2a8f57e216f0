package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"riposte/budget"
	"riposte/budget/trace"
)

// Turn returns one turn, whole but for its sound. Its ID is that of the response on the wire or the beginning of one, or CALL/NUMBER. The
// error is an *UnknownError where there is none, or more than one.
func (s *Store) Turn(ctx context.Context, id string) (trace.Turn, error) {
	row, err := s.find(ctx, id)
	if err != nil {
		return trace.Turn{}, err
	}
	for t, err := range s.whole(ctx, "WHERE t.id = ?", row) {
		return t, err
	}
	return trace.Turn{}, &UnknownError{ID: id} // removed meanwhile
}

// Each goes through the turns that f takes, whole but for their sound, newest first. After an error it ends.
func (s *Store) Each(ctx context.Context, f Filter) iter.Seq2[trace.Turn, error] {
	return func(yield func(trace.Turn, error) bool) {
		known, err := s.byNumber(ctx)
		if err != nil {
			yield(trace.Turn{}, err)
			return
		}
		w := f.turns(known).within()
		s.whole(ctx, w.sql()+" ORDER BY t.id DESC", w.args...)(yield)
	}
}

// OfCall goes through the turns of the call with exactly this ID, whole but for their sound, in their order.
func (s *Store) OfCall(ctx context.Context, call string) iter.Seq2[trace.Turn, error] {
	return s.whole(ctx, "WHERE c.call = ? ORDER BY t.number, t.id", call)
}

// whole reads turns.
func (s *Store) whole(ctx context.Context, condition string, args ...any) iter.Seq2[trace.Turn, error] {
	return func(yield func(trace.Turn, error) bool) {
		known, err := s.byNumber(ctx)
		if err != nil {
			yield(trace.Turn{}, err)
			return
		}
		rows, err := s.db.QueryContext(ctx, `SELECT t.id, b.turn, c.call, t.number, t.route, t.version, t.stt, t.llm, t.tts, t.status, t.verdict, t.blame, t.origin, t.plan,
				t.gap, t.took_mic, t.took_stt, t.took_llm, t.took_tts, b.said, b.answer, b.rest
			FROM turns t JOIN bodies b ON b.id = t.id JOIN calls c ON c.id = t.call `+condition, args...)
		if err != nil {
			yield(trace.Turn{}, fmt.Errorf("reading turns: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scan(rows, known)
			if err != nil {
				yield(trace.Turn{}, fmt.Errorf("reading turns: %w", err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(trace.Turn{}, fmt.Errorf("reading turns: %w", err))
		}
	}
}

// scan makes a turn of a row.
func scan(rows *sql.Rows, known map[int64]name) (trace.Turn, error) {
	var c columns
	var r Row
	var rest sql.RawBytes
	if err := rows.Scan(append(append([]any{&c.id, &r.ID, &r.Call, &r.Number}, c.targets()...), &r.Said, &r.Answer, &rest)...); err != nil {
		return trace.Turn{}, err
	}
	c.fill(&r, known)
	t := trace.Turn{
		ID: r.ID, Call: r.Call, Number: r.Number, Route: r.Route, Version: r.Version, Origin: r.Origin, Said: r.Said, Answer: r.Answer, Status: r.Status, Models: r.Models,
		Report: budget.Report{Stages: r.Stages, Total: r.Gap, Verdict: r.Verdict, Blame: r.Blame},
	}
	b, err := unpack(rest)
	if err != nil {
		return t, fmt.Errorf("turn %s: %w", r.ID, err)
	}
	b.fill(&t)
	return t, nil
}

// Sound returns what was recorded of a turn, named as for Turn. The error is ErrNoSound where nothing was, or where it is not
// kept any more.
func (s *Store) Sound(ctx context.Context, id string) (*trace.Sound, error) {
	row, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	var sound trace.Sound
	var start int64
	var begins sql.NullInt64
	var caller, answer []byte
	err = s.db.QueryRowContext(ctx, "SELECT rate, start, begins, caller, answer FROM sounds WHERE id = ?", row).Scan(&sound.Rate, &start, &begins, &caller, &answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoSound
	} else if err != nil {
		return nil, fmt.Errorf("reading the sound of %s: %w", id, err)
	}
	sound.Offset, sound.Begins, sound.Caller, sound.Answer = micros(start), micros(begins.Int64), samples(caller), samples(answer)
	return &sound, nil
}

// prefixes of IDs on the wire, which may be left out.
const (
	turnPrefix = "resp_"
	callPrefix = "sess_"
)

// find returns the row of a turn.
func (s *Store) find(ctx context.Context, id string) (int64, error) {
	row, err := s.findExactly(ctx, id)
	unknown, ok := errors.AsType[*UnknownError](err)
	if !ok || len(unknown.Nearest) > 0 || strings.HasPrefix(id, callPrefix) {
		return row, err
	}
	if !strings.HasPrefix(id, turnPrefix) {
		row, err = s.findExactly(ctx, turnPrefix+id)
		if unknown, ok = errors.AsType[*UnknownError](err); !ok {
			return row, err
		}
		unknown.ID = id
	}
	if len(unknown.Nearest) == 0 {
		if unknown.Nearest, err = s.nearest(ctx, "bodies", "turn", turnPrefix, id); err != nil {
			return 0, err
		}
	}
	return 0, unknown
}

// findExactly returns the row of the turn with this ID, or of the only one whose ID begins with it. The error has several that do, or none.
func (s *Store) findExactly(ctx context.Context, id string) (int64, error) {
	if call, number, ok := cutNumber(id); ok {
		var row int64
		err := s.db.QueryRowContext(ctx, "SELECT t.id FROM turns t JOIN calls c ON c.id = t.call WHERE c.call = ? AND t.number = ?", call, number).Scan(&row)
		if err == nil {
			return row, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return 0, fmt.Errorf("looking for %s: %w", id, err)
		}
	}
	rows, err := s.db.QueryContext(ctx, `SELECT b.id, b.turn, c.call, t.number FROM bodies b JOIN turns t ON t.id = b.id JOIN calls c ON c.id = t.call
		WHERE b.turn >= ? AND b.turn < ? ORDER BY b.turn LIMIT 5`, id, after(id))
	if err != nil {
		return 0, fmt.Errorf("looking for %s: %w", id, err)
	}
	defer rows.Close()
	unknown := &UnknownError{ID: id}
	var found, exact []int64
	var twins []string // Turns that have this very ID, by call and number.
	for rows.Next() {
		var row int64
		var turn, call string
		var number int
		if err := rows.Scan(&row, &turn, &call, &number); err != nil {
			return 0, fmt.Errorf("looking for %s: %w", id, err)
		}
		found, unknown.Nearest = append(found, row), append(unknown.Nearest, turn)
		if turn == id {
			exact, twins = append(exact, row), append(twins, fmt.Sprintf("%s/%d", call, number))
		}
	}
	switch {
	case rows.Err() != nil:
		return 0, fmt.Errorf("looking for %s: %w", id, rows.Err())
	case len(exact) == 1:
		return exact[0], nil
	case len(exact) > 1:
		unknown.Nearest = twins
	case len(found) == 1:
		return found[0], nil
	}
	return 0, unknown
}

// cutNumber splits CALL/NUMBER.
func cutNumber(id string) (call string, number int, ok bool) {
	i := strings.LastIndexByte(id, '/')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(id[i+1:])
	return id[:i], number, err == nil
}

// samples returns 16-bit PCM as numbers.
func samples(b []byte) []int16 {
	out := make([]int16, len(b)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return out
}

// pcm returns 16-bit PCM as bytes.
func pcm(samples []int16) []byte {
	out := make([]byte, 0, 2*len(samples))
	for _, s := range samples {
		out = binary.LittleEndian.AppendUint16(out, uint16(s))
	}
	return out
}
