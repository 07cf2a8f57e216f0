package native

import (
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

// runLogged runs cmd with its output in the file log, and calls line with each line of it unless line is nil. When the
// context of cmd ends, or this process dies, cmd dies too. Its failure is a *commandError.
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
	out := &output{log: to, line: line}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w: %s", ErrTool, cmd.Args[0])
		}
		return &commandError{program: filepath.Base(cmd.Args[0]), err: err, said: out.said, log: log, full: out.full}
	}
	return nil
}

// commandError reports a program that failed.
type commandError struct {
	program string
	err     error
	said    []string // What it said that looks like a reason.
	log     string
	full    bool // The disk was too full for its log.
}

// Error tells the first reason and where the rest is.
func (e *commandError) Error() string {
	var reason string
	if len(e.said) > 0 {
		reason = ": " + e.said[0]
	}
	return fmt.Sprintf("%s: %v%s; see %s", e.program, e.err, reason, e.log)
}

// Unwrap returns what the system said of the program's end.
func (e *commandError) Unwrap() error { return e.err }

// Is makes a program that met a full disk an ENOSPC.
func (e *commandError) Is(target error) bool {
	return target == error(syscall.ENOSPC) && (e.full || e.says("No space left on device"))
}

// says reports whether the program said something with words in it.
func (e *commandError) says(words string) bool {
	for _, line := range e.said {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}

// maxSaid bounds how many lines of a program are kept as reasons: a broken compiler may print thousands.
const maxSaid = 50

// output keeps what a program prints. A disk too full for the log must not hide why the program failed, or make it fail.
type output struct {
	log  io.Writer
	line func(string)
	rest []byte
	said []string
	cut  bool // The last reason goes on in the next line.
	full bool
}

// Write takes the next bytes.
func (o *output) Write(b []byte) (int, error) {
	if _, err := o.log.Write(b); errors.Is(err, syscall.ENOSPC) {
		o.full = true
	}
	o.rest = append(o.rest, b...)
	for {
		line, rest, whole := bytes.Cut(o.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		o.rest = rest
		text := strings.TrimSpace(string(line))
		switch {
		case o.cut:
			o.said[len(o.said)-1] += " " + text
			o.cut = false
		case len(o.said) < maxSaid && isReason(text):
			o.said = append(o.said, text)
			o.cut = strings.HasPrefix(text, "CMake Error ") && strings.HasSuffix(text, ":") // Only where it is.
		}
		if o.line != nil {
			o.line(text)
		}
	}
}

// isReason reports whether a line looks like the reason of a failure.
func isReason(line string) bool {
	for _, mark := range []string{"error:", "Error:", "ERROR:", "CMake Error", "No space left on device", "Killed"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}
