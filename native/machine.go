package native

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// build says what a native library was built from, for and with. Libraries use every instruction of the CPU that they
// were built on, so a cache that moves to another machine must not hand them out there.
type build struct {
	Library  string `json:"library"`  // Its name and version.
	Source   string `json:"source"`   // SHA-256 of the source distribution.
	Flags    string `json:"flags"`    // All that was passed to cmake, and the environment's own flags.
	CPU      string `json:"cpu"`      // Fingerprint of the CPU's features.
	Compiler string `json:"compiler"` // Version of the C++ compiler.
}

// key names the build in folder names.
func (b build) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{b.Library, b.Source, b.Flags, b.CPU, b.Compiler}, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// runsHere reports whether a build made as other is what b asks for, apart from the compiler: that matters for
// building only, and a machine that only runs Riposte need not have one.
func (b build) runsHere(other build) bool {
	b.Compiler = other.Compiler
	return b == other
}

// cpuFeatures is a fingerprint of the instructions that this machine's first CPU knows.
func cpuFeatures() (string, error) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, features, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(name) {
		case "flags", "Features": // On x86 and on Arm.
			sum := sha256.Sum256([]byte(strings.Join(strings.Fields(features), " ")))
			return runtime.GOARCH + "-" + hex.EncodeToString(sum[:6]), nil
		}
	}
	return runtime.GOARCH, lines.Err()
}

// compilerVersion is the first line of what the C++ compiler says of itself.
func compilerVersion(ctx context.Context) (string, error) {
	name := os.Getenv("CXX")
	if name == "" {
		name = "c++"
	}
	out, err := exec.CommandContext(ctx, name, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: a C++ compiler (Debian: apt-get install g++): %w", ErrTool, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}
