package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"riposte/tool"
)

// needed are the variables that every program needs. The rest of our environment, with its secrets, is no business of a child's.
var needed = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}

// child returns the program, in a group of its own, so that all of that can be ended, and what it will say on its error output.
func (s *Server) child() (*exec.Cmd, *diary) {
	c := exec.Command(s.Command[0], s.Command[1:]...)
	for _, name := range needed {
		if value, ok := os.LookupEnv(name); ok {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	for name, value := range s.Env {
		c.Env = append(c.Env, fmt.Sprintf("%s=%s", name, value))
	}
	slices.Sort(c.Env)
	d := &diary{log: s.Log}
	c.Stderr = d
	c.WaitDelay = time.Second // grandchildren may hold its outputs open
	own(c)
	return c, d
}

// diary logs what a child says on its error output, line by line, and keeps the last of it.
type diary struct {
	log *slog.Logger

	mu   sync.Mutex
	line []byte   // Not ended yet.
	last []string // Lines before it that say something.
}

// mostLine is how many bytes of a line are logged, keptLine how many of it are kept, and keptLines of how many lines.
const (
	mostLine  = 1 << 10
	keptLine  = 200
	keptLines = 5
)

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for part := range bytes.Lines(b) {
		d.line = append(d.line, part[:min(len(part), mostLine-min(mostLine, len(d.line)))]...)
		if part[len(part)-1] == '\n' {
			line := string(bytes.TrimSpace(d.line))
			d.log.Debug("an MCP server says", "line", line)
			d.last, d.line = kept(d.last, line), d.line[:0]
		}
	}
	return len(b), nil
}

// kept returns the last lines with one more.
func kept(lines []string, line string) []string {
	if line = tool.Fit(line, keptLine); line == "" {
		return lines
	}
	return append(lines[max(0, len(lines)-keptLines+1):len(lines):len(lines)], line)
}

// end returns the last lines, each in quotes; empty where there are none.
func (d *diary) end() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var quoted []string
	for _, line := range kept(d.last, string(bytes.TrimSpace(d.line))) {
		quoted = append(quoted, strconv.Quote(line))
	}
	return strings.Join(quoted, ", ")
}

// loss is why a child is not there, for whoever runs the service. The model reads why alone: what a program writes may have secrets in it.
type loss struct {
	why  error
	said *diary // Which may still get what the child has written last.
}

func (l *loss) Error() string {
	if said := l.said.end(); said != "" {
		return fmt.Sprintf("%v; the last that it wrote on its error output is %s", l.why, said)
	}
	return l.why.Error() + "; it wrote nothing on its error output"
}

func (l *loss) Unwrap() error { return l.why }

// plain returns the part of an error that the model may read.
func plain(err error) error {
	if l, ok := errors.AsType[*loss](err); ok {
		return l.why
	}
	return err
}
