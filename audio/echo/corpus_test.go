package echo

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"riposte/audio"
	"riposte/native/nativetest"
)

// corpus is speech, by speaker, at -20 dBFS.
type corpus map[string][]audio.PCM

// speakers returns the names, in order.
func (c corpus) speakers() (names []string) {
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// add reads a clip and cuts the silence off its ends.
func (c corpus) add(t testing.TB, who, path string) {
	t.Helper()
	p, rate, err := audio.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = audio.Resample(p, rate, audio.SpeechRate); err != nil {
		t.Fatal(err)
	}
	p = level(p, -20)
	// From where it is loud enough for a voice: recordings begin with breath and noise.
	const window = audio.SpeechRate / 100
	from := 0
	for p[from:from+window].Level() < -40 {
		from += window
	}
	c[who] = append(c[who], p[from:])
}

// ours is the speech that comes with the project: a woman and a man.
func ours(t testing.TB) corpus {
	t.Helper()
	c := corpus{}
	c.add(t, "lj", "../silero/testdata/speech.flac")
	c.add(t, "lj", "../../stt/whisper/testdata/lj_0002.flac")
	c.add(t, "lj", "../testdata/lj_0008.flac")
	c.add(t, "jfk", nativetest.Recording(t))
	return c
}

// folder is the speech in a folder: clips and a manifest.tsv, of which the columns file and speaker are read. What one
// file's name begins with stands for its speaker, since many speakers have no name.
func folder(t testing.TB, dir string) corpus {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	file, speaker := slices.Index(rows[0], "file"), slices.Index(rows[0], "speaker")
	c := corpus{}
	for _, row := range rows[1:] {
		if row[speaker] == "" || strings.HasPrefix(row[speaker], "several") {
			continue
		}
		who, _, _ := strings.Cut(filepath.Base(row[file]), "_")
		c.add(t, who, filepath.Join(dir, row[file]))
	}
	return c
}
