// Package nativetest gives tests the native libraries and models that they run on.
package nativetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"riposte/native"
)

// Required is the environment variable that, set to "required", lets a test fail instead of being skipped when what it
// runs on is not there.
const Required = "RIPOSTE_TEST_MODELS"

// GPU is the environment variable that names the accelerator that tests are to run on: cuda or vulkan.
const GPU = "RIPOSTE_TEST_GPU"

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

// LlamaGPUDir returns the folder of llama.cpp's shared libraries for the accelerator that GPU names. The test is skipped
// where it names none: a process can load llama.cpp from one folder only, so tests on a GPU are run by themselves.
func LlamaGPUDir(t testing.TB) string {
	t.Helper()
	name := os.Getenv(GPU)
	if name == "" {
		t.Skipf("%s does not say on what GPU (make test-gpu does)", GPU)
	}
	gpu, err := native.ParseGPU(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := open(t).LlamaDir(gpu)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Server is the environment variable that, set to "required", lets a test fail instead of being skipped when llama.cpp's own server is not there:
// it takes some minutes to build, so make test does without it.
const Server = "RIPOSTE_TEST_LLAMA_SERVER"

// LlamaServer returns the path of llama.cpp's own server.
func LlamaServer(t testing.TB) string {
	t.Helper()
	path, err := open(t).LlamaServer()
	if err != nil && os.Getenv(Server) != "required" {
		t.Skip(err)
	}
	return need(t, path, err)
}

// ONNXRuntime returns the path of ONNX Runtime's shared library.
func ONNXRuntime(t testing.TB) string {
	t.Helper()
	path, err := open(t).ONNXRuntime()
	return need(t, path, err)
}

// Recording returns the path of the speech that comes with the Whisper bindings: 11 s of John F. Kennedy at 16 kHz, "And so,
// my fellow Americans: ask not what your country can do for you, ask what you can do for your country."
func Recording(t testing.TB) string {
	t.Helper()
	path, err := recording()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// recording asks the go command, which takes its time, once.
var recording = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ggerganov/whisper.cpp/bindings/go").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "samples", "jfk.wav"), err
})

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
