package native

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// untar unpacks the folder called root of the tar.gz file at from into dir, as dir's own content. It calls read with the
// compressed bytes read so far. Links are left out: neither of the two sources has any that a build needs.
func untar(ctx context.Context, from, root, dir string, read func(n int64)) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(&reader{ctx: ctx, r: f, read: read})
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", filepath.Base(from), err)
	}
	entries := tar.NewReader(unzipped)
	found := false
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", filepath.Base(from), err)
		}
		name, inside := strings.CutPrefix(path.Clean(h.Name), root+"/")
		if !inside || h.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%w: %s would land outside", ErrHash, h.Name)
		}
		found = true
		if err := unpack(entries, filepath.Join(dir, filepath.FromSlash(name)), h.FileInfo().Mode()); err != nil {
			return fmt.Errorf("unpacking %s: %w", h.Name, err)
		}
	}
	if !found {
		return fmt.Errorf("%w: no %s in %s", ErrHash, root, filepath.Base(from))
	}
	return nil
}

// unpack writes a file with its folders. Of its mode only the right to execute is kept.
func unpack(from io.Reader, to string, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|mode&0o111)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, from)
	return err
}
