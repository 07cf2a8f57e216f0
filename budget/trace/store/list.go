package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Cursor is a place in a list: what comes after it is older. The zero Cursor is before the newest.
type Cursor int64

// Row is a turn in a list.
type Row struct {
	ID       string
	Call     string
	Number   int
	At       time.Time // The end of the caller's speech.
	Route    string
	Version  string
	Models   map[budget.Stage]string // Of the stages that have one.
	Status   string
	Verdict  budget.Verdict
	Blame    budget.Stage
	Plan     time.Duration // The total that was planned.
	Gap      time.Duration // 0 where nothing was answered aloud.
	Stages   map[budget.Stage]time.Duration
	Origin   trace.Origin // What it answers.
	Said     string       // As trace.Turn has it.
	Answer   string
	Recorded bool // There is sound.
}

// TurnPage is a part of a list of turns, newest first.
type TurnPage struct {
	Turns []Row
	Next  Cursor // Where the next page begins; 0 after the last.
}

// Turns returns at most limit of the turns that f takes, from the cursor on. What is added meanwhile does not move the pages.
func (s *Store) Turns(ctx context.Context, f Filter, from Cursor, limit int) (TurnPage, error) {
	var page TurnPage
	known, err := s.byNumber(ctx)
	if err != nil {
		return page, err
	}
	w := f.turns(known)
	if from != 0 {
		w.and("t.id < ?", int64(from))
	}
	source := "turns t"
	if w.match != "" { // Its index is in the order of the list, so the search can end with the page.
		source = "words JOIN turns t ON t.id = words.rowid"
		w.and("words MATCH ?", w.match)
	}
	rows, err := s.db.QueryContext(ctx, `SELECT t.id, b.turn, c.call, t.number, t.route, t.version, t.stt, t.llm, t.tts, t.status, t.verdict, t.blame, t.origin, t.plan,
			t.gap, t.took_mic, t.took_stt, t.took_llm, t.took_tts, b.said, b.answer, EXISTS (SELECT 1 FROM sounds WHERE sounds.id = t.id)
		FROM `+source+` JOIN bodies b ON b.id = t.id JOIN calls c ON c.id = t.call
		`+w.sql()+` ORDER BY `+w.order()+` DESC LIMIT ?`, append(w.args, limit+1)...)
	if err != nil {
		return page, fmt.Errorf("listing turns: %w", err)
	}
	defer rows.Close()
	var last Cursor
	for rows.Next() {
		if len(page.Turns) == limit {
			page.Next = last
			break
		}
		var c columns
		var r Row
		if err := rows.Scan(append(append([]any{&c.id, &r.ID, &r.Call, &r.Number}, c.targets()...), &r.Said, &r.Answer, &r.Recorded)...); err != nil {
			return page, fmt.Errorf("listing turns: %w", err)
		}
		c.fill(&r, known)
		last = Cursor(c.id)
		page.Turns = append(page.Turns, r)
	}
	return page, rows.Err()
}

// columns are those of a turn that lists and turns alike are made of.
type columns struct {
	id                                                            int64
	route, version, stt, llm, tts, status, verdict, blame, origin sql.NullInt64
	plan                                                          int64
	gap                                                           sql.NullInt64
	took                                                          [len(budget.Stages)]sql.NullInt64
}

// targets returns where to scan all but the ID, in the order of the columns.
func (c *columns) targets() []any {
	out := []any{&c.route, &c.version, &c.stt, &c.llm, &c.tts, &c.status, &c.verdict, &c.blame, &c.origin, &c.plan, &c.gap}
	for i := range c.took {
		out = append(out, &c.took[i])
	}
	return out
}

// fill writes to r what the columns say.
func (c *columns) fill(r *Row, known map[int64]name) {
	text := func(id sql.NullInt64) string { return known[id.Int64].text }
	r.At = time.UnixMicro(c.id)
	r.Route, r.Version, r.Status = text(c.route), text(c.version), text(c.status)
	r.Verdict, r.Blame = budget.Verdict(text(c.verdict)), budget.Stage(text(c.blame))
	r.Origin = trace.Origin(text(c.origin))
	r.Plan, r.Gap = micros(c.plan), micros(c.gap.Int64)
	r.Models = map[budget.Stage]string{}
	for stage, id := range map[budget.Stage]sql.NullInt64{budget.STT: c.stt, budget.LLM: c.llm, budget.TTS: c.tts} {
		if id.Valid {
			r.Models[stage] = text(id)
		}
	}
	r.Stages = map[budget.Stage]time.Duration{}
	for i, stage := range budget.Stages {
		if c.took[i].Valid {
			r.Stages[stage] = micros(c.took[i].Int64)
		}
	}
}

// micros returns so many microseconds.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
