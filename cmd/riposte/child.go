package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// child is a service in a process of its own, so that what it uses can be told from what its callers do.
type child struct {
	URL string

	dir  string
	cmd  *exec.Cmd
	done chan error
}

// childGrace is how long a child may take to end.
const childGrace = 15 * time.Second

// startChild starts a service with the settings among the flags, but on an address and with traces of its own, and waits until it takes
// calls. What it has to complain of goes to log. It is the command that serves calls, "serve" or one like it with flags of its own.
func startChild(ctx context.Context, flags []*kong.Flag, log io.Writer, command ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "riposte-service-")
	if err != nil {
		return nil, err
	}
	c := &child{dir: dir, done: make(chan error, 1)}
	if err := c.start(ctx, append([]string{self}, command...), flags, log); err != nil {
		return nil, errors.Join(fmt.Errorf("service of its own: %w", err), os.RemoveAll(dir))
	}
	return c, nil
}

// start is startChild with a folder.
func (c *child) start(ctx context.Context, command []string, flags []*kong.Flag, log io.Writer) error {
	path := filepath.Join(c.dir, "riposte.yaml")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeConfig(f, flags), f.Close()); err != nil {
		return err
	}
	// It keeps traces as a service does, but not among those of one that people talk to.
	c.cmd = exec.Command(command[0], append(command[1:], "--config", path, "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "INFO",
		"--trace-file", filepath.Join(c.dir, "traces.db"))...)
	c.cmd.Env = withoutSettings(os.Environ(), flags)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // The bench ends it, not the terminal.
	lines, err := c.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	ready := make(chan string, 1)
	go func() { c.done <- errors.Join(c.read(lines, log, ready), c.cmd.Wait()) }()
	select {
	case c.URL = <-ready:
		return nil
	case err := <-c.done:
		return errors.Join(errors.New("it ended before it was ready; what it logged says why"), err)
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), c.stop())
	}
}

// read hands on what the child logs, and where it is once it is ready.
func (c *child) read(lines io.Reader, log io.Writer, ready chan<- string) error {
	scan := bufio.NewScanner(lines)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var line struct{ Msg, Realtime, Level string }
		if json.Unmarshal(scan.Bytes(), &line) == nil && line.Msg == "ready" && line.Realtime != "" {
			ready <- line.Realtime
		}
		if line.Level != "INFO" {
			fmt.Fprintf(log, "service: %s\n", scan.Text())
		}
	}
	return scan.Err()
}

// stop ends the child and waits until it has ended.
func (c *child) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // It may have ended already.
	kill := time.AfterFunc(childGrace, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	err := <-c.done
	return errors.Join(err, os.RemoveAll(c.dir))
}

// withoutSettings returns the environment without what would go before the settings of a file.
func withoutSettings(env []string, flags []*kong.Flag) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Group != nil && slices.Contains(f.Envs, name) })
	})
}
