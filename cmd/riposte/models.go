package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/native"
	"riposte/native/console"
)

// modelsCmd is what can be done with models.
type modelsCmd struct {
	List   modelsListCmd   `cmd:"" default:"1" help:"List the models that can be had, and which are here."`
	Pull   modelsPullCmd   `cmd:"" help:"Fetch models and make them ready."`
	Verify modelsVerifyCmd `cmd:"" help:"Check the content of models that are here."`
}

// cacheFlag is the one setting that the model commands share.
type cacheFlag struct {
	Cache string `placeholder:"DIR" help:"Folder of native libraries and models. Empty means $XDG_CACHE_HOME/riposte or ~/.cache/riposte."`
}

type modelsListCmd struct{ cacheFlag }

// Run prints a line for each model.
func (c *modelsListCmd) Run(ctx context.Context, k *kong.Context) error {
	store, err := native.Open(c.Cache)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(k.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTAGE\tMB\tHERE\tLICENCE\tABOUT")
	for _, m := range store.Models() {
		here := "yes"
		if err := store.Verify(ctx, m.Name, false); errors.Is(err, native.ErrMissing) {
			here = "no"
		} else if err != nil {
			here = "damaged"
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%s\t%s\t%s\n", m.Name, m.Kind, float64(m.Size())/1e6, here, m.Licence, m.About)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(k.Stdout, "\nThey lie in %s. Settings take these names, or the path of a file of your own.\n", store.Dir())
	return err
}

type modelsPullCmd struct {
	cacheFlag
	Names []string `arg:"" optional:"" name:"model" help:"Models to fetch; without any, those that the service needs by default."`
}

// Run fetches the models.
func (c *modelsPullCmd) Run(ctx context.Context, k *kong.Context) error {
	store, err := native.Open(c.Cache)
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		names = native.DefaultModels()
	}
	for _, name := range names { // before anything is fetched, so that a misspelt last one costs nothing
		if _, err := store.Model(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := store.Pull(ctx, name, console.New(os.Stderr)); err != nil {
			return err
		}
		fmt.Fprintf(k.Stdout, "%s: ready\n", name)
	}
	return nil
}

type modelsVerifyCmd struct {
	cacheFlag
	Names []string `arg:"" optional:"" name:"model" help:"Models to check; without any, all that are here."`
}

// Run checks the models and reports all that are damaged.
func (c *modelsVerifyCmd) Run(ctx context.Context, k *kong.Context) error {
	store, err := native.Open(c.Cache)
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		for _, m := range store.Models() {
			if err := store.Verify(ctx, m.Name, false); !errors.Is(err, native.ErrMissing) {
				names = append(names, m.Name)
			}
		}
	}
	var errs []error
	for _, name := range names {
		if err := store.Verify(ctx, name, true); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(k.Stdout, "%s: whole\n", name)
	}
	return errors.Join(errs...)
}
