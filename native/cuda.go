package native

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cudaDir is where NVIDIA's installers put the CUDA toolkit, which they do not put into PATH.
const cudaDir = "/usr/local/cuda"

// cudaArchs is the environment variable, CMake's own, that names the GPUs to build for by their compute capability, such
// as 89. Without it the build is for the GPUs that are in this machine, and there must be one.
const cudaArchs = "CUDAARCHS"

// cudaFlags are those that a build for CUDA has besides. The toolkit's libraries are looked for beside llama.cpp, in
// their usual folder and in the system's.
func cudaFlags() []string {
	flags := []string{"-DGGML_CUDA=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN;" + cudaDir + "/lib64"}
	if archs := os.Getenv(cudaArchs); archs != "" {
		return append(flags, "-DCMAKE_CUDA_ARCHITECTURES="+archs)
	}
	return flags
}

// FindNVCC returns the path of CUDA's compiler: that in PATH, else that of the toolkit's usual folder. Without one it
// is an ErrTool.
func FindNVCC() (string, error) {
	for _, name := range []string{"nvcc", filepath.Join(cudaDir, "bin", "nvcc")} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: nvcc, the compiler of the CUDA toolkit, is neither in PATH nor in %s/bin (NVIDIA: developer.nvidia.com/cuda-downloads; Debian: nvidia-cuda-toolkit, in non-free)",
		ErrTool, cudaDir)
}

// cudaTools is this process's environment, so that CMake finds CUDA's compiler in it. It looks for the toolkit in its usual folder too,
// and for the compiler only in PATH.
func cudaTools() ([]string, error) {
	nvcc, err := FindNVCC()
	if err != nil {
		return nil, err
	}
	return append(os.Environ(), "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(nvcc)), nil
}

// explainCUDA adds to a failed build what can be done about a machine without a GPU.
func explainCUDA(err error) error {
	var failed *commandError
	if errors.As(err, &failed) && failed.says("no GPU was detected") {
		return fmt.Errorf("%w (set %s to the compute capability of the GPU that the build is for, such as 89, here and where it runs)", err, cudaArchs)
	}
	return err
}

// nvidiaGPUs names the GPUs that NVIDIA's driver shows in dir, /proc/driver/nvidia/gpus, each once. There are none where
// the driver is not, and under Windows.
func nvidiaGPUs(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "information"))
	if err != nil {
		return nil, err
	}
	var models []string
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if name, model, _ := strings.Cut(lines.Text(), ":"); name == "Model" {
				models = append(models, strings.TrimSpace(model))
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	slices.Sort(models)
	return slices.Compact(models), nil
}
