package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// writer writes within one transaction.
type writer struct {
	ctx     context.Context
	tx      *sql.Tx
	names   names
	service int64
	packer  *packer
	calls   map[string]int64 // Rows of calls, by their IDs.
	packed  int64            // The last row of a turn that is in a block,
	late    []int64          // and those that came or changed up to there.

	statements map[string]*sql.Stmt // Prepared ones, by their text.
}

// prepare returns a statement, which is prepared once a transaction.
func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if s := w.statements[query]; s != nil {
		return s, nil
	}
	s, err := w.tx.PrepareContext(w.ctx, query)
	if err != nil {
		return nil, err
	}
	if w.statements == nil {
		w.statements = map[string]*sql.Stmt{}
	}
	w.statements[query] = s
	return s, nil
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.prepare(query)
	if err == nil {
		_, err = s.ExecContext(w.ctx, args...)
	}
	return err
}

// row returns the only number that a query answers with, and whether it answered.
func (w *writer) row(query string, args ...any) (n int64, ok bool, err error) {
	s, err := w.prepare(query)
	if err == nil {
		err = s.QueryRowContext(w.ctx, args...).Scan(&n)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}

func (w *writer) close() {
	for _, s := range w.statements {
		s.Close()
	}
}

// call keeps a call and returns its row.
func (w *writer) call(e entry) (int64, error) {
	c := e.call
	id, known, err := w.row("SELECT id FROM calls WHERE call = ?", c.ID)
	if err != nil {
		return 0, fmt.Errorf("keeping call %s: %w", c.ID, err)
	}
	if !known {
		if id, err = w.free("calls", e.when()); err != nil {
			return 0, fmt.Errorf("keeping call %s: %w", c.ID, err)
		}
	}
	args := []any{id, c.ID}
	for _, n := range []struct {
		kind kind
		text string
	}{{routeName, c.Route}, {wireName, c.Wire}, {versionName, c.Version}, {reasonName, c.Reason}} {
		number, err := w.names.number(w.ctx, w.tx, n.kind, n.text)
		if err != nil {
			return 0, err
		}
		args = append(args, number)
	}
	var ended any
	if !c.Ended.IsZero() {
		ended = c.Ended.UnixMicro()
	}
	var record any
	if c.Record != nil {
		b, err := json.Marshal(c.Record)
		if err != nil {
			return 0, fmt.Errorf("keeping call %s: %w", c.ID, err)
		}
		record = string(b)
	}
	// What ends does not begin again, in whichever order the two are told.
	err = w.exec(`INSERT INTO calls (id, call, route, wire, version, reason, parent, ended, turns, service, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (call) DO UPDATE SET route = excluded.route, wire = excluded.wire, version = excluded.version,
			reason = ifnull(excluded.reason, reason), parent = excluded.parent, ended = ifnull(excluded.ended, ended), turns = max(turns, excluded.turns), service = excluded.service,
			record = CASE WHEN excluded.ended IS NULL AND ended IS NOT NULL THEN record ELSE ifnull(excluded.record, record) END`,
		append(args, sql.NullString{String: c.Parent, Valid: c.Parent != ""}, ended, c.Turns, w.service, record)...)
	if err != nil {
		return 0, fmt.Errorf("keeping call %s: %w", c.ID, err)
	}
	w.calls[c.ID] = id
	return id, nil
}

// callOf returns the row of a turn's call. Where nobody told of the call, it is kept as far as the turn knows it.
func (w *writer) callOf(e entry) (int64, error) {
	if id, ok := w.calls[e.turn.Call]; ok {
		return id, nil
	}
	id, ok, err := w.row("SELECT id FROM calls WHERE call = ?", e.turn.Call)
	if err != nil {
		return 0, fmt.Errorf("keeping turn %s: %w", e.turn.ID, err)
	}
	if ok {
		w.calls[e.turn.Call] = id
		return id, nil
	}
	return w.call(entry{call: &trace.Call{ID: e.turn.Call, Route: e.turn.Route, Version: e.turn.Version, Began: e.when()}, at: e.at})
}

// free returns the first row that is not taken from the moment on.
func (w *writer) free(table string, at time.Time) (int64, error) {
	for id := at.UnixMicro(); ; id++ {
		_, taken, err := w.row("SELECT 1 FROM "+table+" WHERE id = ?", id)
		if err != nil || !taken {
			return id, err
		}
	}
}

// turn keeps a turn.
func (w *writer) turn(e entry) error {
	t := e.turn
	rest, err := w.packer.pack(bodyOf(t))
	if err != nil {
		return fmt.Errorf("packing turn %s: %w", t.ID, err)
	}
	call, err := w.callOf(e)
	if err != nil {
		return err
	}
	id, known, err := w.row("SELECT t.id FROM bodies b JOIN turns t ON t.id = b.id WHERE b.turn = ? AND t.call = ?", t.ID, call)
	if err == nil && known {
		err = w.remove(id)
	} else if err == nil {
		id, err = w.free("turns", e.when())
	}
	if err != nil {
		return fmt.Errorf("keeping turn %s: %w", t.ID, err)
	}
	if id <= w.packed {
		w.late = append(w.late, id)
	}
	args := []any{id, call, t.Number}
	for _, n := range []struct {
		kind kind
		text string
	}{
		{routeName, t.Route}, {versionName, t.Version}, {modelName, t.Models[budget.STT]}, {modelName, t.Models[budget.LLM]}, {modelName, t.Models[budget.TTS]},
		{statusName, t.Status}, {verdictName, string(t.Report.Verdict)}, {stageName, string(t.Report.Blame)}, {originName, string(t.Origin)},
	} {
		number, err := w.names.number(w.ctx, w.tx, n.kind, n.text)
		if err != nil {
			return err
		}
		args = append(args, number)
	}
	args = append(args, t.Report.Plan.Total().Microseconds(), sql.NullInt64{Int64: t.Report.Total.Microseconds(), Valid: t.Report.Total != 0})
	for _, stage := range budget.Stages {
		took, ok := t.Report.Stages[stage]
		args = append(args, sql.NullInt64{Int64: took.Microseconds(), Valid: ok})
	}
	err = errors.Join(
		w.exec(`INSERT INTO turns (id, call, number, route, version, stt, llm, tts, status, verdict, blame, origin, plan, gap, took_mic, took_stt, took_llm, took_tts)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...),
		w.exec("INSERT INTO bodies (id, turn, said, answer, rest) VALUES (?, ?, ?, ?, ?)", id, t.ID, t.Said, t.Answer, rest),
		w.exec("INSERT INTO words (rowid, said, answer) VALUES (?, ?, ?)", id, t.Said, t.Answer),
	)
	if err == nil && t.Sound != nil {
		err = w.exec("INSERT INTO sounds (id, rate, start, begins, caller, answer) VALUES (?, ?, ?, ?, ?, ?)",
			id, t.Sound.Rate, t.Sound.Offset.Microseconds(), sql.NullInt64{Int64: t.Sound.Begins.Microseconds(), Valid: t.Sound.Begins != 0},
			pcm(t.Sound.Caller), pcm(t.Sound.Answer))
	}
	if err != nil {
		return fmt.Errorf("keeping turn %s: %w", t.ID, err)
	}
	return nil
}

// forget throws away what was recorded of a call so far.
func (w *writer) forget(call string) error {
	err := w.exec("DELETE FROM sounds WHERE id IN (SELECT t.id FROM turns t JOIN calls c ON c.id = t.call WHERE c.call = ?)", call)
	if err != nil {
		return fmt.Errorf("forgetting the sound of call %s: %w", call, err)
	}
	return nil
}

// remove forgets a turn.
func (w *writer) remove(id int64) error {
	for _, query := range []string{
		"DELETE FROM sounds WHERE id = ?", "DELETE FROM words WHERE rowid = ?", "DELETE FROM bodies WHERE id = ?", "DELETE FROM turns WHERE id = ?",
	} {
		if err := w.exec(query, id); err != nil {
			return err
		}
	}
	return nil
}
