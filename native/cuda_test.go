package native

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBuildForCUDANeedsItsCompiler(t *testing.T) {
	if _, err := os.Stat(filepath.Join(cudaDir, "bin", "nvcc")); err == nil {
		t.Skip("this machine has the CUDA toolkit")
	}
	s, l := fakeLibrary(t)
	l.gpu = CUDA
	fakeToolchain(t, `mkdir sub; echo code >sub/liblib.a`)
	t.Setenv("PATH", withoutNVCC())
	if err := s.build(t.Context(), l, silent{}); !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), "nvcc") {
		t.Errorf("without nvcc: %v", err)
	}
	if got := entries(t, s.dir); got != "" {
		t.Errorf("without nvcc there is %s", got)
	}
	program(t, "nvcc", "exit 1\n")
	if err := s.build(t.Context(), l, silent{}); err != nil {
		t.Fatal(err)
	}
}

// withoutNVCC is PATH without the folders that hold an nvcc.
func withoutNVCC() string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "nvcc"))
		return err == nil
	})
	return strings.Join(dirs, string(os.PathListSeparator))
}

func TestBuildForCUDAWithoutGPU(t *testing.T) {
	s, l := fakeLibrary(t)
	l.gpu = CUDA
	fakeToolchain(t, "exit 1")
	program(t, "nvcc", "exit 1\n")
	program(t, "cmake", `echo 'CMake Error in ggml/src/ggml-cuda/CMakeLists.txt:'
echo '  CUDA_ARCHITECTURES is set to "native", but no GPU was detected.'
exit 1
`)
	if err := s.build(t.Context(), l, silent{}); err == nil || !strings.Contains(err.Error(), "set CUDAARCHS to") {
		t.Errorf("error = %v", err)
	}
}

func TestBuildsForCUDADifferByGPU(t *testing.T) {
	flags := func() string {
		b, err := llamaLibrary(CUDA).wanted()
		if err != nil {
			t.Fatal(err)
		}
		return b.Flags
	}
	t.Setenv(cudaArchs, "")
	if f := flags(); !strings.Contains(f, "-DGGML_CUDA=ON") || strings.Contains(f, "CMAKE_CUDA_ARCHITECTURES") || !strings.Contains(f, " GPU=") {
		t.Errorf("for the GPUs that are here: %s", f)
	}
	t.Setenv(cudaArchs, "86;89")
	if f := flags(); !strings.Contains(f, "-DCMAKE_CUDA_ARCHITECTURES=86;89") || strings.Contains(f, " GPU=") {
		t.Errorf("for those that are named: %s", f)
	}
}

func TestNvidiaGPUs(t *testing.T) {
	dir := t.TempDir()
	for bus, text := range map[string]string{
		"0000:01:00.0": "Model: \t\t NVIDIA L4\nIRQ:   \t\t 49\n",
		"0000:02:00.0": "Model: \t\t NVIDIA A10\n",
		"0000:03:00.0": "Model: \t\t NVIDIA L4\n",
	} {
		if err := os.Mkdir(filepath.Join(dir, bus), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, bus, "information"), text)
	}
	if got, err := nvidiaGPUs(dir); err != nil || strings.Join(got, ", ") != "NVIDIA A10, NVIDIA L4" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := nvidiaGPUs(filepath.Join(dir, "none")); err != nil || len(got) != 0 {
		t.Errorf("without a driver: %q, %v", got, err)
	}
}
