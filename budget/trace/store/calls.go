package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// CallRow is a call in a list.
type CallRow struct {
	trace.Call
	Kept  int           // Turns that are kept.
	Worst time.Duration // Longest gap among those that have a verdict.
	// Verdicts and Unasked count the kept turns as those of a Group do.
	Verdicts map[budget.Verdict]int
	Unasked  map[trace.Origin]int
}

// CallPage is a part of a list of calls, newest first.
type CallPage struct {
	Calls []CallRow
	Next  Cursor // Where the next page begins; 0 after the last.
}

// Calls returns at most limit of the calls that f takes, from the cursor on. Since and Until are about when the call began, unless f
// says something of turns: then a call is listed when f takes one of its turns.
func (s *Store) Calls(ctx context.Context, f Filter, from Cursor, limit int) (CallPage, error) {
	return s.callPage(ctx, f.calls, from, limit)
}

// CallsOf returns at most limit of the calls of which f takes a turn, from the cursor on.
func (s *Store) CallsOf(ctx context.Context, f Filter, from Cursor, limit int) (CallPage, error) {
	return s.callPage(ctx, f.callsOf, from, limit)
}

// EachCall goes through the calls that Calls lists, newest first. After an error it ends.
func (s *Store) EachCall(ctx context.Context, f Filter) iter.Seq2[trace.Call, error] {
	const page = 200
	return func(yield func(trace.Call, error) bool) {
		for from, more := Cursor(0), true; more; more = from != 0 {
			calls, err := s.Calls(ctx, f, from, page)
			if err != nil {
				yield(trace.Call{}, err)
				return
			}
			for _, c := range calls.Calls {
				if !yield(c.Call, nil) {
					return
				}
			}
			from = calls.Next
		}
	}
}

// callPage returns a page of calls under the condition.
func (s *Store) callPage(ctx context.Context, condition func(map[int64]name) *where, from Cursor, limit int) (CallPage, error) {
	var page CallPage
	known, err := s.byNumber(ctx)
	if err != nil {
		return page, err
	}
	w := condition(known)
	if from != 0 {
		w.and("c.id < ?", int64(from))
	}
	calls, ids, err := s.calls(ctx, known, w.sql()+" ORDER BY c.id DESC LIMIT ?", append(w.args, limit+1)...)
	if err != nil {
		return page, err
	}
	if len(calls) > limit {
		calls, page.Next = calls[:limit], Cursor(ids[limit-1])
	}
	for i, c := range calls {
		row := CallRow{Call: c, Verdicts: map[budget.Verdict]int{}, Unasked: map[trace.Origin]int{}}
		if err := s.judge(ctx, known, ids[i], &row); err != nil {
			return page, err
		}
		page.Calls = append(page.Calls, row)
	}
	return page, nil
}

