package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The kernel is compiled by itself, for this processor and for one without wide vectors, and compared with plain sums.
func TestAttention(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program around the kernel converts 16-bit floats with instructions of amd64")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "attention.inc"), []byte(attentionCode), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"native", "x86-64-v3"} {
		program := filepath.Join(dir, machine)
		build := exec.CommandContext(t.Context(), "g++", "-O2", "-march="+machine, "-Wall", "-Wno-psabi", "-Wno-maybe-uninitialized", "-Werror", "-I", dir, "-o", program, "testdata/attention.cpp")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", machine, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", machine, err, out)
		}
	}
}
