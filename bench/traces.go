package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

// Traces measures how traces are kept and found, in a file of its own.
type Traces struct {
	Turns int // How many are kept. At least 1000.
	Runs  int // How often each question is asked.
	Seed  uint64
}

// TracesResult is what was measured.
type TracesResult struct {
	About
	Turns        int     `json:"turns"`
	BytesPerTurn float64 `json:"bytes_per_turn"`
	Write        float64 `json:"write_us_per_turn"` // By the recorder's goroutine, until all are in the file.
	Hand         float64 `json:"hand_us_per_turn"`  // What a call pays.
	List         Median  `json:"list_ms"`
	Filter       Median  `json:"filter_ms"` // One that no turn passes: all have to be looked at.
	Text         Median  `json:"text_ms"`
	Percentiles  Median  `json:"percentiles_ms"`
	ByHour       Median  `json:"by_hour_and_model_ms"`
	ByWord       Median  `json:"percentiles_of_a_word_ms"` // Of turns in which a frequent word is.
	Compare      Median  `json:"compare_ms"`
	Failed       int     `json:"failed"` // Turns that were dropped.
}

// Median is of several measurements, with the longest. Times are milliseconds.
type Median struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
}

// Run measures.
func (b Traces) Run(ctx context.Context) (TracesResult, error) {
	r := TracesResult{About: about(b.Seed), Turns: b.Turns}
	if b.Turns < 1000 || b.Runs < 1 {
		return r, fmt.Errorf("%d turns and %d runs are too few: it takes 1000 and one", b.Turns, b.Runs)
	}
	dir, err := os.MkdirTemp("", "riposte-traces-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	turns := sample.New(b.Seed, time.Now().Add(-time.Duration(b.Turns)*8*time.Second)).Turns(b.Turns)
	s, err := r.fill(ctx, filepath.Join(dir, "traces.db"), turns)
	if err != nil {
		return r, err
	}
	defer s.Close()
	err = r.ask(ctx, s, turns, b.Runs)
	r.Machine = r.Machine.after()
	return r, err
}

// fill keeps the turns, and measures what that takes.
func (r *TracesResult) fill(ctx context.Context, path string, turns []trace.Turn) (*store.Store, error) {
	recorder := &store.Recorder{Path: path, MaxEntries: len(turns), MaxBytes: 1 << 40, Grace: time.Hour}
	recorder.Start()
	began := time.Now()
	for _, t := range turns {
		recorder.TurnEnded(t)
	}
	r.Hand = ms(time.Since(began)) * 1000 / float64(len(turns))
	if err := recorder.Close(); err != nil {
		return nil, err
	}
	r.Write = ms(time.Since(began)) * 1000 / float64(len(turns))
	r.Failed = recorder.Drops().Turns
	s, err := store.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	size, err := s.Size(ctx)
	if err != nil {
		return nil, err
	}
	r.BytesPerTurn = float64(size.Bytes) / float64(size.Turns)
	return s, nil
}

// ask asks what people ask, and measures how long the answers take.
func (r *TracesResult) ask(ctx context.Context, s *store.Store, turns []trace.Turn, runs int) error {
	list := func(f store.Filter) func() error {
		return func() error { _, err := s.Turns(ctx, f, 0, 50); return err }
	}
	stats := func(f store.Filter, split store.Split) func() error {
		return func() error { _, err := s.Stats(ctx, f, split); return err }
	}
	half := turns[len(turns)/2].Report.SpeechEnd
	for _, q := range []struct {
		to  *Median
		ask func() error
	}{
		{&r.List, list(store.Filter{})},
		{&r.Filter, list(store.Filter{Route: []string{"sales"}, Verdict: []budget.Verdict{budget.Failed}, Gap: time.Minute})}, // no turn is like that
		{&r.Text, list(store.Filter{Text: "the order"})},
		{&r.Percentiles, stats(store.Filter{}, store.Split{})},
		{&r.ByHour, stats(store.Filter{}, store.Split{By: store.ByModel, Every: time.Hour})},
		{&r.ByWord, stats(store.Filter{Text: "the"}, store.Split{})},
		{&r.Compare, func() error {
			_, err := s.Compare(ctx, store.Filter{Until: half}, store.Filter{Since: half})
			return err
		}},
	} {
		var took []float64
		for range runs {
			began := time.Now()
			if err := q.ask(); err != nil {
				return err
			}
			took = append(took, ms(time.Since(began)))
		}
		slices.Sort(took)
		*q.to = Median{took[len(took)/2], took[len(took)-1]}
	}
	return nil
}
