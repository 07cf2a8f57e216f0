//go:build !linux

package mcp

import "os/exec"

// own leaves a child as it is: its input is closed when we end.
func own(*exec.Cmd) {}

// end kills a child.
func end(c *exec.Cmd) {
	if c.Process != nil {
		_ = c.Process.Kill() // it may have ended
	}
}
