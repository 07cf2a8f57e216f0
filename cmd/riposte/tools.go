package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"

	"riposte/llm"
	"riposte/tool"
)

// toolsCmd is what can be done with the tools that the service runs.
type toolsCmd struct {
	List toolsListCmd `cmd:"" default:"withargs" help:"List the tools that a call may use, and who runs them."`
	Call toolsCallCmd `cmd:"" help:"Call a tool as the model would, and print what the model would read."`
}

// toolsFlags say whose tools are meant.
type toolsFlags struct {
	settings
	Route string `default:"default" help:"Route whose tools are meant."`
}

// open opens the tools of the route. close has to be called, unless there is an error.
func (f *toolsFlags) open(ctx context.Context) (set *tool.Set, close func(), err error) {
	routes, err := f.openRoutes()
	if err != nil {
		return nil, nil, err
	}
	r := routes[f.Route]
	if r == nil {
		return nil, nil, fmt.Errorf("there is no route %q; there are %s", f.Route, joined(slices.Sorted(maps.Keys(routes)), 16))
	}
	var b toolbox
	opened, err := b.open(ctx, map[string]*route{f.Route: r}, f.logger(), nil)
	if err != nil {
		return nil, nil, err
	}
	opened()
	return b.sets[f.Route], b.close, nil
}

// elsewhere returns the other routes that have a tool.
func (f *toolsFlags) elsewhere(ctx context.Context, name string) (found []string) {
	routes, err := f.openRoutes()
	if err != nil {
		return nil // it was said before
	}
	delete(routes, f.Route)
	var b toolbox
	opened, err := b.open(ctx, routes, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return nil
	}
	defer b.close()
	opened()
	for _, route := range slices.Sorted(maps.Keys(routes)) {
		if slices.ContainsFunc(b.sets[route].All(), func(t *tool.Tool) bool { return t.Name == name }) {
			found = append(found, route)
		}
	}
	return found
}

type toolsListCmd struct{ toolsFlags }

// Run prints a line for each tool.
func (c *toolsListCmd) Run(ctx context.Context, k *kong.Context) error {
	set, close, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer close()
	return listTools(k.Stdout, set)
}

func listTools(to io.Writer, set *tool.Set) error {
	if len(set.All()) == 0 {
		_, err := fmt.Fprintln(to, "There are no tools: the section tools of riposte.yaml, or of a route's file, describes them (docs/tools.md).")
		return err
	}
	w := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tBY\tARGUMENTS\tABOUT")
	for _, t := range set.All() {
		about, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.Server, strings.Join(argumentsOf(t.Parameters), ", "), tool.Fit(about, 80))
	}
	return w.Flush()
}

// argumentsOf returns the names of a tool's arguments, in their order; those that may be left out in brackets.
func argumentsOf(parameters json.RawMessage) (names []string) {
	var s struct {
		Required []string `json:"required"`
	}
	var properties struct {
		Properties json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(parameters, &s) // they were checked
	_ = json.Unmarshal(parameters, &properties)
	d := json.NewDecoder(strings.NewReader(string(properties.Properties)))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return names
		}
		if !strings.Contains("\n"+strings.Join(s.Required, "\n")+"\n", "\n"+name+"\n") {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return names
}

type toolsCallCmd struct {
	toolsFlags
	Name      string `arg:"" help:"Name of the tool."`
	Arguments string `arg:"" optional:"" default:"{}" help:"Its arguments, as a JSON object."`
}

// Run calls the tool.
func (c *toolsCallCmd) Run(ctx context.Context, k *kong.Context) error {
	set, close, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer close()
	began := time.Now()
	text, err := set.Run(ctx, llm.ToolCall{ID: "by_hand", Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	if unknown, ok := errors.AsType[*tool.Error](err); ok && unknown.Kind == tool.Unknown {
		if routes := c.elsewhere(ctx, c.Name); len(routes) > 0 {
			return fmt.Errorf("%w Elsewhere there is: say --route %s", err, strings.Join(routes, " or --route "))
		}
		return fmt.Errorf("%w%s", err, nearestTool(c.Name, set))
	}
	if err != nil {
		return err
	}
	c.logger().Log(ctx, slog.LevelDebug, "the tool has run", "took", time.Since(began))
	_, err = fmt.Fprintln(k.Stdout, text)
	return err
}

// nearestTool says which tool may have been meant by a name that none has; empty where none is near.
func nearestTool(name string, set *tool.Set) string {
	nearest, least := "", (len(name)+1)/2
	for _, t := range set.All() {
		if d := levenshtein.ComputeDistance(strings.ToLower(t.Name), strings.ToLower(name)); d <= least {
			nearest, least = fmt.Sprintf(" The nearest is %q.", t.Name), d-1
		}
	}
	return nearest
}

// joined writes names one after the other, at most so many of them.
func joined(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
