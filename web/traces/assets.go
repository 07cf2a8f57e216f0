package traces

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed page
var files embed.FS

// types are the content types of the page's files.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// asset is one of the page's files.
type asset struct {
	path         string // Where it is asked for.
	kind         string
	tag          string
	body, zipped []byte
}

// pageAssets returns the page's files.
func pageAssets() []*asset {
	var all []*asset
	entries, err := fs.ReadDir(files, "page")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, e := range entries {
		body, err := files.ReadFile("page/" + e.Name())
		if err != nil {
			panic(err)
		}
		a := &asset{path: "/traces/assets/" + e.Name(), kind: types[path.Ext(e.Name())], body: body}
		if e.Name() == "index.html" {
			a.path = "/traces"
		}
		sum := sha256.Sum256(body)
		a.tag = `"` + hex.EncodeToString(sum[:12]) + `"`
		var zipped bytes.Buffer
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // a level that there is
		_, _ = z.Write(body)                                       // to memory
		_ = z.Close()
		a.zipped = zipped.Bytes()
		all = append(all, a)
	}
	return all
}

// ServeHTTP writes the file, unless whoever asks has this very version.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // kept, and asked for again: the next version of the service may have another one
	h.Set("ETag", a.tag)
	h.Add("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	body := a.body
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	_, _ = w.Write(body) // whoever asked may be gone
}
