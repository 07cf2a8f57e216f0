package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// traceDiffCmd sets two sets side by side.
type traceDiffCmd struct {
	A    string `arg:"" help:"A set of turns, as a filter: version=v1, or \"since=2d until=1d\"."`
	B    string `arg:"" help:"The other one."`
	JSON bool   `name:"json" help:"Print one JSON object instead of a table."`
	traceFilter
	traceFile
}

// Help says how to write sets.
func (c *traceDiffCmd) Help() string {
	return "The flags hold for both sets, beside what each says itself."
}

// Run compares and prints.
func (c *traceDiffCmd) Run(ctx context.Context, k *kong.Context) error {
	now := time.Now()
	a, err := c.filter([]string{c.A}, now)
	if err != nil {
		return err
	}
	b, err := c.filter([]string{c.B}, now)
	if err != nil {
		return err
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	both, err := s.Compare(ctx, a, b)
	if err != nil {
		return err
	}
	if err := emptySides([2]string{c.A, c.B}, [2]int{both.A.Turns, both.B.Turns}); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(escaped{k.Stdout}).Encode(diffObject{
			A: diffSide{a.String(), object.GroupOf(both.A)}, B: diffSide{b.String(), object.GroupOf(both.B)},
		})
	}
	return showDiff(canvasOn(k.Stdout), c.A, c.B, both)
}

// emptySides reports the sets that have no turn, with which nothing can be compared.
func emptySides(filters [2]string, turns [2]int) error {
	var errs []error
	for i, name := range []string{"A", "B"} {
		if turns[i] == 0 {
			errs = append(errs, fmt.Errorf("%s has no turn: %s (riposte trace stats --by=version, or =model or =route, prints what there is)", name, orAll(filters[i])))
		}
	}
	return errors.Join(errs...)
}

// diffObject is a comparison as --json prints it.
type diffObject struct {
	A diffSide `json:"a"`
	B diffSide `json:"b"`
}

type diffSide struct {
	Filter string `json:"filter"`
	object.Group
}

// showDiff prints both sets, and by how much the second differs from the first.
func showDiff(c canvas, a, b string, both store.Comparison) error {
	for _, side := range []struct {
		name, filter string
		of           store.Group
	}{{"A", a, both.A}, {"B", b, both.B}} {
		fmt.Fprintf(c.out, "%s  %s: %d turns with a verdict", side.name, orAll(side.filter), side.of.Judged())
		if text := apart(side.of); text != "" {
			fmt.Fprint(c.out, "; "+text)
		}
		if len(side.of.Plans) > 1 {
			fmt.Fprint(c.out, "; budgets differ: "+budgets(side.of.Plans))
		}
		fmt.Fprintln(c.out)
	}
	fmt.Fprintln(c.out)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\t\tA\tB\tB - A\t\t")
	row := func(name string, p, q store.Percentiles) {
		for _, line := range []struct {
			rank string
			a, b time.Duration
		}{{"p50", p.P50, q.P50}, {"p90", p.P90, q.P90}, {"p95", p.P95, q.P95}, {"p99", p.P99, q.P99}} {
			diff, share := "-", ""
			if p.N > 0 && q.N > 0 {
				diff = fmt.Sprintf("%+.1f", float(line.b-line.a))
				if line.a > 0 {
					share = fmt.Sprintf("%+.1f%%", 100*float64(line.b-line.a)/float64(line.a))
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", name, line.rank, whole(line.a, p.N > 0, 0), whole(line.b, q.N > 0, 0), diff, share)
			name = ""
		}
	}
	row("gap", both.A.Gap, both.B.Gap)
	for _, s := range budget.Stages {
		row(string(s), both.A.Stages[s], both.B.Stages[s])
	}
	for _, v := range []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed} {
		diff := "-"
		p, q := both.A.Judged(), both.B.Judged()
		if p > 0 && q > 0 {
			diff = fmt.Sprintf("%+.1f", 100*(float64(both.B.Verdicts[v])/float64(q)-float64(both.A.Verdicts[v])/float64(p)))
		}
		fmt.Fprintf(w, "%s\t\t%s\t%s\t%s\t\t\n", v, percent(both.A.Verdicts[v], p), percent(both.B.Verdicts[v], q), diff)
	}
	return w.Flush()
}

// orAll returns a filter, or what it means when it is empty.
func orAll(filter string) string {
	if filter == "" {
		return "(all)"
	}
	return plain(filter)
}
