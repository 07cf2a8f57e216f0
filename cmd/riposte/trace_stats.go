package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// traceStatsCmd prints percentiles.
type traceStatsCmd struct {
	By   string `enum:"all,model,stt,tts,route,version,hour,day,minute" default:"all" help:"Tell turns apart by: model (the language model), stt, tts, route, version, minute, hour or day (in UTC)."`
	JSON bool   `name:"json" help:"Print one JSON object instead of a table."`
	chosen
}

// Run asks and prints.
func (c *traceStatsCmd) Run(ctx context.Context, k *kong.Context) error {
	s, f, err := c.opened(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	split := store.Split{By: store.Dimension(c.By)}
	if every, ok := map[string]time.Duration{"all": 0, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[c.By]; ok {
		split = store.Split{Every: every}
	}
	groups, err := s.Stats(ctx, f, split)
	if err != nil {
		return err
	}
	if c.JSON {
		o := statsObject{By: c.By, Filter: f.String(), Groups: []object.Group{}}
		for _, g := range groups {
			g.At = g.At.UTC()
			o.Groups = append(o.Groups, object.GroupOf(g))
		}
		return json.NewEncoder(escaped{k.Stdout}).Encode(o)
	}
	return showStats(canvasOn(k.Stdout), groups, split)
}

// showStats prints a table of one set, stage by stage, or of many, a line each.
func showStats(c canvas, groups []store.Group, split store.Split) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintln(c.out, "No turn is like that.")
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if split == (store.Split{}) {
		g := groups[0]
		fmt.Fprintln(w, "ms\tturns\tp50\tp90\tp95\tp99\tto blame\t")
		showPercentiles(w, "gap", g.Gap, "")
		for _, s := range budget.Stages {
			showPercentiles(w, string(s), g.Stages[s], fmt.Sprint(g.Blamed[s]))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		v := g.Verdicts
		n := g.Judged()
		fmt.Fprintf(c.out, "\n%d turns with a verdict: met %d (%s), masked %d, over %d, failed %d\n",
			n, v[budget.Met], percent(v[budget.Met], n), v[budget.Masked], v[budget.Over], v[budget.Failed])
		if text := apart(g); text != "" {
			fmt.Fprintln(c.out, "besides them: "+text)
		}
		if len(g.Plans) > 1 {
			fmt.Fprintf(c.out, "their budgets differ: %s\n", budgets(g.Plans))
		}
		return nil
	}
	fmt.Fprintln(w, "ms\tjudged\tmet\tgap p50\tp90\tp95\tp99\tmic p50\tp95\tstt p50\tp95\tllm p50\tp95\ttts p50\tp95\t")
	all := store.Group{Verdicts: map[budget.Verdict]int{}, Unasked: map[trace.Origin]int{}}
	for _, g := range groups {
		add(all.Unasked, g.Unasked)
		add(all.Verdicts, g.Verdicts)
		if g.Judged() == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t", groupName(g, split), g.Judged(), percent(g.Verdicts[budget.Met], g.Judged()),
			float(g.Gap.P50), float(g.Gap.P90), float(g.Gap.P95), float(g.Gap.P99))
		for _, s := range budget.Stages {
			fmt.Fprintf(w, "%.0f\t%.0f\t", float(g.Stages[s].P50), float(g.Stages[s].P95))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if text := apart(all); text != "" {
		fmt.Fprintln(c.out, "\nbesides these turns, which have a verdict: "+text)
	}
	return nil
}

// add adds counts to others.
func add[K comparable](to, counts map[K]int) {
	for k, n := range counts {
		to[k] += n
	}
}

// budgets says what gaps might be, and of how many turns.
func budgets(plans map[time.Duration]int) string {
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(plans)) {
		parts = append(parts, fmt.Sprintf("%s × %d", inMS(p), plans[p]))
	}
	return strings.Join(parts, ", ")
}

func showPercentiles(w *tabwriter.Writer, name string, p store.Percentiles, blamed string) {
	fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t\n", name, p.N, float(p.P50), float(p.P90), float(p.P95), float(p.P99), blamed)
}

// groupName names a set.
func groupName(g store.Group, split store.Split) string {
	if split.Every > 0 {
		return g.At.UTC().Format("2006-01-02 15:04")
	}
	return orNothing(plain(g.Name))
}

// percent returns n of all in percent.
func percent(n, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(all))
}
