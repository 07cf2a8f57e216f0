package llama

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"riposte/llm"
	"riposte/native/nativetest"
)

// What a conversation of these tests begins with, and what it goes on with. The model is to repeat words. A GPU adds up
// in another order than a CPU, and rounds its factors otherwise, so where two words are nearly as likely their answers
// may differ and both be right. These do not come near that: at each token that the model says here, the likeliest is
// ahead of the next by at least 1.5 of the natural logarithm of their odds.
var repeats = []llm.Message{
	{Role: llm.System, Text: "Repeat."},
	{Role: llm.User, Text: "red green blue"}, {Role: llm.Assistant, Text: "red green blue"},
}

// exchange is one question, with the answer to it that was heard.
type exchange struct{ asked, heard string }

// repeat asks for words, after what was asked and heard before in the conversation.
func repeat(conversation, words string, before ...exchange) llm.Request {
	m := repeats[:len(repeats):len(repeats)]
	for _, e := range before {
		m = append(m, llm.Message{Role: llm.User, Text: e.asked}, llm.Message{Role: llm.Assistant, Text: e.heard})
	}
	return llm.Request{Conversation: conversation, MaxTokens: 12, Messages: append(m, llm.Message{Role: llm.User, Text: words})}
}

// openOn opens an engine of the build for the GPU under test, with so many layers on it. Memory and batches are small,
// because the GPU may be one in software, which computes four tokens of a prompt a second and says not even one.
// What llama.cpp says meanwhile is returned.
func openOn(t *testing.T, layers int, options ...func(*Engine)) (e *Engine, said string) {
	t.Helper()
	var log logged
	e = &Engine{
		LibDir: nativetest.LlamaGPUDir(t), Model: nativetest.File(t, testModel), GPULayers: layers,
		Conversations: 2, ContextTokens: 256, Batch: 8,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, o := range options {
		o(e)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, log.String()
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes a record.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// devicesUnderTest lists the GPUs. There is at least one.
func devicesUnderTest(t *testing.T) []Device {
	t.Helper()
	list, err := Devices(nativetest.LlamaGPUDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		t.Logf("%s: %s, %d of %d MiB free", d.Name, d.Description, d.Free>>20, d.Total>>20)
	}
	if len(list) == 0 {
		t.Fatal("llama.cpp sees no GPU here")
	}
	return list
}

// A conversation on a GPU: its memory is kept, cut, copied for another caller, saved when there are more callers than
// there is room for, and restored. The same build without a GPU says what each answer is, and how much of each prompt is kept.
func TestGPUAnswersAsTheCPU(t *testing.T) {
	device := devicesUnderTest(t)[0]
	gpu, said := openOn(t, -1, func(e *Engine) { e.Devices = []string{device.Name} })
	if !strings.Contains(said, "offloaded 31/31 layers to GPU") || !strings.Contains(said, device.Name+" KV buffer size") {
		t.Fatalf("the model and its memory are not on the GPU:\n%s", said)
	}
	cpu, _ := openOn(t, 0)

	gold, apple := exchange{"gold silver iron", "gold silver iron"}, exchange{"apple pear plum", "apple pear plum"}
	heard := exchange{apple.asked, "apple pear"}
	milk := exchange{"milk tea coffee", "milk tea coffee"}
	prompts := map[string]int{}
	for _, turn := range []struct {
		name    string
		request llm.Request
		kept    string // The turn whose prompt must not be computed again.
		least   int    // Or so many tokens that must not.
	}{
		{name: "first", request: repeat("a", gold.asked)},
		{name: "second", request: repeat("a", apple.asked, gold), kept: "first"},
		{name: "interrupted", request: repeat("a", milk.asked, gold, heard), kept: "second"},
		{name: "another caller", request: repeat("b", "bread and butter"), least: 20},
		{name: "a third", request: repeat("c", "four five six"), least: 20}, // Takes the first one's place.
		{name: "restored", request: repeat("a", "A B C D E F G H", gold, heard, milk), kept: "interrupted"},
	} {
		want, got := answer(t, cpu, turn.request), answer(t, gpu, turn.request)
		t.Logf("%s: %q, %+v", turn.name, got.text, got.usage)
		words := turn.request.Messages[len(turn.request.Messages)-1].Text
		if got.text != want.text || got.usage != want.usage || got.text != words {
			t.Errorf("%s: on the GPU %q, %+v, on the CPU %q, %+v", turn.name, got.text, got.usage, want.text, want.usage)
		}
		if least := max(turn.least, prompts[turn.kept]); got.usage.Cached < least {
			t.Errorf("%s: %d tokens were kept, at least %d should be", turn.name, got.usage.Cached, least)
		}
		prompts[turn.name] = got.usage.Prompt
	}
}

// Half of the layers, over two GPUs, one of which gets three parts of four.
func TestGPULayersAreSplit(t *testing.T) {
	devices := devicesUnderTest(t)
	if len(devices) < 2 {
		t.Skip("there is only one GPU")
	}
	one, two := devices[0].Name, devices[1].Name
	e, said := openOn(t, 16, func(e *Engine) { e.Devices, e.TensorSplit = []string{one, two}, []float32{1, 3} })
	if !strings.Contains(said, "offloaded 16/31 layers to GPU") {
		t.Errorf("16 layers should be on the GPUs:\n%s", said)
	}
	if on, other := memoryOn(said, one), memoryOn(said, two); on <= 0 || other < 2*on {
		t.Errorf("%s has %v MiB of the conversations' memory, %s has %v:\n%s", one, on, two, other, said)
	}
	if a := answer(t, e, repeat("a", "gold silver iron")); a.text != "gold silver iron" {
		t.Errorf("%q, %+v", a.text, a.usage)
	}
}

// memoryOn finds how many MiB of the conversations' memory llama.cpp has put on a device.
func memoryOn(said, device string) float64 {
	_, after, _ := strings.Cut(said, device+" KV buffer size =")
	var size float64
	_, _ = fmt.Sscan(after, &size) // It stays 0 if there is none.
	return size
}

func TestGPUSettingsThatCannotBe(t *testing.T) {
	name := devicesUnderTest(t)[0].Name
	for says, options := range map[string]func(*Engine){
		`no GPU "CUDA77"`: func(e *Engine) { e.Devices = []string{name, "CUDA77"} },
		`no GPU "CPU"`:    func(e *Engine) { e.Devices = []string{"CPU"} },
		"3 parts":         func(e *Engine) { e.Devices, e.TensorSplit = []string{name}, []float32{1, 2, 3} },
		"gets any":        func(e *Engine) { e.Devices, e.TensorSplit = []string{name}, []float32{0} },
	} {
		e := &Engine{LibDir: nativetest.LlamaGPUDir(t), Model: nativetest.File(t, testModel), GPULayers: -1}
		options(e)
		if err := e.Open(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, it should say %q", err, says)
			_ = e.Close()
		}
	}
}
