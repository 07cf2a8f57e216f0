package check

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// formats are what Prometheus asks for: with native histograms switched on, and by default.
var formats = map[string]string{
	"native":      "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	"text":        "text/plain;version=0.0.4;q=0.5",
	"openmetrics": "application/openmetrics-text;version=1.0.0",
}

// sample is a value of one series, or a native histogram.
type sample struct {
	labels    labels.Labels
	value     float64
	histogram *histogram.Histogram
}

// scrape asks for metrics and lets Prometheus' own parser read them.
func scrape(t *testing.T, h http.Handler, accept string) (samples []sample) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	p, err := textparse.New(w.Body.Bytes(), w.Header().Get("Content-Type"), labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			return samples
		}
		if err != nil {
			t.Fatal(err)
		}
		var s sample
		switch kind {
		case textparse.EntrySeries:
			_, _, s.value = p.Series()
		case textparse.EntryHistogram:
			_, _, s.histogram, _ = p.Histogram()
		default:
			continue
		}
		p.Labels(&s.labels)
		samples = append(samples, s)
	}
}

// names are the names of metrics.
func names(samples []sample) map[string]bool {
	all := map[string]bool{}
	for _, s := range samples {
		all[s.labels.Get(model.MetricNameLabel)] = true
	}
	return all
}

// Prometheus reads the metrics in each of its formats, and the histograms are native where they can be.
func TestScrape(t *testing.T) {
	s := newService()
	s.live()
	for format, accept := range formats {
		t.Run(format, func(t *testing.T) {
			gaps, within := 0.0, 0.0
			for _, s := range scrape(t, s.Handler(), accept) {
				switch name := s.labels.Get(model.MetricNameLabel); {
				case name == "riposte_turn_gap_seconds" && s.histogram != nil:
					if err := s.histogram.Validate(); err != nil {
						t.Error(err)
					}
					gaps = float64(s.histogram.Count)
					for buckets := s.histogram.PositiveBucketIterator(); buckets.Next(); {
						if b := buckets.At(); b.Upper < 0.89 {
							within += float64(b.Count)
						}
					}
				case name == "riposte_turn_gap_seconds_count":
					gaps = s.value
				case name == "riposte_turn_gap_seconds_bucket" && s.labels.Get("le") == "0.89":
					within = s.value
				}
			}
			if gaps != 3 || within != 2 {
				t.Errorf("%v gaps, %v of them within the budget; want 3 and 2", gaps, within)
			}
		})
	}
}

// record returns what a Prometheus has collected from a service that lived for an hour.
func record(t *testing.T, accept string) (m *memory, now time.Time) {
	t.Helper()
	s := newService()
	m, now = &memory{}, time.Unix(1_800_000_000, 0)
	for range 60 {
		s.live()
		now = now.Add(time.Minute)
		for _, s := range scrape(t, s.Handler(), accept) {
			l := labels.NewBuilder(s.labels).Set("job", "riposte").Set("instance", "one:8080").Labels()
			m.add(l, point{at: now.UnixMilli(), value: s.value, histogram: s.histogram})
		}
	}
	return m, now
}
