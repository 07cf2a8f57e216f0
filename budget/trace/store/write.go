package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"riposte/budget/trace"
)

// entry is one thing to be kept: a call that began or ended, or a turn; or the ID of a call whose sound is not to be kept.
type entry struct {
	call   *trace.Call
	turn   *trace.Turn
	forget string
	at     time.Time // When it came.
	size   int       // Bytes of memory, about.
}

// when returns what the entry's row is ordered by.
func (e entry) when() time.Time {
	switch {
	case e.turn != nil && !e.turn.Report.SpeechEnd.IsZero():
		return e.turn.Report.SpeechEnd
	case e.call != nil && !e.call.Began.IsZero():
		return e.call.Began
	}
	return e.at
}

// WriteCall keeps a call, in the place of what was kept of it before.
func (s *Store) WriteCall(ctx context.Context, c trace.Call) error {
	return s.writeAll(ctx, []entry{{call: &c, at: time.Now()}})
}

// WriteTurns keeps turns, each in the place of what was kept of it before.
func (s *Store) WriteTurns(ctx context.Context, turns ...trace.Turn) error {
	entries := make([]entry, len(turns))
	for i := range turns {
		entries[i] = entry{turn: &turns[i], at: time.Now()}
	}
	return s.writeAll(ctx, entries)
}

// writeAll keeps all entries, or none.
func (s *Store) writeAll(ctx context.Context, entries []entry) (err error) {
	s.write.Lock()
	defer s.write.Unlock()
	present := s.seen
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keeping traces: %w", err)
	}
	defer func() {
		if err != nil {
			s.seen = present
			s.names = nil // some of them may have been kept in this transaction
			err = undo(tx, err)
		}
	}()
	if s.names == nil {
		s.names = names{}
	}
	if !s.seen { // before its first call is there
		if err = s.present(ctx, tx, time.Now()); err != nil {
			return fmt.Errorf("keeping the state of the service: %w", err)
		}
	}
	// The index of words wants its rows in their order.
	ordered := slices.SortedStableFunc(slices.Values(entries), func(a, b entry) int { return a.when().Compare(b.when()) })
	w := writer{ctx: ctx, tx: tx, names: s.names, service: s.service, packer: &s.packer, calls: map[string]int64{}}
	defer w.close()
	if w.packed, err = packed(ctx, tx, math.MaxInt64); err != nil {
		return fmt.Errorf("keeping traces: %w", err)
	}
	for _, e := range ordered {
		switch {
		case e.forget != "":
			err = w.forget(e.forget)
		case e.call != nil:
			_, err = w.call(e)
		default:
			s.spare--
			err = w.turn(e)
		}
		if err != nil {
			return err
		}
	}
	if err = s.repackAll(ctx, tx, w.late); err != nil {
		return err
	}
	if s.spare <= 0 {
		if err = s.pack(ctx, tx); err != nil {
			return err
		}
	}
	if err = tx.Commit(); err != nil {
		return fmt.Errorf("keeping traces: %w", err)
	}
	return nil
}
