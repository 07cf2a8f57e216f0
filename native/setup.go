package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Plan says what set-up is to provide.
type Plan struct {
	Libraries bool // whisper.cpp, llama.cpp and ONNX Runtime.
	GPU       GPU  // What llama.cpp is built for.
	Server    bool // llama.cpp's own server, for the tests of remote engines.
	Models    []string
}

// DefaultModels names the models that the service needs as it is configured at first.
func DefaultModels() []string { return choose(func(m Model) bool { return m.Default }) }

// TestModels names the models that the tests need.
func TestModels() []string { return choose(func(m Model) bool { return m.Test }) }

// GPUTestModels names the models that the tests on a GPU need.
func GPUTestModels() []string { return []string{"smollm2-135m-instruct-q8_0"} }

func choose(wanted func(Model) bool) []string {
	var list []string
	for _, m := range Models() {
		if wanted(m) {
			list = append(list, m.Name)
		}
	}
	return list
}

// Pull provides the model called name, if it is not there yet.
func (s *Store) Pull(ctx context.Context, name string, progress Progress) error {
	return s.SetUp(ctx, Plan{Models: []string{name}}, progress)
}

// SetUp provides what the plan names and is not there yet. One set-up works at a time; another waits. It may be killed
// at any moment: what is there is whole, and the next one goes on from there.
func (s *Store) SetUp(ctx context.Context, p Plan, progress Progress) error {
	if progress == nil {
		progress = silent{}
	}
	ready, err := s.ready(ctx, p)
	if err != nil || ready {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return explain(err, s.dir)
	}
	release, err := lock(ctx, filepath.Join(s.dir, "lock"), func(holder string) {
		progress.Say("waiting for another set-up: " + holder)
	})
	if err != nil {
		return explain(err, s.dir)
	}
	defer release()
	return explain(s.provide(ctx, p, progress), s.dir)
}

// ready reports whether all that p names is there.
func (s *Store) ready(ctx context.Context, p Plan) (bool, error) {
	for _, name := range p.Models {
		if err := s.Verify(ctx, name, false); errors.Is(err, ErrUnknown) {
			return false, err
		} else if err != nil {
			return false, nil
		}
	}
	builds := p.builds()
	if len(builds) == 0 {
		return true, nil
	}
	compiler, err := compilerVersion(ctx)
	if err != nil {
		return false, err
	}
	for _, l := range builds {
		if _, err := s.find(l, compiler); err != nil {
			return false, nil
		}
	}
	if p.Libraries {
		_, err = s.ONNXRuntime()
	}
	return err == nil, nil
}

// builds returns what p has built.
func (p Plan) builds() (all []library) {
	if p.Libraries {
		all = append(all, whisperLibrary(), llamaLibrary(p.GPU))
	}
	if p.Server {
		all = append(all, llamaLibrary(NoGPU), llamaServer()) // which is linked to the one before
	}
	return all
}

// provide makes what is missing. The caller holds the lock.
func (s *Store) provide(ctx context.Context, p Plan, progress Progress) error {
	for _, dir := range []string{"models", "native", "downloads"} {
		if err := sweep(filepath.Join(s.dir, dir)); err != nil {
			return err
		}
	}
	if err := s.checkSpace(p); err != nil {
		return err
	}
	for _, l := range p.builds() { // what others wait for longest, and what can fail for want of a tool, comes first
		if err := s.build(ctx, l, progress); err != nil {
			return err
		}
	}
	if p.Libraries {
		if err := s.unpackONNX(ctx, progress); err != nil {
			return err
		}
	}
	for _, name := range p.Models {
		m, err := s.Model(name)
		if err != nil {
			return err
		}
		if s.check(m) == nil {
			continue
		}
		if err := s.makeModel(ctx, m, progress); err != nil {
			return err
		}
	}
	return s.forget()
}

// makeModel fetches and converts m.
func (s *Store) makeModel(ctx context.Context, m Model, progress Progress) error {
	var archives []string
	for _, p := range m.packages {
		path, err := s.download(ctx, p, progress)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		archives = append(archives, path)
	}
	in, err := openWheels(ctx, archives)
	if err != nil {
		return fmt.Errorf("model %s: %w", m.Name, err)
	}
	defer in.Close()
	err = runStep(progress, "making "+m.Name, m.make.unit(), func(step Step) error {
		return place(s.modelDir(m), func(dir string) error {
			var files []string
			for _, f := range m.Files {
				files = append(files, f.Name)
			}
			if err := m.make.cook(in, dir, files, step.Set); err != nil {
				return err
			}
			for _, want := range m.Files {
				got, err := describe(ctx, dir, want.Name)
				if err != nil {
					return err
				}
				if got != want {
					return fmt.Errorf("%w: %s was made with %d bytes and the SHA-256 %s instead of %d and %s",
						ErrHash, want.Name, got.Size, got.SHA256, want.Size, want.SHA256)
				}
			}
			return writeManifest(dir, manifest{Files: m.Files})
		})
	})
	if err != nil {
		return fmt.Errorf("model %s: %w", m.Name, err)
	}
	return nil
}
