package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// library is a native library that is built here.
type library struct {
	name    string
	version string
	source  Package
	root    string   // The folder of the source distribution that holds it.
	flags   []string // For cmake.
	target  string   // What ninja is to build.
	headers []string // Folders of src whose *.h files are wanted.
	lib     string   // Suffixes of the libraries that are wanted, as a glob.
	patch   func(src string) error
}

// noAMX turns the tile instructions off. ggml takes their presence for leave to use them for quantised matrices, and
// dies of an illegal instruction where a virtual machine shows them and does not let them run.
const noAMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"

// commonFlags are the flags of both libraries. Both carry a copy of ggml.
func commonFlags() []string {
	flags := []string{
		"-DCMAKE_BUILD_TYPE=Release",
		"-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
		"-DGGML_OPENMP=ON",    // Its threads can be told to wait without spinning; ggml's own spin.
		"-DGGML_LLAMAFILE=ON", // The faster matrix code: it nearly halves Whisper's encoder.
		"-DGGML_NATIVE=ON",
		"-DGGML_CCACHE=OFF",
	}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-DCMAKE_C_FLAGS="+noAMX, "-DCMAKE_CXX_FLAGS="+noAMX)
	}
	return flags
}

// whisperLibrary is whisper.cpp, static with its ggml inside, so that llama.cpp's ggml never meets it.
func whisperLibrary() library {
	return library{
		name: "whisper", version: "1.8.5", source: whisperSource, root: "pywhispercpp-1.5.1/whisper.cpp",
		flags: append(commonFlags(),
			"-DBUILD_SHARED_LIBS=OFF",
			"-DWHISPER_BUILD_TESTS=OFF",
			"-DWHISPER_BUILD_EXAMPLES=OFF",
			"-DWHISPER_BUILD_SERVER=OFF",
		),
		target: "whisper", headers: []string{"include", "ggml/include"}, lib: "*.a",
	}
}

// llamaLibrary is llama.cpp as shared objects that find each other beside themselves.
func llamaLibrary(gpu GPU) library {
	l := library{
		name: "llama", version: "0.3.36", source: llamaSource, root: "llama_cpp_python-0.3.36/vendor/llama.cpp",
		flags: append(commonFlags(),
			"-DBUILD_SHARED_LIBS=ON",
			"-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
			"-DCMAKE_INSTALL_RPATH=$ORIGIN",
			"-DLLAMA_BUILD_COMMON=OFF",
			"-DLLAMA_BUILD_TESTS=OFF",
			"-DLLAMA_BUILD_EXAMPLES=OFF",
			"-DLLAMA_BUILD_TOOLS=OFF",
			"-DLLAMA_BUILD_SERVER=OFF",
			"-DLLAMA_BUILD_APP=OFF",
			"-DLLAMA_BUILD_UI=OFF",
			"-DLLAMA_OPENSSL=OFF",
		),
		target: "llama", lib: "*.so*",
	}
	switch gpu {
	case CUDA:
		l.flags = append(l.flags, "-DGGML_CUDA=ON")
	case Vulkan:
		l.flags = append(l.flags, "-DGGML_VULKAN=ON")
		l.patch = patchVulkan
	}
	return l
}

// wanted is the build of l that this machine runs, without the compiler.
func (l library) wanted() (build, error) {
	cpu, err := cpuFeatures()
	if err != nil {
		return build{}, err
	}
	flags := strings.Join(l.flags, " ")
	for _, name := range []string{"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"} {
		if v := os.Getenv(name); v != "" {
			flags += " " + name + "=" + v
		}
	}
	return build{Library: l.name + " " + l.version, Source: l.source.SHA256, Flags: flags, CPU: cpu}, nil
}

// find returns the folder of a build of l that runs here. With compiler it must have been made with that one; without,
// with any.
func (s *Store) find(l library, compiler string) (string, error) {
	want, err := l.wanted()
	if err != nil {
		return "", err
	}
	dirs, err := filepath.Glob(filepath.Join(s.dir, "native", l.name+"-"+l.version+"-*"))
	if err != nil {
		return "", err
	}
	var damaged error
	elsewhere := 0
	for _, dir := range dirs {
		if strings.Contains(dir, makingMark) || strings.HasSuffix(dir, oldMark) {
			continue
		}
		m, err := readManifest(dir)
		if err != nil {
			damaged = err
			continue
		}
		if m.Build == nil || !want.runsHere(*m.Build) || compiler != "" && compiler != m.Build.Compiler {
			elsewhere++
			continue
		}
		if err := checkSizes(dir, m.Files); err != nil {
			damaged = err
			continue
		}
		return dir, nil
	}
	switch {
	case damaged != nil:
		return "", fmt.Errorf("%s.cpp: %w", l.name, damaged)
	case elsewhere > 0:
		return "", fmt.Errorf("%s.cpp: %w for this CPU and these flags (there are %d others)", l.name, ErrMissing, elsewhere)
	}
	return "", fmt.Errorf("%s.cpp: %w", l.name, ErrMissing)
}

