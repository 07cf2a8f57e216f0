package native

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// runLogged runs cmd with its output in the file log, and calls line with each line of it unless line is nil. When ctx
// of cmd ends, or this process dies, cmd dies too. An error carries the last line of the output that looks like the
// reason, and says where the rest is.
func runLogged(cmd *exec.Cmd, log string, line func(string)) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	to, err := os.Create(log)
	if err != nil {
		return err
	}
	defer to.Close()
	fmt.Fprintf(to, "$ %s\n", strings.Join(cmd.Args, " "))
	// The signal for the death of the parent is tied to the thread that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // For a grandchild that left the group and holds the output open.
	out := &lineWriter{to: to, line: line}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w: %s", ErrTool, cmd.Args[0])
		}
		return fmt.Errorf("%s: %w%s; see %s", filepath.Base(cmd.Args[0]), err, reason(log), log)
	}
	return nil
}

// lineWriter copies to a file and hands on whole lines.
type lineWriter struct {
	to   io.Writer
	line func(string)
	rest []byte
}

// Write takes the next bytes of the output.
func (w *lineWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if w.line == nil || err != nil {
		return n, err
	}
	w.rest = append(w.rest, b...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return n, nil
		}
		w.line(string(line))
		w.rest = rest
	}
}

// reason is the first line of a log that names an error, for the message.
func reason(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		for _, mark := range []string{"error:", "Error:", "ERROR:", "CMake Error", "No space left on device", "Killed"} {
			if strings.Contains(text, mark) {
				return ": " + text
			}
		}
	}
	return ""
}
