package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// forget removes the downloads, which are of no use once everything is made.
func (s *Store) forget() error { return os.RemoveAll(filepath.Join(s.dir, "downloads")) }