// build builds l where it is not there yet.
func (s *Store) build(ctx context.Context, l library, progress Progress) error {
	compiler, err := compilerVersion(ctx)
	if err != nil {
		return err
	}
	if _, err := s.find(l, compiler); err == nil {
		return nil
	}
	want, err := l.wanted()
	if err != nil {
		return err
	}
	want.Compiler = compiler
	for _, tool := range []string{"cmake", "ninja"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("building %s.cpp: %w: %s (Debian: apt-get install cmake ninja-build)", l.name, ErrTool, tool)
		}
	}
	archive, err := s.download(ctx, l.source, progress)
	if err != nil {
		return err
	}
	final := filepath.Join(s.dir, "native", l.name+"-"+l.version+"-"+want.key())
	err = place(final, func(dir string) error { return s.compile(ctx, l, want, archive, dir, progress) })
	if err != nil {
		return fmt.Errorf("building %s.cpp: %w", l.name, err)
	}
	return nil
}

// compile fills dir with the finished build.
func (s *Store) compile(ctx context.Context, l library, want build, archive, dir string, progress Progress) error {
	src, obj := filepath.Join(dir, "src"), filepath.Join(dir, "build")
	if err := s.step(progress, "unpacking "+l.name+".cpp", Bytes, func(step Step) error {
		return untar(ctx, archive, l.root, src, func(n int64) { step.Set(n, l.source.Size) })
	}); err != nil {
		return err
	}
	if l.patch != nil {
		if err := l.patch(src); err != nil {
			return err
		}
	}
	if err := s.step(progress, "configuring "+l.name+".cpp", Pieces, func(Step) error {
		args := append([]string{"-G", "Ninja", "-S", src, "-B", obj}, l.flags...)
		return runLogged(exec.CommandContext(ctx, "cmake", args...), s.log(l.name+"-configure"), nil)
	}); err != nil {
		return err
	}
	if err := s.step(progress, "building "+l.name+".cpp", Pieces, func(step Step) error {
		// ninja itself, not through cmake: when it dies, all that outlives it is the one compilation per core under way.
		cmd := exec.CommandContext(ctx, "ninja", "-C", obj, "-j", strconv.Itoa(runtime.NumCPU()), l.target)
		cmd.Env = append(os.Environ(), "NINJA_STATUS=[%f/%t] ")
		return runLogged(cmd, s.log(l.name+"-build"), func(line string) {
			var done, total int64
			if n, _ := fmt.Sscanf(line, "[%d/%d]", &done, &total); n == 2 {
				step.Set(done, total)
			}
		})
	}); err != nil {
		return err
	}
	if err := l.collect(src, obj, dir); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(src), os.RemoveAll(obj)); err != nil {
		return err
	}
	files, err := describeAll(ctx, dir)
	if err != nil {
		return err
	}
	return writeManifest(dir, manifest{Files: files, Build: &want})
}

// collect moves the headers, libraries and the licence of a build into dir.
func (l library) collect(src, obj, dir string) error {
	include, lib := filepath.Join(dir, "include"), filepath.Join(dir, "lib")
	if err := errors.Join(os.Mkdir(include, 0o755), os.Mkdir(lib, 0o755)); err != nil {
		return err
	}
	for _, h := range l.headers {
		found, err := filepath.Glob(filepath.Join(src, h, "*.h"))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.Rename(path, filepath.Join(include, filepath.Base(path))); err != nil {
				return err
			}
		}
	}
	libraries := 0
	err := filepath.WalkDir(obj, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if wanted, err := filepath.Match("lib"+l.lib, e.Name()); err != nil || !wanted {
			return err
		}
		libraries++
		return os.Rename(path, filepath.Join(lib, e.Name()))
	})
	if err != nil {
		return err
	}
	if libraries == 0 {
		return fmt.Errorf("%w: the build left no library", ErrMissing)
	}
	return os.Rename(filepath.Join(src, "LICENSE"), filepath.Join(dir, "LICENSE"))
}

// step runs do as one step of progress.
func (s *Store) step(progress Progress, title string, unit Unit, do func(Step) error) error {
	step := progress.Begin(title, unit)
	err := do(step)
	step.End(err)
	return err
}
