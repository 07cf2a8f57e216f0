package native

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// library is a native library that is built here.
type library struct {
	name    string
	version string
	source  Package
	root    string   // The folder of the source distribution that holds it.
	flags   []string // For cmake.
	gpu     GPU      // What it is built for, besides the CPU.
	target  string   // What ninja is to build.
	headers []string // Folders of src whose *.h files are wanted.
	lib     string   // Suffixes of the libraries that are wanted, as a glob; empty for none.
	program string   // The program that is wanted; empty for none.
	base    *library // What it is linked to, which has to be there before; nil for nothing.
	patches []patch
}

// title is what people call l.
func (l library) title() string {
	if l.program != "" {
		return l.name
	}
	return l.name + ".cpp"
}

// noAMX turns the tile instructions off. ggml takes their presence for leave to use them for quantised matrices, and
// dies of an illegal instruction where a virtual machine shows them and does not let them run.
const noAMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"

// commonFlags are the flags of both libraries. Both carry a copy of ggml.
func commonFlags() []string {
	flags := []string{
		"-DCMAKE_BUILD_TYPE=Release",
		"-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
		"-DGGML_OPENMP=ON",    // Its threads can be told to wait without spinning; ggml's own spin.
		"-DGGML_LLAMAFILE=ON", // The faster matrix code: it nearly halves Whisper's encoder.
		"-DGGML_NATIVE=ON",
		"-DGGML_CCACHE=OFF",
	}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-DCMAKE_C_FLAGS="+noAMX, "-DCMAKE_CXX_FLAGS="+noAMX)
	}
	return flags
}

// whisperLibrary is whisper.cpp, static with its ggml inside, so that llama.cpp's ggml never meets it.
func whisperLibrary() library {
	return library{
		name: "whisper", version: "1.8.5", source: whisperSource, root: "pywhispercpp-1.5.1/whisper.cpp",
		flags: append(commonFlags(),
			"-DBUILD_SHARED_LIBS=OFF",
			"-DWHISPER_BUILD_TESTS=OFF",
			"-DWHISPER_BUILD_EXAMPLES=OFF",
			"-DWHISPER_BUILD_SERVER=OFF",
		),
		target: "whisper", headers: []string{"include", "ggml/include"}, lib: "*.a",
		patches: []patch{silencePatch()},
	}
}

// llamaLibrary is llama.cpp as shared objects that find each other beside themselves.
func llamaLibrary(gpu GPU) library {
	l := library{
		gpu: gpu, name: "llama", version: "0.3.36", source: llamaSource, root: "llama_cpp_python-0.3.36/vendor/llama.cpp",
		flags: append(commonFlags(),
			"-DBUILD_SHARED_LIBS=ON",
			"-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
			"-DCMAKE_INSTALL_RPATH=$ORIGIN",
			"-DLLAMA_BUILD_COMMON=OFF",
			"-DLLAMA_BUILD_TESTS=OFF",
			"-DLLAMA_BUILD_EXAMPLES=OFF",
			"-DLLAMA_BUILD_TOOLS=OFF",
			"-DLLAMA_BUILD_SERVER=OFF",
			"-DLLAMA_BUILD_APP=OFF",
			"-DLLAMA_BUILD_UI=OFF",
			"-DLLAMA_OPENSSL=OFF",
		),
		target: "llama", lib: "*.so*",
		patches: []patch{attentionPatch()},
	}
	switch gpu {
	case CUDA:
		l.flags = append(l.flags, cudaFlags()...)
	case Vulkan:
		l.flags = append(l.flags, "-DGGML_VULKAN=ON")
		l.patches = append(l.patches, vulkanPatch())
	}
	return l
}

// wanted is the build of l that this machine runs, without the compiler.
func (l library) wanted() (build, error) {
	cpu, err := cpuFeatures()
	if err != nil {
		return build{}, err
	}
	flags := strings.Join(l.flags, " ")
	for _, name := range []string{"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"} {
		if v := os.Getenv(name); v != "" {
			flags += " " + name + "=" + v
		}
	}
	if l.gpu == CUDA && os.Getenv(cudaArchs) == "" {
		models, err := nvidiaGPUs("/proc/driver/nvidia/gpus")
		if err != nil {
			return build{}, err
		}
		flags += " GPU=" + strings.Join(models, ", ")
	}
	if l.base != nil {
		base, err := l.base.wanted()
		if err != nil {
			return build{}, err
		}
		flags += " base=" + base.key()
	}
	for _, p := range l.patches {
		if len(p.text) > 0 {
			flags += fmt.Sprintf(" patch=%x", sha256.Sum256(p.text))
		}
	}
	return build{Library: l.name + " " + l.version, Source: l.source.SHA256, Flags: flags, CPU: cpu}, nil
}
