package native

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// patch is a change of ours to a file of a library's sources.
type patch struct {
	why    string // Completes "patching for".
	file   string // Below the sources, with slashes.
	change func(code []byte) ([]byte, error)
	text   []byte // Makes builds with other texts others; empty where the pinned sources say all.
}

// apply changes the sources in a folder.
func (p patch) apply(src string) error {
	path := filepath.Join(src, filepath.FromSlash(p.file))
	code, err := os.ReadFile(path)
	if err == nil {
		code, err = p.change(code)
	}
	if err != nil {
		return fmt.Errorf("patching %s for %s: %w", filepath.Base(path), p.why, err)
	}
	return os.WriteFile(path, code, 0o644)
}

// insertion is a text of ours in front of a place in a source file.
type insertion struct{ before, insert string }

// insert makes insertions, one after the other, each at a place that must be there exactly once.
func insert(code []byte, all []insertion) ([]byte, error) {
	for _, i := range all {
		if n := bytes.Count(code, []byte(i.before)); n != 1 {
			return nil, fmt.Errorf("%w: it does not look as expected: %d places instead of 1 with %.80q", ErrHash, n, i.before)
		}
		code = bytes.Replace(code, []byte(i.before), []byte(i.insert+i.before), 1)
	}
	return code, nil
}

// inserting is a patch that makes insertions.
func inserting(why, file string, all []insertion) patch {
	p := patch{why: why, file: file, change: func(code []byte) ([]byte, error) { return insert(code, all) }}
	for _, i := range all {
		p.text = append(append(p.text, i.before...), i.insert...)
	}
	return p
}
