package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// chosen are the traces of a file that a filter takes.
type chosen struct {
	traceFilter
	terms
	traceFile
}

// opened reads the filter, and opens the file, which the caller closes.
func (c *chosen) opened(ctx context.Context) (*store.Store, store.Filter, error) {
	f, err := c.filter(c.Terms, time.Now())
	if err != nil {
		return nil, f, err
	}
	s, err := c.open(ctx)
	return s, f, err
}

// listing lists what was chosen, some at a time.
type listing struct {
	Limit int   `short:"n" default:"25" placeholder:"N" help:"How many to list."`
	From  int64 `placeholder:"CURSOR" help:"Go on where a list ended: it says with what."`
	JSON  bool  `name:"json" help:"Print one JSON object instead of a table."`
	chosen
}

// opened is chosen's, for as many as can be listed.
func (l *listing) opened(ctx context.Context) (*store.Store, store.Filter, error) {
	if l.Limit < 1 {
		return nil, store.Filter{}, fmt.Errorf("--limit is %d: it must be at least 1", l.Limit)
	}
	return l.chosen.opened(ctx)
}

// calls lists calls, as a table of some kind.
func (l *listing) calls(ctx context.Context, k *kong.Context, show func(canvas, store.CallPage) error) error {
	s, f, err := l.opened(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	page, err := s.Calls(ctx, f, store.Cursor(l.From), l.Limit)
	if err != nil {
		return err
	}
	if l.JSON {
		return json.NewEncoder(escaped{k.Stdout}).Encode(callsObject{object.CallsOf(page), page.Next})
	}
	return show(canvasOn(k.Stdout), page)
}

// exporting writes what was chosen for other programs.
type exporting struct {
	Output string `short:"o" placeholder:"FILE" help:"Where to write; without it, to standard output."`
	chosen
}

// export opens what is read and what is written, and has write do the rest.
func (e *exporting) export(ctx context.Context, k *kong.Context, write func(context.Context, io.Writer, *store.Store, store.Filter) error) (err error) {
	s, f, err := e.opened(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	out := k.Stdout
	if e.Output != "" {
		file, err := os.OpenFile(e.Output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // it holds what people said, and who they are
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	return write(ctx, out, s, f)
}
