package check

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

var language = parser.NewParser(parser.Options{})

// asks returns the names of the metrics that an expression asks for.
func asks(t *testing.T, expr string) (all []string) {
	t.Helper()
	e, err := language.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%v in %s", err, expr)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			all = append(all, s.Name)
		}
		return nil
	})
	return all
}

// engine is Prometheus' own.
func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})
}

// evaluate returns what an expression says at a time.
func evaluate(t *testing.T, s storage.Queryable, expr string, now time.Time) promql.Vector {
	t.Helper()
	q, err := engine().NewInstantQuery(t.Context(), s, nil, expr, now)
	if err != nil {
		t.Fatalf("%v in %s", err, expr)
	}
	defer q.Close()
	r := q.Exec(t.Context())
	if r.Err != nil {
		t.Fatalf("%v in %s", r.Err, expr)
	}
	for _, w := range r.Warnings {
		t.Errorf("%v in %s", w, expr)
	}
	v, err := r.Vector()
	if err != nil {
		t.Fatalf("%v in %s", err, expr)
	}
	out := make(promql.Vector, len(v))
	copy(out, v) // it dies with the query
	return out
}

// known reports whether a service or the rules have a metric. Parts of a histogram are its metric's.
func known(name string, served map[string]bool) bool {
	return served[name] || served[strings.TrimSuffix(name, "_bucket")] && strings.HasSuffix(name, "_bucket")
}
