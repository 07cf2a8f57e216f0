//go:build cgo

package onnx

import (
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// loaded is the library that the process runs. ONNX Runtime allows one environment per process and does not survive
// being unloaded, so this is the one place where the package keeps state of its own.
var loaded struct {
	sync.Mutex
	path string
}

// Runtime is a loaded ONNX Runtime. It is safe for use by many goroutines at once.
type Runtime struct {
	path string
}

// Start loads the shared library at path, or joins it where it was loaded before. It stays loaded until the process
// ends: there is nothing to close. Starting a second, different library fails with ErrOtherLibrary.
func Start(path string) (*Runtime, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.path == "" {
		ort.SetSharedLibraryPath(path)
		if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
			return nil, fmt.Errorf("onnx: load %s: %w", path, err)
		}
		loaded.path = path
	}
	if loaded.path != path {
		return nil, fmt.Errorf("%w: %s, not %s", ErrOtherLibrary, loaded.path, path)
	}
	return &Runtime{path: path}, nil
}

// Version returns the version of the library, such as "1.32.0".
func (r *Runtime) Version() string { return ort.GetVersion() }

// String returns the path of the library.
func (r *Runtime) String() string { return r.path }

// newOptions turns o into the runtime's own settings. The caller destroys them.
func newOptions(o Options) (*ort.SessionOptions, error) {
	so, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	level := ort.GraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll)
	if o.Verbatim {
		level = ort.GraphOptimizationLevelDisableAll
	}
	for _, set := range []func() error{
		func() error { return so.SetIntraOpNumThreads(max(1, o.Threads)) },
		func() error { return so.SetInterOpNumThreads(1) },
		func() error { return so.SetExecutionMode(ort.ExecutionModeSequential) },
		func() error { return so.SetGraphOptimizationLevel(level) },
		// What goes wrong is returned; a run that ended with its context would be logged as an error of its own.
		func() error { return so.SetLogSeverityLevel(ort.LoggingLevelFatal) },
		// A thread that waits by spinning takes the core from the engine that it waits for.
		func() error { return so.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
		func() error { return so.AddSessionConfigEntry("session.inter_op.allow_spinning", "0") },
		// Patterns are remembered per shape; speech has a new shape for every clause, so they would only grow.
		func() error { return so.SetMemPattern(false) },
		func() error { return so.SetCpuMemArena(true) },
	} {
		if err := set(); err != nil {
			so.Destroy()
			return nil, err
		}
	}
	return so, nil
}
