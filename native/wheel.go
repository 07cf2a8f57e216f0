package native

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// wheels are downloaded wheels, open for reading. Their members are found by name in whichever has them.
type wheels struct {
	ctx  context.Context
	open []*zip.ReadCloser
}

// openWheels opens the wheels at paths. The caller closes them.
func openWheels(ctx context.Context, paths []string) (*wheels, error) {
	w := &wheels{ctx: ctx}
	for _, path := range paths {
		r, err := zip.OpenReader(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening %s: %w", filepath.Base(path), err), w.Close())
		}
		w.open = append(w.open, r)
	}
	return w, nil
}

// Close closes the wheels.
func (w *wheels) Close() error {
	var errs []error
	for _, r := range w.open {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// member finds the member called name.
func (w *wheels) member(name string) (*zip.File, error) {
	for _, r := range w.open {
		for _, f := range r.File {
			if f.Name == name {
				return f, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: no %s in it", ErrHash, name)
}

// size is the length of the members together, in bytes.
func (w *wheels) size(members []string) (int64, error) {
	var n int64
	for _, name := range members {
		f, err := w.member(name)
		if err != nil {
			return 0, err
		}
		n += int64(f.UncompressedSize64)
	}
	return n, nil
}

// extract writes the members one after the other into a new file at path. It calls written with the bytes so far.
func (w *wheels) extract(path string, members []string, written func(n int64)) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var before int64
	for _, name := range members {
		f, err := w.member(name)
		if err != nil {
			return err
		}
		from, err := f.Open()
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
		counted := &reader{ctx: w.ctx, r: from, read: func(n int64) { written(before + n) }}
		n, err := io.Copy(to, counted)
		if err := errors.Join(err, from.Close()); err != nil {
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
		before += n
	}
	return nil
}
