package native

import (
	_ "embed"
	"path/filepath"
)

// llamaServer is llama.cpp's own server, which tests ask as one on another machine. It is linked to the library that the service loads: to build
// that once more would be most of the work. Nothing of what is built here is in a hurry, so that the compiler need not do its best.
func llamaServer() library {
	base := llamaLibrary(NoGPU)
	return library{
		name: "llama-server", version: base.version, source: base.source, root: base.root, base: &base,
		flags: []string{
			"-DCMAKE_BUILD_TYPE=Release",
			"-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG",
			"-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
			"-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
			"-DBUILD_SHARED_LIBS=OFF",
			"-DLLAMA_OPENSSL=OFF",
			"-DLLAMA_SUBPROCESS=OFF",
			"-DLLAMA_BUILD_UI=OFF",
			"-DLLAMA_USE_PREBUILT_UI=OFF", // It would be fetched from elsewhere.
		},
		target: "llama-server", program: "llama-server",
		patches: []patch{{
			why: "a server alone", file: "CMakeLists.txt", text: serverProject, change: func([]byte) ([]byte, error) { return serverProject, nil },
		}},
	}
}

// serverProject is what of llama.cpp is built for its server.
//
//go:embed llamaserver.cmake
var serverProject []byte

// linked are the flags by which l finds its base: there while it is built, and beside itself when it runs.
func (s *Store) linked(l library, compiler string) ([]string, error) {
	if l.base == nil {
		return nil, nil
	}
	dir, err := s.find(*l.base, compiler)
	return []string{
		"-DRIPOSTE_LLAMA=" + filepath.Join(dir, "lib"), "-DCMAKE_INSTALL_RPATH=$ORIGIN/../" + filepath.Base(dir) + "/lib",
	}, err
}
