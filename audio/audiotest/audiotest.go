// Package audiotest makes sound for tests, and reads the speech that they are tried on.
package audiotest

import (
	"encoding/csv"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"riposte/audio"
)

// CorpusVar names the environment variable that holds a folder with speech: a manifest.tsv, of which the columns file and kind are read, and
// its clips. Tests that are tried on speech are tried on that of the project without it, and on all of the folder with it.
const CorpusVar = "RIPOSTE_TEST_CORPUS"

// Clip is a recording.
type Clip struct {
	Name string // Its file's name.
	Kind string // As the manifest says; empty for those of the project.
	PCM  audio.PCM
	Rate int
}

// At returns the clip's sound at another rate.
func (c Clip) At(t testing.TB, rate int) audio.PCM {
	t.Helper()
	p, err := audio.Resample(c.PCM, c.Rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Project returns the recordings that come with the project: speech, a dog and music.
func Project(t testing.TB) (clips []Clip) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..")
	for _, name := range []string{
		"audio/silero/testdata/speech.flac", "audio/silero/testdata/dog.flac", "audio/testdata/lj_0008.flac",
		"stt/whisper/testdata/lj_0002.flac", "stt/whisper/testdata/noise_brahms.flac", "cmd/riposte/testdata/question.flac",
	} {
		clips = append(clips, read(t, filepath.Join(root, name), ""))
	}
	return clips
}

// Corpus returns the recordings of the folder that CorpusVar names, and those of the project where it names none.
func Corpus(t testing.TB) (clips []Clip) {
	t.Helper()
	dir := os.Getenv(CorpusVar)
	if dir == "" {
		return Project(t)
	}
	f, err := os.Open(filepath.Join(dir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s holds no clips: %v", f.Name(), err)
	}
	file, kind := slices.Index(rows[0], "file"), slices.Index(rows[0], "kind")
	for _, row := range rows[1:] {
		clips = append(clips, read(t, filepath.Join(dir, row[file]), row[kind]))
	}
	return clips
}

func read(t testing.TB, path, kind string) Clip {
	t.Helper()
	p, rate, err := audio.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Clip{filepath.Base(path), kind, p, rate}
}

// Tone returns n samples of a sine of freq hertz at a level in dBFS.
func Tone(n, rate int, freq, level float64) audio.PCM {
	p := make(audio.PCM, n)
	peak := 32768 * math.Sqrt2 * math.Pow(10, level/20)
	for i := range p {
		p[i] = clip(peak * math.Sin(2*math.Pi*freq*float64(i)/float64(rate)))
	}
	return p
}

// Noise returns n samples of white noise at a level in dBFS.
func Noise(rnd *rand.Rand, n int, level float64) audio.PCM {
	p := make(audio.PCM, n)
	scale := 32768 * math.Pow(10, level/20)
	for i := range p {
		p[i] = clip(scale * rnd.NormFloat64())
	}
	return p
}

// Level returns p at a level in dBFS.
func Level(p audio.PCM, level float64) audio.PCM {
	out := make(audio.PCM, len(p))
	gain := math.Pow(10, (level-p.Level())/20)
	for i, x := range p {
		out[i] = clip(gain * float64(x))
	}
	return out
}

// Mix returns the sum of a and b, as long as a; b is repeated where it is shorter.
func Mix(a, b audio.PCM) audio.PCM {
	out := make(audio.PCM, len(a))
	for i, x := range a {
		out[i] = clip(float64(x) + float64(b[i%len(b)]))
	}
	return out
}

// Pieces returns p in pieces of random lengths of up to most samples, as no caller would send it.
func Pieces(rnd *rand.Rand, p audio.PCM, most int) iter.Seq[audio.PCM] {
	return func(yield func(audio.PCM) bool) {
		for len(p) > 0 {
			n := min(len(p), 1+rnd.IntN(most))
			if !yield(p[:n]) {
				return
			}
			p = p[n:]
		}
	}
}

func clip(x float64) int16 { return int16(math.Round(max(-32768, min(32767, x)))) }
