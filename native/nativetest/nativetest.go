// Package nativetest gives tests the native libraries and models that they run on.
package nativetest

import (
	"os"
	"testing"

	"riposte/native"
)

// Required is the environment variable that, set to "required", lets a test fail instead of being skipped when what it
// runs on is not there.
const Required = "RIPOSTE_TEST_MODELS"

// File returns the path of the file of the model called name that its engine opens.
func File(t testing.TB, name string) string {
	t.Helper()
	path, err := open(t).File(name)
	return need(t, path, err)
}

// LlamaDir returns the folder of llama.cpp's shared libraries for the CPU.
func LlamaDir(t testing.TB) string {
	t.Helper()
	dir, err := open(t).LlamaDir(native.NoGPU)
	return need(t, dir, err)
}

// ONNXRuntime returns the path of ONNX Runtime's shared library.
func ONNXRuntime(t testing.TB) string {
	t.Helper()
	path, err := open(t).ONNXRuntime()
	return need(t, path, err)
}

func open(t testing.TB) *native.Store {
	t.Helper()
	s, err := native.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func need(t testing.TB, path string, err error) string {
	t.Helper()
	if err == nil {
		return path
	}
	if os.Getenv(Required) == "required" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}
