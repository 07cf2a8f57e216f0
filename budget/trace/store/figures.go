package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"riposte/budget"
)

// figures are the numbers of a turn: those that statistics are made of, and those by which filters choose.
type figures struct {
	id, call int64
	names    [9]int64                      // By their numbers, 0 for none, in the order of the columns below.
	times    [1 + len(budget.Stages)]int64 // Microseconds, 0 or more: the gap, and what each stage took. missing where there was none.
	plan     int64                         // Microseconds: what the gap might be.
}

// The names in figures.
const (
	routeFigure = iota
	versionFigure
	sttFigure
	llmFigure
	ttsFigure
	statusFigure
	verdictFigure
	blameFigure
	originFigure
)

// missing is the time of what did not come to its end.
const missing = -1

// figureColumns are those of turns, in the order of the figures.
const figureColumns = `t.id, t.call, t.route, t.version, t.stt, t.llm, t.tts, t.status, t.verdict, t.blame, t.origin, t.gap, t.took_mic, t.took_stt, t.took_llm, t.took_tts, t.plan`

// figures reads those of the turns after one row, up to another, in their order.
func (s *Store) figures(ctx context.Context, db asker, after, upTo int64) ([]figures, error) {
	var all []figures
	number, done := s.connector.gatherer(func(row []driver.Value) { all = append(all, figuresOf(row)) })
	defer done()
	var n int
	err := db.QueryRowContext(ctx, "SELECT gather(?, "+figureColumns+") FROM turns t WHERE t.id > ? AND t.id <= ?", number, after, upTo).Scan(&n)
	if err != nil {
		return nil, fmt.Errorf("reading the figures of turns: %w", err)
	}
	return all, nil
}

// figuresOf makes figures of a row.
func figuresOf(row []driver.Value) figures {
	var f figures
	f.id, _ = row[0].(int64)
	f.call, _ = row[1].(int64)
	for i := range f.names {
		f.names[i], _ = row[2+i].(int64)
	}
	for i := range f.times {
		if took, ok := row[2+len(f.names)+i].(int64); ok {
			f.times[i] = min(max(took, 0), math.MaxUint32) // more than an hour is an hour
		} else {
			f.times[i] = missing
		}
	}
	f.plan, _ = row[2+len(f.names)+len(f.times)].(int64)
	return f
}

// inVarints is the first byte of packed figures that are numbers of varying length: the row since the one before, how long after its call's row it
// is, the names, the times, one more each, and what was planned. Another way is another byte; 1 had neither origins nor plans.
const inVarints = 2

// errDamaged reports packed figures that are none.
var errDamaged = errors.New("the packed figures of turns are damaged")

// packFigures returns figures, which are in the order of their rows, in some 30 bytes a turn.
func packFigures(all []figures) []byte {
	b := make([]byte, 1, 32*len(all)+1)
	b[0] = inVarints
	before := int64(0)
	for i := range all {
		f := &all[i]
		b = binary.AppendUvarint(b, uint64(f.id-before))
		b = binary.AppendVarint(b, f.id-f.call)
		before = f.id
		for _, n := range f.names {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, t := range f.times {
			b = binary.AppendUvarint(b, uint64(t-missing))
		}
		b = binary.AppendUvarint(b, uint64(f.plan))
	}
	return b
}

// unpackFigures calls each with what was packed, until that returns false. The figures are valid during the call only.
func unpackFigures(b []byte, each func(*figures) bool) error {
	if len(b) == 0 || b[0] != inVarints {
		return fmt.Errorf("%w, or packed in a way that this version does not know", errDamaged)
	}
	b = b[1:]
	ok := true
	next := func() int64 {
		if len(b) > 0 && b[0] < 0x80 { // as most are
			n := b[0]
			b = b[1:]
			return int64(n)
		}
		n, size := binary.Uvarint(b)
		if size <= 0 {
			ok, b = false, nil
			return 0
		}
		b = b[size:]
		return int64(n)
	}
	var f figures
	for len(b) > 0 {
		f.id += next()
		late := uint64(next())
		f.call = f.id - (int64(late>>1) ^ -int64(late&1)) // zigzag, as AppendVarint has it
		for i := range f.names {
			f.names[i] = next()
		}
		for i := range f.times {
			f.times[i] = next() + missing
		}
		f.plan = next()
		if !ok {
			return errDamaged
		}
		if !each(&f) {
			return nil
		}
	}
	return nil
}
