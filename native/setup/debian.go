package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"riposte/native"
)

// installDebian installs those of wanted that are missing, and pip. Unless this is root it needs a sudo that does not
// ask. It touches nothing when all is there.
func installDebian(ctx context.Context, root bool, wanted []native.DebianPackage, progress native.Progress) error {
	missing, err := missingDebian(ctx, wanted)
	if err != nil || len(missing) == 0 {
		return err
	}
	apt := []string{"apt-get"}
	if !root {
		// Without a password or not at all: a set-up that stops to ask looks as if it hung.
		if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
			return fmt.Errorf("some Debian packages are missing, and only root may install them. Run this, then try again:\n\n    sudo apt-get update && sudo apt-get install -y --no-install-recommends %s",
				strings.Join(missing, " "))
		}
		apt = []string{"sudo", "-n", "apt-get"}
	}
	progress.Say("installing Debian packages: " + strings.Join(missing, " "))
	// A list that cannot be brought up to date, perhaps that of a foreign source, need not be in the way.
	updated := runApt(ctx, progress, "apt-get update", append(apt[:len(apt):len(apt)], "update", "-q"))
	install := []string{"install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}
	if err := runApt(ctx, progress, "apt-get install", append(append(apt[:len(apt):len(apt)], install...), missing...)); err != nil {
		return errors.Join(updated, err)
	}
	return nil
}

// runApt runs one apt-get command. Its error holds all that it printed.
func runApt(ctx context.Context, progress native.Progress, title string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out := &counted{step: progress.Begin(title, native.Pieces)}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, &out.Buffer)
	}
	out.step.End(err)
	return err
}

// counted keeps output and reports its lines as progress: apt-get does not say how many there will be.
type counted struct {
	bytes.Buffer
	step  native.Step
	lines int64
}

// Write takes the next bytes.
func (c *counted) Write(b []byte) (int, error) {
	c.lines += int64(bytes.Count(b, []byte("\n")))
	c.step.Set(c.lines, 0)
	return c.Buffer.Write(b)
}

// missingDebian names the packages that are not installed. On a machine without dpkg it finds none: what is really
// missing is named by the step that needs it.
func missingDebian(ctx context.Context, wanted []native.DebianPackage) ([]string, error) {
	dpkg, err := exec.LookPath("dpkg-query")
	if err != nil {
		return nil, nil
	}
	args := []string{"-W", "-f=${db:Status-Status} ${Package}\n"}
	for _, p := range wanted {
		args = append(args, p.Name)
	}
	// It exits with 1 when it does not know one of them, so only what it prints counts.
	out, err := exec.CommandContext(ctx, dpkg, args...).Output()
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	installed := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "installed "); ok {
			installed[name] = true
		}
	}
	var missing []string
	for _, p := range wanted {
		if !installed[p.Name] && !present(p.Name) {
			missing = append(missing, p.Name)
		}
	}
	if !onPath("pip3") && !onPath("pip") {
		missing = append(missing, "python3-pip", "python3-venv")
	}
	return missing, nil
}

// present reports whether the program that a package is for is there all the same, from somewhere else than Debian.
func present(name string) bool {
	programs := map[string][]string{
		"cmake": {"cmake"}, "ninja-build": {"ninja"}, "g++": {"c++"}, "chromium-headless-shell": {"chromium", "chromium-browser", "google-chrome"},
	}
	return slices.ContainsFunc(programs[name], onPath)
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
