package piper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
	"riposte/tts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests are those of this package, with the voices that they share.
type tests struct{ *testing.M }

// Run implements goleak.TestingM.
func (ts tests) Run() int {
	code := ts.M.Run()
	for _, e := range shared.voices {
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// realVoice is the voice that set-up fetches.
const realVoice = "piper-en_us-joe-medium"

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// open opens a voice, which the caller closes.
func open(t testing.TB, e *Engine) {
	t.Helper()
	if err := e.Open(t.Context()); err != nil {
		if errors.Is(err, ErrEspeak) && os.Getenv(nativetest.Required) != "required" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
}

// openEngine opens a voice for one test.
func openEngine(t testing.TB, e *Engine) {
	t.Helper()
	open(t, e)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// shared are real voices, with noise and without: to open one takes longer than most tests.
var shared struct {
	mu     sync.Mutex
	voices map[bool]*Engine
}

// shareReal returns the real voice that tests share, which keeps nothing of what it spoke; without noise it says the same text the same way
// each time.
func shareReal(t testing.TB, noise bool) *Engine {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if e := shared.voices[noise]; e != nil {
		return e
	}
	e := realEngine(t, noise)
	e.CacheBytes = -1
	open(t, e)
	if shared.voices == nil {
		shared.voices = map[bool]*Engine{}
	}
	shared.voices[noise] = e
	return e
}

// openReal opens the real voice for one test, which closes it or looks at what it keeps.
func openReal(t testing.TB, noise bool) *Engine {
	t.Helper()
	e := realEngine(t, noise)
	openEngine(t, e)
	return e
}

// realEngine is the real voice before it is opened.
func realEngine(t testing.TB, noise bool) *Engine {
	t.Helper()
	e := &Engine{Model: nativetest.File(t, realVoice), Runtime: onnxtest.Runtime(t), Log: quiet()}
	if !noise {
		e.NoiseScale, e.NoiseWidth = -1, -1
	}
	return e
}

// say returns the chunks of a text.
func say(t testing.TB, e *Engine, text string, o tts.Options) []audio.PCM {
	t.Helper()
	var chunks []audio.PCM
	for pcm, err := range e.Speak(context.Background(), text, o) {
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, pcm)
	}
	return chunks
}

const sentence = "Your table for four is booked for seven o'clock this evening, and the kitchen knows about the nuts."

func TestRealWindowsEqualTheWhole(t *testing.T) {
	e := shareReal(t, true)
	if e.net.flow == nil || e.net.decoder == nil || e.net.hop != 256 || e.net.overlap != overlaps[0] || e.Rate() != 22050 {
		t.Fatalf("flow %v, decoder %v, hop %d, overlap %d, rate %d", e.net.flow, e.net.decoder, e.net.hop, e.net.overlap, e.Rate())
	}
	whole := &Engine{Model: e.Model, Runtime: e.Runtime, Whole: true, Log: quiet()}
	openEngine(t, whole)
	if whole.net.decoder != nil {
		t.Fatal("the whole voice is cut")
	}
	seams, err := e.Seams(t.Context(), whole, sentence)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seams %+v", seams)
	if !(seams.MaxDiff <= maxSeam) || seams.MaxDiff == 0 || seams.Click > 1 || seams.Edges < 3 {
		t.Errorf("seams %+v, want at most %v and 1 at 3 edges or more", seams, maxSeam)
	}
}

func TestClickIsFound(t *testing.T) {
	tone := make([]float32, 4000)
	for i := range tone {
		tone[i] = float32(math.Sin(float64(i) / 10))
	}
	edges := []int{1000, 3000}
	if c := click(tone, edges); c > 1.1 {
		t.Errorf("a smooth tone clicks: %v", c)
	}
	for i := range tone[3000:] {
		tone[3000+i] += 0.1
	}
	if c := click(tone, edges); c < 5 {
		t.Errorf("a step is not heard: %v", c)
	}
}

func TestFirstSoundLeavesBeforeTheLastIsMade(t *testing.T) {
	e := shareReal(t, false)
	said, err := units("en-us", sentence)
	if err != nil {
		t.Fatal(err)
	}
	r := request{scales: e.scales}
	r.ids, _, _ = e.voice.ids(said[0].phonemes)
	out, err := e.net.run(t.Context(), e.net.text, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(out)
	u, err := e.net.utterance(r, out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.sound(t.Context(), 0, firstWindow); err != nil {
		t.Fatal(err)
	}
	if u.done != firstWindow+e.net.overlap || u.done > u.n/2 {
		t.Errorf("the first window needed %d of %d frames, want %d", u.done, u.n, firstWindow+e.net.overlap)
	}
}

func TestNothingToSay(t *testing.T) {
	e := shareReal(t, false)
	for _, text := range []string{"", "  \n", "😀👍", "***", "...", "—", "\x00\xff", "#", "<br>"} {
		if chunks := say(t, e, text, tts.Options{}); len(chunks) > 0 {
			t.Errorf("%q became %d chunks", text, len(chunks))
		}
	}
}

func TestSpeedChangesTheLength(t *testing.T) {
	e := shareReal(t, false)
	length := func(speed float32) int { return len(slices.Concat(say(t, e, sentence, tts.Options{Speed: speed})...)) }
	own := length(0)
	if same := length(1); same != own {
		t.Errorf("speed 1 gives %d samples, 0 gives %d", same, own)
	}
	if fast := float64(length(2)) / float64(own); fast < 0.4 || fast > 0.62 {
		t.Errorf("twice as fast takes %.2f of the time", fast)
	}
	if slow := float64(length(0.5)) / float64(own); slow < 1.7 || slow > 2.2 {
		t.Errorf("half as fast takes %.2f of the time", slow)
	}
	for _, odd := range []float32{-1, float32(math.NaN()), float32(math.Inf(1)), 1e9, 1e-9} {
		if length(odd) == 0 {
			t.Errorf("speed %v says nothing", odd)
		}
	}
}

func TestSentencesAreApart(t *testing.T) {
	e := shareReal(t, false)
	pause := audio.Samples(usualPause, e.Rate())
	quietChunks := 0
	for _, c := range say(t, e, "It is done. Is there anything else?", tts.Options{}) {
		if len(c) == pause && slices.Max(c) == 0 && slices.Min(c) == 0 {
			quietChunks++
		}
	}
	if quietChunks != 1 {
		t.Errorf("%d pauses between two sentences, want 1", quietChunks)
	}
}

func TestSpeakEndsWithItsContext(t *testing.T) {
	e := shareReal(t, true)
	reason := errors.New("barge-in")
	long := strings.Repeat(sentence+" ", 5)
	for name, after := range map[string]time.Duration{"before": 0, "in the text": 5 * time.Millisecond, "later": 120 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var ended time.Time
			stop := func() { ended = time.Now(); cancel(reason) }
			if after == 0 {
				stop()
			} else {
				timer := time.AfterFunc(after, stop)
				defer timer.Stop()
			}
			var errs []error
			for _, err := range e.Speak(ctx, long, tts.Options{}) {
				if err != nil {
					errs = append(errs, err)
				}
			}
			if len(errs) != 1 || !errors.Is(errs[0], reason) {
				t.Fatalf("errors %v, want one: %v", errs, reason)
			}
			t.Logf("silent %v after the end of the context", time.Since(ended).Round(100*time.Microsecond))
		})
	}
}

func TestBreakingOutStops(t *testing.T) {
	e := openReal(t, true)
	for range e.Speak(t.Context(), strings.Repeat(sentence+" ", 5), tts.Options{}) {
		break
	}
	// Close waits for speakers: it would hang if one were left.
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range e.Speak(t.Context(), "Hello.", tts.Options{}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v, want %v", err, ErrClosed)
		}
	}
	for _, err := range new(Engine).Speak(t.Context(), "Hello.", tts.Options{}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("before Open: %v, want %v", err, ErrClosed)
		}
	}
}

func TestSpeakersAtOnceSayTheSame(t *testing.T) {
	e := shareReal(t, false)
	texts := []string{"Good morning.", "The train leaves at noon, from platform nine.", sentence}
	alone := make([]audio.PCM, len(texts))
	for i, text := range texts {
		alone[i] = slices.Concat(say(t, e, text, tts.Options{})...)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			var all audio.PCM
			for pcm, err := range e.Speak(context.Background(), texts[i%3], tts.Options{}) {
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, pcm...)
			}
			if !slices.Equal(all, alone[i%3]) {
				t.Errorf("%q has %d samples beside others, %d alone, or other ones", texts[i%3], len(all), len(alone[i%3]))
			}
		})
	}
	wg.Wait()
}

func TestLongTextIsSpokenInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("speaks five hundred words")
	}
	e := shareReal(t, true)
	words := strings.Repeat("every good boy does fine and all of them go home ", 46) // 506 words and no mark among them.
	before := heap()
	most, samples := uint64(0), 0
	for pcm, err := range e.Speak(t.Context(), words, tts.Options{Speed: maxSpeed}) {
		if err != nil {
			t.Fatal(err)
		}
		samples += len(pcm)
		if samples/22050%10 == 0 {
			most = max(most, heap())
		}
	}
	if d := audio.Duration(samples, e.Rate()); d < 30*time.Second {
		t.Errorf("506 words took %v", d)
	}
	if most > before+32<<20 {
		t.Errorf("the heap grew from %d to %d MiB", before>>20, most>>20)
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestUncutVoicesAreSpokenWhole(t *testing.T) {
	rt := onnxtest.Runtime(t)
	var log bytes.Buffer
	for name, model := range map[string][]byte{"no cut": withoutUpsampling().Bytes(), "a decoder that looks far": seeing(60).Bytes()} {
		log.Reset()
		// Without noise: now and then that makes a sentence of such a voice silent, and silence is cut.
		e := &Engine{Model: writeVoice(t, model, tinyJSON()), Runtime: rt, NoiseScale: -1, NoiseWidth: -1, Log: slog.New(slog.NewTextHandler(&log, nil))}
		openEngine(t, e)
		if e.net.decoder != nil {
			t.Errorf("%s: it is spoken in windows", name)
		}
		if n := strings.Count(log.String(), "spoken whole"); n != 1 {
			t.Errorf("%s: %d warnings, want 1: %s", name, n, log.String())
		}
		if chunks := say(t, e, "Hello there. Good bye.", tts.Options{}); len(chunks) != 3 {
			t.Errorf("%s: %d chunks, want two sentences and a pause", name, len(chunks))
		}
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	rt := onnxtest.Runtime(t)
	model := tiny().Bytes()
	with := func(key string, value any) map[string]any {
		d := tinyJSON()
		d[key] = value
		return d
	}
	for _, tt := range []struct {
		name        string
		model       []byte
		description any
		speaker     string
		want        error
		says        string
	}{
		{"no description", model, nil, "", ErrVoice, "needs its .json"},
		{"a description that is no JSON object", model, "text", "", ErrVoice, "fetch the voice again"},
		{"no phoneme ids", model, with("phoneme_id_map", nil), "", ErrVoice, "phoneme_id_map is missing"},
		{"no filler", model, with("phoneme_id_map", map[string][]int64{"^": {1}, "$": {2}}), "", ErrVoice, `lacks "_"`},
		{"an odd rate", model, with("audio", map[string]any{"sample_rate": 1}), "", ErrVoice, "sample_rate"},
		{"other phonemes", model, with("phoneme_type", "text"), "", ErrVoice, "phoneme_type"},
		{"no espeak voice", model, with("espeak", map[string]any{}), "", ErrVoice, "espeak.voice"},
		{"an unknown espeak voice", model, with("espeak", map[string]any{"voice": "xx-klingon"}), "", ErrEspeak, "espeak.voice"},
		{"an unknown speaker", model, tinyJSON(), "carl", ErrVoice, `"ann"`},
		{"a cut-off model", model[:len(model)/2], tinyJSON(), "", onnx.ErrMalformed, "fetch the voice again"},
		{"an empty model", nil, tinyJSON(), "", onnx.ErrMalformed, "fetch the voice again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &Engine{Model: writeVoice(t, tt.model, tt.description), Runtime: rt, Speaker: tt.speaker, Log: quiet()}
			err := e.Open(t.Context())
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q in it", err, tt.want, tt.says)
			}
		})
	}
	e := &Engine{Model: writeVoice(t, model, tinyJSON()), Runtime: rt, Log: quiet()}
	os.Remove(e.Model)
	if err := e.Open(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing model: %v, want %v", err, os.ErrNotExist)
	}
}

func TestSpeakersHaveNames(t *testing.T) {
	rt := onnxtest.Runtime(t)
	model := writeVoice(t, tiny().Bytes(), tinyJSON())
	for name, want := range map[string]int64{"": 0, "ann": 0, "bob": 1, "1": 1} {
		e := &Engine{Model: model, Runtime: rt, Speaker: name, Log: quiet()}
		openEngine(t, e)
		if e.speaker != want {
			t.Errorf("%q is speaker %d, want %d", name, e.speaker, want)
		}
	}
}

// TestMissingEspeakData runs in a process of its own, since the library is opened once per process.
func TestMissingEspeakData(t *testing.T) {
	if dir := os.Getenv("PIPER_TEST_ESPEAK"); dir != "" {
		err := openEspeak(dir)
		if !errors.Is(err, ErrEspeak) || !strings.Contains(err.Error(), "espeak-ng-data") {
			t.Fatalf("%v, want %v with the package's name", err, ErrEspeak)
		}
		return
	}
	if err := openEspeak(""); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMissingEspeakData$")
	cmd.Env = append(os.Environ(), "PIPER_TEST_ESPEAK="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
