package silero

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mewkiz/flac"
	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open loads the real network, or skips where it is not on this machine.
func open(t testing.TB) *Engine {
	t.Helper()
	rt := onnxtest.Runtime(t)
	e := &Engine{Model: nativetest.File(t, "silero-vad"), Runtime: rt}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// clip reads a FLAC file of 16 kHz.
func clip(t testing.TB, path string) audio.PCM {
	t.Helper()
	s, err := flac.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var p audio.PCM
	for {
		f, err := s.ParseNext()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f.Subframes[0].Samples {
			p = append(p, int16(x))
		}
	}
}

// score runs every whole frame of p through a new VAD.
func score(t testing.TB, e *Engine, p audio.PCM) []float32 {
	t.Helper()
	v, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var scores []float32
	for len(p) >= audio.VADFrame {
		s, err := v.Speech(p[:audio.VADFrame])
		if err != nil {
			t.Fatal(err)
		}
		scores, p = append(scores, s), p[audio.VADFrame:]
	}
	return scores
}

// share returns which part of the scores lies above 0.5.
func share(scores []float32) float64 {
	n := 0
	for _, s := range scores {
		if s > 0.5 {
			n++
		}
	}
	return float64(n) / float64(len(scores))
}

func TestSpeechIsToldFromNoise(t *testing.T) {
	e := open(t)
	hiss := make(audio.PCM, 5*audio.SpeechRate)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hiss {
		hiss[i] = int16(r.NormFloat64() * 1000)
	}
	for _, tt := range []struct {
		name     string
		pcm      audio.PCM
		from, to float64 // Which share of the frames may count as speech.
	}{
		{"a sentence", clip(t, "testdata/speech.flac"), 0.8, 1},
		{"a dog", clip(t, "testdata/dog.flac"), 0, 0.1},
		{"hiss", hiss, 0, 0.02},
		{"digital silence", make(audio.PCM, 2*audio.SpeechRate), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := share(score(t, e, tt.pcm)); got < tt.from || got > tt.to {
				t.Errorf("%.2f of the frames count as speech, want %v to %v", got, tt.from, tt.to)
			}
		})
	}
}

func TestSpeechEndsWithTheVoice(t *testing.T) {
	e := open(t)
	pcm := append(clip(t, "testdata/speech.flac"), make(audio.PCM, audio.SpeechRate)...)
	scores := score(t, e, pcm)
	for i, s := range scores[len(scores)-16:] { // The last half second.
		if s > 0.3 {
			t.Errorf("frame %d of the silence scores %v", i, s)
		}
	}
}

func TestCallersDoNotHearEachOther(t *testing.T) {
	e := open(t)
	clips := []audio.PCM{clip(t, "testdata/speech.flac"), clip(t, "testdata/dog.flac")}
	alone := [][]float32{score(t, e, clips[0]), score(t, e, clips[1])}

	t.Run("in turns", func(t *testing.T) {
		var vads [2]audio.VAD
		for i := range vads {
			v, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			vads[i] = v
		}
		for n := range min(len(alone[0]), len(alone[1])) {
			for i, v := range vads {
				got, err := v.Speech(clips[i][n*audio.VADFrame:][:audio.VADFrame])
				if err != nil {
					t.Fatal(err)
				}
				if got != alone[i][n] {
					t.Fatalf("caller %d, frame %d scores %v, alone %v", i, n, got, alone[i][n])
				}
			}
		}
	})
	t.Run("at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for n, got := range score(t, e, clips[i%2]) {
					if got != alone[i%2][n] {
						t.Errorf("caller %d, frame %d scores %v, alone %v", i, n, got, alone[i%2][n])
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestMisuseIsAnErrorNotACrash(t *testing.T) {
	e := open(t)
	v, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Speech(make(audio.PCM, audio.VADFrame-1)); err == nil {
		t.Error("a short frame was scored")
	}
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := v.Speech(make(audio.PCM, audio.VADFrame)); !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("a frame after Close: %v, want %v", err, onnx.ErrClosed)
	}

	late, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Speech(make(audio.PCM, audio.VADFrame)); !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("a frame after the engine's Close: %v, want %v", err, onnx.ErrClosed)
	}
	if _, err := (&Engine{}).New(); !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("New before Open: %v, want %v", err, onnx.ErrClosed)
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	e := open(t)
	whole, err := os.ReadFile(e.Model)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"cut.onnx": whole[:len(whole)/2], "empty.onnx": nil, "text.onnx": []byte("not a model")} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		bad := &Engine{Model: filepath.Join(dir, name), Runtime: e.Runtime}
		if err := bad.Open(t.Context()); !errors.Is(err, onnx.ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, onnx.ErrMalformed)
		}
	}
	if err := (&Engine{Model: filepath.Join(dir, "none.onnx"), Runtime: e.Runtime}).Open(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want %v", err, os.ErrNotExist)
	}
}

func BenchmarkFrame(b *testing.B) {
	e := open(b)
	v, err := e.New()
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	pcm := clip(b, "testdata/speech.flac")[:audio.VADFrame]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Speech(pcm); err != nil {
			b.Fatal(err)
		}
	}
}
