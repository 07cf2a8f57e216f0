package mcp

import (
	"os/exec"
	"syscall"
)

// own makes a child the first of a group, and has the kernel kill it when the thread ends that begins it: so it does not outlive us, even
// if we are killed. What it has begun itself then finds its input closed.
func own(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// end kills all of a child's group that is left.
func end(c *exec.Cmd) {
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // there may be nobody left
	}
}
