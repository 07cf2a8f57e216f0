package native

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The marks in the names of folders that are not, or no longer, what they are called after. A set-up that is killed
// leaves them behind, and the next one sweeps them away.
const (
	makingMark = ".making-"
	oldMark    = ".old"
)

// place makes the folder final: fill makes its content in a temporary folder beside it, which takes the name of final
// only when everything in it is on the disk. Whoever sees final sees all of it, whenever the machine stops.
//
// The temporary folder's name is new each time, so that a compiler that outlives a killed set-up writes where nobody
// looks any more.
func place(final string, fill func(dir string) error) (err error) {
	parent := filepath.Dir(final)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, filepath.Base(final)+makingMark)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }() // After the rename there is nothing left to remove.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := fill(dir); err != nil {
		return err
	}
	if err := syncAll(dir); err != nil {
		return err
	}
	old := final + oldMark
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(final, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, final); err != nil {
		return err
	}
	if err := syncFile(parent); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// sweep removes what killed set-ups left in dir. The caller holds the lock, so nobody is at work there.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), makingMark) && !strings.HasSuffix(e.Name(), oldMark) {
			continue
		}
		// A compiler of the killed set-up may still be writing into it. Then the next sweep gets the rest.
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// syncAll brings everything under dir to the disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return syncFile(path)
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
