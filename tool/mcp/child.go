package mcp

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"time"
)

// needed are the variables that every program needs. The rest of our environment, with its secrets, is no business of a child's.
var needed = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}

// child returns the program, in a group of its own, so that all of that can be ended.
func (s *Server) child() *exec.Cmd {
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
	c.Stderr = &diary{log: s.Log}
	c.WaitDelay = time.Second // grandchildren may hold its outputs open
	own(c)
	return c
}

// diary logs what a child says on its error output, line by line.
type diary struct {
	log  *slog.Logger
	line []byte
}

// mostLine is how long a line of it may be.
const mostLine = 1 << 10

func (d *diary) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		d.line = append(d.line, part[:min(len(part), mostLine-min(mostLine, len(d.line)))]...)
		if part[len(part)-1] == '\n' {
			d.log.Debug("an MCP server says", "line", string(bytes.TrimSpace(d.line)))
			d.line = d.line[:0]
		}
	}
	return len(b), nil
}
