package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/llm"
	"riposte/native"
)

// benchModelsCmd measures chat models, each in a process of its own, so that its memory is its own.
type benchModelsCmd struct {
	Models []string `name:"model" placeholder:"NAME" help:"Models to measure: names from riposte models, or GGUF files; without any, all chat models that are here."`
	Alone  string   `hidden:"" help:"Measure this one in this process."`
	JSON   bool     `name:"json" help:"Print JSON instead of a table."`

	settings // Of the models.
}

// Run measures and prints.
func (c *benchModelsCmd) Run(ctx context.Context, k *kong.Context) error {
	if c.Alone != "" {
		m, err := c.measure(ctx, c.Alone)
		if err != nil {
			return err
		}
		return json.NewEncoder(k.Stdout).Encode(m)
	}
	names := c.Models
	if len(names) == 0 {
		var err error
		if names, err = c.installed(ctx); err != nil {
			return err
		}
	}
	list := []bench.Model{}
	for _, name := range names {
		m, err := c.apart(ctx, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			m = bench.Model{Name: name, Error: err.Error()}
		}
		m.Version = version
		list = append(list, m)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(list)
	}
	return showModels(k.Stdout, list)
}

// installed returns the chat models that are here.
func (c *benchModelsCmd) installed(ctx context.Context) ([]string, error) {
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range store.Models() {
		if m.Kind == native.LLM && store.Verify(ctx, m.Name, false) == nil {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no chat model is here (get one with: riposte models pull)")
	}
	return names, nil
}

// apart measures a model in another process, which is this program once more with the same settings.
func (c *benchModelsCmd) apart(ctx context.Context, name string) (bench.Model, error) {
	self, err := os.Executable()
	if err != nil {
		return bench.Model{}, err
	}
	args := append(os.Args[1:len(os.Args):len(os.Args)], "--alone="+name)
	cmd := exec.CommandContext(ctx, self, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if last := strings.TrimPrefix(lines[len(lines)-1], "riposte: "); last != "" {
			err = errors.New(last)
		}
		return bench.Model{}, err
	}
	var m bench.Model
	return m, json.Unmarshal(out, &m)
}

// measure measures a model in this process.
func (c *benchModelsCmd) measure(ctx context.Context, name string) (bench.Model, error) {
	var done io.Closer
	m, err := bench.MeasureModel(ctx, name, func(ctx context.Context) (llm.Generator, error) {
		e, err := c.openModel(ctx, name, max(1, c.LLM.Conversations), c.logger())
		if err != nil {
			return nil, err
		}
		done = e
		return e, nil
	}, rss)
	if done != nil {
		err = errors.Join(err, done.Close())
	}
	return m, err
}

// rss returns the memory of this process, in bytes.
func rss() (int64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm says %q", b)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func showModels(out io.Writer, list []bench.Model) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "model\tload, ms\tfirst text, ms\ttokens a second\tMB\t")
	for _, m := range list {
		if m.Error != "" {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\n", m.Name, m.Error)
			continue
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.1f\t%.0f\t\n", m.Name, m.Load, m.TTFT, m.Rate, float64(m.RSS)/1e6)
	}
	return w.Flush()
}
