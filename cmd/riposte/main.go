// Command riposte is the whole service and its tools in one binary: it serves calls, makes calls, provides models and says
// what a machine lacks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is stamped by the Makefile.
var version = "development"

// commands are the command line.
type commands struct {
	Serve   serveCmd         `cmd:"" help:"Serve calls."`
	Call    CallCmd          `cmd:"" help:"Call a running service with sound files, as if someone were talking."`
	Trace   traceCmd         `cmd:"" help:"Show where the time of calls and turns went that the service has kept."`
	Calls   callsCmd         `cmd:"" help:"List the calls that the service has held: who called whom, how it ended, and what it cost."`
	Bench   benchCmd         `cmd:"" help:"Measure a service."`
	Tools   toolsCmd         `cmd:"" help:"List the tools that the service runs for the model, and call one by hand."`
	Models  modelsCmd        `cmd:"" help:"List, fetch and check models."`
	Doctor  doctorCmd        `cmd:"" help:"Check everything that the service needs on this machine."`
	Config  configCmd        `cmd:"" help:"Print every setting with what it means and its value, as a config file."`
	Version kong.VersionFlag `env:"-" help:"Print the version."`
}

func main() {
	waitPassively()
	log.SetOutput(io.Discard) // only libraries write there: that of FLAC says of each frame that its tests lack the rate
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	err := run(ctx, os.Args[1:])
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "riposte:", err)
		os.Exit(1)
	}
}

// run parses the command line and does what it says.
func run(ctx context.Context, args []string) error {
	var cmd commands
	parser, err := newParser(ctx, &cmd)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return mendable(err)
	}
	return k.Run()
}

// mendable says of a command line that cannot be parsed where to look up what can, and of a config file its own place and key only.
func mendable(err error) error {
	if inFile, ok := errors.AsType[*fileError](err); ok {
		return inFile
	}
	wrong, ok := errors.AsType[*kong.ParseError](err)
	if !ok || !slices.ContainsFunc([]string{"unexpected argument", "unknown flag", "expected "}, func(p string) bool { return strings.HasPrefix(err.Error(), p) }) {
		return err
	}
	of := wrong.Context.Model.Node
	if command := wrong.Context.Selected(); command != nil {
		of = command
	}
	return fmt.Errorf("%w; see %s --help", err, of.FullPath())
}

// newParser makes the parser of a command line that is filled into cmd, a pointer to a struct of commands.
func newParser(ctx context.Context, cmd any) (*kong.Kong, error) {
	return kong.New(cmd,
		kong.Name("riposte"),
		kong.Description("Real-time voice AI: callers talk, and the answer starts within the budget."),
		kong.DefaultEnvars("RIPOSTE"),
		kong.Configuration(loadConfig, configPaths...),
		kong.Vars{"version": version},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups(settingGroups),
		durations,
	)
}

// waitPassively makes OpenMP's threads sleep while they wait. By default they spin, which on few cores takes the time of
// the other engines, and of each other: beside a compiler on both cores, two threads that spin made 0.2 tokens a second, and
// two that sleep 30. OpenMP reads this once, when it is loaded, before anything of ours runs; so the process starts itself
// again.
func waitPassively() {
	const variable = "OMP_WAIT_POLICY"
	if os.Getenv(variable) != "" {
		return
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, append(os.Environ(), variable+"=passive"))
	}
	fmt.Fprintln(os.Stderr, "riposte: OpenMP's threads will spin; start with", variable+"=passive:", err)
}
