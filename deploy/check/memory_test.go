package check

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory holds what a Prometheus has collected, for its engine. Its own storage would bring a hundred modules more.
type memory struct {
	series map[string]*kept // By their labels.
}

type kept struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func (m *memory) add(l labels.Labels, p point) {
	if m.series == nil {
		m.series = map[string]*kept{}
	}
	k := l.String()
	if m.series[k] == nil {
		m.series[k] = &kept{labels: l.Copy()}
	}
	m.series[k].samples = append(m.series[k].samples, p)
}

// load adds series in the language of promtool's tests, one value a minute from the beginning of time on.
func load(t *testing.T, series ...string) *memory {
	t.Helper()
	m := &memory{}
	for _, s := range series {
		l, values, err := language.ParseSeriesDesc(strings.TrimSpace(s))
		if err != nil {
			t.Fatalf("%v in %s", err, s)
		}
		for i, v := range values {
			m.add(l, point{at: int64(i) * time.Minute.Milliseconds(), value: v.Value})
		}
	}
	return m
}

// Querier returns what there is, of all times: the engine takes of it what it wants.
func (m *memory) Querier(int64, int64) (storage.Querier, error) { return reader{m}, nil }

type reader struct{ *memory }

func (reader) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (reader) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (reader) Close() error { return nil }

// Select returns the series that match.
func (r reader) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, k := range r.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(k.labels.Get(m.Name)) }) {
			found = append(found, storage.NewListSeries(k.labels, k.samples))
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &set{found, -1}
}

type set struct {
	found []storage.Series
	at    int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.found) }
func (s *set) At() storage.Series              { return s.found[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

// point is one value, or one native histogram.
type point struct {
	at        int64 // Milliseconds since 1970.
	value     float64
	histogram *histogram.Histogram
}

var _ chunks.Sample = point{}

func (p point) T() int64                      { return p.at }
func (point) ST() int64                       { return 0 }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return p.histogram }
func (p point) FH() *histogram.FloatHistogram { return p.histogram.ToFloat(nil) }
func (p point) Copy() chunks.Sample           { return p }

func (p point) Type() chunkenc.ValueType {
	if p.histogram != nil {
		return chunkenc.ValHistogram
	}
	return chunkenc.ValFloat
}
