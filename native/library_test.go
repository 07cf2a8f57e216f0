package native

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tarball is a source distribution for tests: names with content, all under "lib-1".
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}
		if err := errors.Join(w.WriteHeader(h), func() error { _, err := w.Write([]byte(content)); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fakeToolchain puts a compiler, a cmake and a ninja in PATH that only pretend; ninja ends with the given commands, run
// in the build folder.
func fakeToolchain(t *testing.T, ninja string) {
	t.Helper()
	t.Setenv("CXX", "c++")
	program(t, "c++", "echo pretending compiler 1\n")
	program(t, "cmake", `while [ "$1" != -B ]; do shift; done; mkdir "$2"`+"\n")
	program(t, "ninja", `cd "$2" || exit 1; echo "[1/2] first"; echo "[2/2] second"`+"\n"+ninja+"\n")
}

// fakeLibrary is a library with its source, in a store that can fetch it.
func fakeLibrary(t *testing.T) (*Store, library) {
	t.Helper()
	source := tarball(t, map[string]string{
		"lib-1/inner/LICENSE":       "free",
		"lib-1/inner/include/lib.h": "int lib(void);",
		"lib-1/other/file":          "not wanted",
	})
	l := library{
		name: "lib", version: "1", root: "lib-1/inner", target: "lib", headers: []string{"include"}, lib: "*.a",
		source: Package{Name: "lib", Version: "1", Kind: Source, File: "lib-1.tar.gz", SHA256: hashOf(source), Size: int64(len(source))},
	}
	s := &Store{dir: t.TempDir(), fetch: func(_ context.Context, p Package, dir, _ string, _ func(int64)) error {
		return os.WriteFile(filepath.Join(dir, p.File), source, 0o644)
	}}
	return s, l
}

func TestBuild(t *testing.T) {
	s, l := fakeLibrary(t)
	fakeToolchain(t, `mkdir sub; echo code >sub/liblib.a; echo object >lib.o; ln -s liblib.a sub/liblib2.a`)
	if _, err := s.find(l, ""); !errors.Is(err, ErrMissing) {
		t.Errorf("before it is built: %v", err)
	}
	if err := s.build(t.Context(), l, silent{}); err != nil {
		t.Fatal(err)
	}
	dir, err := s.find(l, "pretending compiler 1")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{"": "LICENSE include lib manifest.json", "include": "lib.h", "lib": "liblib.a liblib2.a"} {
		if got := entries(t, filepath.Join(dir, folder)); got != want {
			t.Errorf("%q holds %s, want %s", folder, got, want)
		}
	}
	if got := entries(t, filepath.Join(s.dir, "native")); got != filepath.Base(dir) {
		t.Errorf("beside it: %s", got)
	}

	// With another compiler it has to be built anew, though it still runs.
	if _, err := s.find(l, "another compiler"); !errors.Is(err, ErrMissing) {
		t.Errorf("with another compiler: %v", err)
	}
	// With other flags, or on another CPU, it is not the same.
	other := l
	other.flags = []string{"-DX=ON"}
	if _, err := s.find(other, ""); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "1 others") {
		t.Errorf("with other flags: %v", err)
	}
	if err := os.Truncate(filepath.Join(dir, "lib", "liblib.a"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.find(l, ""); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut off: %v", err)
	}
	if err := s.build(t.Context(), l, silent{}); err != nil {
		t.Fatal(err)
	}
	if again, err := s.find(l, ""); err != nil || again != dir {
		t.Errorf("built again: %s, %v", again, err)
	}
}

// A program is linked to a library that was built before, and found anew where that is another one.
func TestBuildOn(t *testing.T) {
	s, base := fakeLibrary(t)
	l := base
	l.name, l.program, l.base = "server", "server", &base
	fakeToolchain(t, "mkdir bin; echo code >bin/server; echo code >liblib.a")
	if err := s.build(t.Context(), l, silent{}); !errors.Is(err, ErrMissing) {
		t.Errorf("without what it is linked to: %v", err)
	}
	for _, l := range []library{base, l} {
		if err := s.build(t.Context(), l, silent{}); err != nil {
			t.Fatal(err)
		}
	}
	below, err := s.find(base, "")
	if err != nil {
		t.Fatal(err)
	}
	if log, err := os.ReadFile(s.log("server-configure")); err != nil ||
		!strings.Contains(string(log), " -DRIPOSTE_LLAMA="+below+"/lib -DCMAKE_INSTALL_RPATH=$ORIGIN/../"+filepath.Base(below)+"/lib") {
		t.Errorf("it was configured by %s, %v", log, err)
	}
	dir, err := s.find(l, "")
	if err != nil || entries(t, dir) != "LICENSE manifest.json server" {
		t.Errorf("%v: %s", err, entries(t, dir))
	}
	other := base
	other.flags = []string{"-DX=ON"}
	l.base = &other
	if _, err := s.find(l, ""); !errors.Is(err, ErrMissing) {
		t.Errorf("with another library below: %v", err)
	}
}

func TestBuildFails(t *testing.T) {
	s, l := fakeLibrary(t)
	fakeToolchain(t, "echo 'lib.c:3:1: error: unknown type'; exit 1")
	err := s.build(t.Context(), l, silent{})
	if err == nil {
		t.Fatal("no error")
	}
	log := s.log("lib-build")
	for _, want := range []string{"building lib.cpp", "lib.c:3:1: error: unknown type", log} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "[2/2] second") {
		t.Errorf("the log: %q, %v", b, err)
	}
	if got := entries(t, filepath.Join(s.dir, "native")); got != "" {
		t.Errorf("left behind: %s", got)
	}
	fakeToolchain(t, "true")
	if err := s.build(t.Context(), l, silent{}); !errors.Is(err, ErrMissing) {
		t.Errorf("a build that leaves no library: %v", err)
	}
}

func TestBuildNeedsTools(t *testing.T) {
	s, l := fakeLibrary(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CXX", "")
	if err := s.build(t.Context(), l, silent{}); !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), "g++") {
		t.Errorf("without a compiler: %v", err)
	}
	program(t, "c++", "echo compiler\n")
	if err := s.build(t.Context(), l, silent{}); !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), "cmake") {
		t.Errorf("without cmake: %v", err)
	}
}