// judge fills in what the turns of a call say.
func (s *Store) judge(ctx context.Context, known map[int64]name, id int64, row *CallRow) error {
	rows, err := s.db.QueryContext(ctx, "SELECT verdict, origin, gap IS NOT NULL, count(*), max(gap) FROM turns WHERE call = ? GROUP BY 1, 2, 3", id)
	if err != nil {
		return fmt.Errorf("reading the turns of call %s: %w", row.ID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var verdict, origin, worst sql.NullInt64
		var heard bool
		var n int
		if err := rows.Scan(&verdict, &origin, &heard, &n, &worst); err != nil {
			return fmt.Errorf("reading the turns of call %s: %w", row.ID, err)
		}
		row.Kept += n
		switch {
		case verdict.Valid:
			row.Verdicts[budget.Verdict(known[verdict.Int64].text)] += n
			row.Worst = max(row.Worst, micros(worst.Int64))
		case origin.Valid:
			row.Unasked[trace.Origin(known[origin.Int64].text)] += n
		case heard:
			row.Unasked[Unknown] += n
		default:
			row.Verdicts[NoVerdict] += n
		}
	}
	return rows.Err()
}

// calls reads calls, and their rows' IDs.
func (s *Store) calls(ctx context.Context, known map[int64]name, condition string, args ...any) ([]trace.Call, []int64, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, call, route, wire, version, parent, ended, reason, turns, record FROM calls c "+condition, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading calls: %w", err)
	}
	defer rows.Close()
	var calls []trace.Call
	var ids []int64
	for rows.Next() {
		var c trace.Call
		var id int64
		var route, wire, version, ended, reason sql.NullInt64
		var parent sql.NullString
		var record sql.RawBytes
		if err := rows.Scan(&id, &c.ID, &route, &wire, &version, &parent, &ended, &reason, &c.Turns, &record); err != nil {
			return nil, nil, fmt.Errorf("reading calls: %w", err)
		}
		c.Route, c.Wire = known[route.Int64].text, known[wire.Int64].text
		c.Version, c.Reason = known[version.Int64].text, known[reason.Int64].text
		c.Parent, c.Began = parent.String, time.UnixMicro(id)
		if len(record) > 0 {
			if err := json.Unmarshal(record, &c.Record); err != nil {
				return nil, nil, fmt.Errorf("reading the record of call %s: %w", c.ID, err)
			}
		}
		if ended.Valid {
			c.Ended = time.UnixMicro(ended.Int64)
		}
		calls, ids = append(calls, c), append(ids, id)
	}
	return calls, ids, rows.Err()
}

// Call returns the call with this ID, or the only one whose ID begins with it; what all IDs begin with may be left out. The error is an
// *UnknownError.
func (s *Store) Call(ctx context.Context, id string) (trace.Call, error) {
	known, err := s.byNumber(ctx)
	if err != nil {
		return trace.Call{}, err
	}
	beginning := func(id string) ([]trace.Call, error) {
		calls, _, err := s.calls(ctx, known, "WHERE c.call >= ? AND c.call < ? ORDER BY c.call LIMIT 5", id, after(id))
		return calls, err
	}
	calls, err := beginning(id)
	if err == nil && len(calls) == 0 && !strings.HasPrefix(id, callPrefix) {
		calls, err = beginning(callPrefix + id)
	}
	switch {
	case err != nil:
		return trace.Call{}, err
	case len(calls) == 1, len(calls) > 1 && calls[0].ID == id:
		return calls[0], nil
	}
	unknown := &UnknownError{ID: id}
	for _, c := range calls {
		unknown.Nearest = append(unknown.Nearest, c.ID)
	}
	if len(calls) == 0 && !strings.HasPrefix(id, turnPrefix) {
		unknown.Nearest, err = s.nearest(ctx, "calls", "call", callPrefix, id)
	}
	if err != nil {
		return trace.Call{}, err
	}
	return trace.Call{}, unknown
}

// nearest returns the ID in a table that shares the longest beginning with the given one, behind the prefix that all of them have: it is one
// of the two beside which that would stand. Where none shares anything there is none.
func (s *Store) nearest(ctx context.Context, table, column, prefix, id string) ([]string, error) {
	id = prefix + strings.TrimPrefix(id, prefix)
	var near []string
	for _, query := range []string{
		fmt.Sprintf("SELECT %[2]s FROM %[1]s WHERE %[2]s < ? ORDER BY %[2]s DESC LIMIT 1", table, column),
		fmt.Sprintf("SELECT %[2]s FROM %[1]s WHERE %[2]s >= ? ORDER BY %[2]s LIMIT 1", table, column),
	} {
		var other string
		switch err := s.db.QueryRowContext(ctx, query, id).Scan(&other); err {
		case nil:
			near = append(near, other)
		case sql.ErrNoRows:
		default:
			return nil, fmt.Errorf("looking for %s: %w", id, err)
		}
	}
	if len(near) == 2 && common(near[1], id) > common(near[0], id) {
		near[0] = near[1]
	}
	if len(near) == 0 || common(near[0], id) <= len(prefix) {
		return nil, nil
	}
	return near[:1], nil
}

// common returns how many bytes the beginnings of two texts share.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
