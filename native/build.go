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
	"slices"
	"strconv"
	"strings"
)

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
		return "", fmt.Errorf("%s: %w", l.title(), damaged)
	case elsewhere > 0:
		return "", fmt.Errorf("%s: %w for this CPU and these flags (there are %d others)", l.title(), ErrMissing, elsewhere)
	}
	return "", fmt.Errorf("%s: %w", l.title(), ErrMissing)
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
			return fmt.Errorf("building %s: %w: %s (Debian: apt-get install cmake ninja-build)", l.title(), ErrTool, tool)
		}
	}
	if l.gpu == CUDA {
		if _, err := FindNVCC(); err != nil { // Before anything is fetched.
			return fmt.Errorf("building %s: %w", l.title(), err)
		}
	}
	archive, err := s.download(ctx, l.source, progress)
	if err != nil {
		return err
	}
	final := filepath.Join(s.dir, "native", l.name+"-"+l.version+"-"+want.key())
	err = place(final, func(dir string) error { return s.compile(ctx, l, want, archive, dir, progress) })
	if err != nil {
		return fmt.Errorf("building %s: %w", l.title(), err)
	}
	return nil
}

// compile fills dir with the finished build.
func (s *Store) compile(ctx context.Context, l library, want build, archive, dir string, progress Progress) error {
	src, obj := filepath.Join(dir, "src"), filepath.Join(dir, "build")
	if err := runStep(progress, "unpacking "+l.title(), Bytes, func(step Step) error {
		return untar(ctx, archive, l.root, src, func(n int64) { step.Set(n, l.source.Size) })
	}); err != nil {
		return err
	}
	for _, p := range l.patches {
		if err := p.apply(src); err != nil {
			return err
		}
	}
	linked, err := s.linked(l, want.Compiler)
	if err != nil {
		return err
	}
	if err := runStep(progress, "configuring "+l.title(), Pieces, func(step Step) error {
		cmd := exec.CommandContext(ctx, "cmake", slices.Concat([]string{"-G", "Ninja", "-S", src, "-B", obj}, l.flags, linked)...)
		if l.gpu == CUDA {
			var err error
			if cmd.Env, err = cudaTools(); err != nil {
				return err
			}
		}
		checks := int64(0) // cmake does not say how many there will be.
		return runLogged(cmd, s.log(l.name+"-configure"), func(string) {
			checks++
			step.Set(checks, 0)
		})
	}); err != nil {
		return explainCUDA(err)
	}
	if err := runStep(progress, "building "+l.title(), Pieces, func(step Step) error {
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

// collect moves the headers and libraries of a build, or its program, and the licence into dir.
func (l library) collect(src, obj, dir string) error {
	if l.program != "" {
		if err := os.Rename(filepath.Join(obj, "bin", l.program), filepath.Join(dir, l.program)); err != nil {
			return err
		}
		return os.Rename(filepath.Join(src, "LICENSE"), filepath.Join(dir, "LICENSE"))
	}
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
