package native

import "fmt"

// GPU says which accelerator llama.cpp is built for.
type GPU string

// The accelerators. A build for one of them computes on the CPU as well, with none of the model's layers on a GPU. Its
// driver's library (libcuda.so.1 or libvulkan.so.1) has to be there all the same.
const (
	NoGPU  GPU = "none"
	CUDA   GPU = "cuda"   // NVIDIA; needs the CUDA toolkit.
	Vulkan GPU = "vulkan" // Any vendor; needs a Vulkan driver.
)

// ParseGPU reads the name of an accelerator. The empty name is NoGPU.
func ParseGPU(name string) (GPU, error) {
	switch g := GPU(name); g {
	case "":
		return NoGPU, nil
	case NoGPU, CUDA, Vulkan:
		return g, nil
	}
	return NoGPU, fmt.Errorf("unknown GPU %q: it is one of %s, %s and %s", name, NoGPU, CUDA, Vulkan)
}