func TestUntarStaysInside(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "evil.tar.gz")
	write(t, archive, string(tarball(t, map[string]string{"lib-1/../../evil": "x"})))
	dir := t.TempDir()
	if err := untar(t.Context(), archive, "lib-1", filepath.Join(dir, "to"), func(int64) {}); err == nil {
		t.Error("no error")
	}
	if got := entries(t, dir); got != "" {
		t.Errorf("unpacked: %s", got)
	}
}

func TestGuardVulkanSettings(t *testing.T) {
	code := "before\n" + vulkanSettingsBegin + "    settings\n" + vulkanSettingsEnd + "after\n"
	want := "before\n#ifdef VK_EXT_layer_settings\n" + vulkanSettingsBegin + "    settings\n" + vulkanSettingsEnd +
		"#else\n" + vulkanWithout + "#endif\nafter\n"
	got, err := guardVulkanSettings([]byte(code))
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := guardVulkanSettings([]byte("something else")); !errors.Is(err, ErrHash) {
		t.Errorf("other code: %v", err)
	}
}

func TestEditSources(t *testing.T) {
	for _, edits := range [][]insertion{attentionEdits, silenceEdits} {
		var code, want string
		for _, e := range edits {
			code += "code\n" + e.before
			want += "code\n" + e.insert + e.before
		}
		got, err := insert([]byte(code), edits)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
		for _, other := range []string{"something else", code + code} {
			if _, err := insert([]byte(other), edits); !errors.Is(err, ErrHash) {
				t.Errorf("other code: %v", err)
			}
		}
	}
}
