// Package asset serves files that are embedded in the binary: the pages' scripts and styles.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// types are the content types of pages' files.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// File is one file. It is its own handler.
type File struct {
	Name         string // Without a folder.
	kind         string
	tag          string
	body, zipped []byte
}

// Files returns the files of a folder, which are in the binary.
func Files(folder fs.FS) []*File {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		panic(err) // they are in the binary
	}
	var all []*File
	for _, e := range entries {
		body, err := fs.ReadFile(folder, e.Name())
		if err != nil {
			panic(err)
		}
		f := &File{Name: e.Name(), kind: types[path.Ext(e.Name())], tag: Tag(body), body: body}
		var zipped bytes.Buffer
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // a level that there is
		_, _ = z.Write(body)                                       // to memory
		_ = z.Close()
		f.zipped = zipped.Bytes()
		all = append(all, f)
	}
	return all
}

// ServeHTTP writes the file, unless whoever asks has this very version.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // kept, and asked for again: the next version of the service may have another one
	h.Set("ETag", f.tag)
	h.Add("Vary", "Accept-Encoding")
	if Matches(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	body := f.body
	if TakesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	_, _ = w.Write(body) // whoever asked may be gone
}

// Tag returns the tag of a content, for the header ETag.
func Tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// TakesGzip reports whether whoever asks reads gzip.
func TakesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// Matches reports whether a header If-None-Match names the tag.
func Matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == tag || part == "*" {
			return true
		}
	}
	return false
}
