package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// manifestName is the file in every finished folder that says what belongs there.
const manifestName = "manifest.json"

// manifest is what a finished folder holds.
type manifest struct {
	Files []File `json:"files"`           // Their names are relative to the folder, with slashes.
	Build *build `json:"build,omitempty"` // Of a native library only.
}

// readManifest reads the manifest of the finished folder dir. An error is ErrMissing when the folder is not there, and
// ErrDamaged when it is there without a readable manifest.
func readManifest(dir string) (manifest, error) {
	var m manifest
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return m, ErrMissing
		}
		return m, fmt.Errorf("%w: %s is missing", ErrDamaged, manifestName)
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %w", ErrDamaged, manifestName, err)
	}
	return m, nil
}

// writeManifest writes m into dir, which is not in its final place yet.
func writeManifest(dir string, m manifest) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), append(b, '\n'), 0o644)
}

// checkSizes finds files of dir that are gone or cut off. It reads nothing, so it is quick enough for every start.
func checkSizes(dir string, files []File) error {
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is gone", ErrDamaged, f.Name)
		}
		if err != nil {
			return err
		}
		if info.Size() != f.Size {
			return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrDamaged, f.Name, info.Size(), f.Size)
		}
	}
	return nil
}

// checkHashes reads all files of dir and compares them with their hashes.
func checkHashes(ctx context.Context, dir string, files []File) error {
	for _, f := range files {
		got, err := describe(ctx, dir, f.Name)
		if err != nil {
			return err
		}
		if got != f {
			return fmt.Errorf("%w: %s has the SHA-256 %s instead of %s", ErrDamaged, f.Name, got.SHA256, f.SHA256)
		}
	}
	return nil
}

// describeAll lists all files under dir, but its manifest. Links count as the files that they lead to.
func describeAll(ctx context.Context, dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == manifestName {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := describe(ctx, dir, filepath.ToSlash(name))
		files = append(files, f)
		return err
	})
	return files, err
}

// describe measures one file of dir.
func describe(ctx context.Context, dir, name string) (File, error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, &reader{ctx: ctx, r: f})
	if err != nil {
		return File{}, fmt.Errorf("reading %s: %w", name, err)
	}
	return File{Name: name, Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// reader stops reading when ctx ends, and counts.
type reader struct {
	ctx  context.Context
	r    io.Reader
	n    int64
	read func(n int64) // Gets the sum after each read, unless it is nil.
}

// Read reads from the inner reader.
func (r *reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.r.Read(b)
	r.n += int64(n)
	if r.read != nil {
		r.read(r.n)
	}
	return n, err
}
