package traces

import (
	"embed"
	"io/fs"

	"riposte/web/asset"
)

//go:embed page
var files embed.FS

// pageAssets returns the page's files by where they are asked for.
func pageAssets() map[string]*asset.File {
	folder, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // it is in the binary
	}
	all := map[string]*asset.File{}
	for _, f := range asset.Files(folder) {
		path := "/traces/assets/" + f.Name
		if f.Name == "index.html" {
			path = "/traces"
		}
		all[path] = f
	}
	return all
}
