package audio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// What comes as a stream is what is in the file, and comes in small parts.
func TestStream(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		want, rate, err := ReadFile(file)
		if err != nil {
			continue
		}
		tried++
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got PCM
		err = Stream(iotest.HalfReader(bytes.NewReader(b)), func(p PCM, r int) error {
			if r != rate || len(p) > max(rate/streamChunks, 1) {
				t.Errorf("%s: %d samples at %d Hz of one at %d", file, len(p), r, rate)
			}
			got = append(got, p...)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d samples, want %d: %v", file, len(got), len(want), err)
		}
		broke := errors.New("the line broke")
		err = Stream(io.MultiReader(bytes.NewReader(b[:len(b)/2]), iotest.ErrReader(broke)), func(PCM, int) error { return nil })
		if !errors.Is(err, broke) {
			t.Errorf("%s, broken in the middle: %v", file, err)
		}
		enough := errors.New("enough")
		if err := Stream(bytes.NewReader(b), func(PCM, int) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s, of which no more is wanted: %v", file, err)
		}
	}
	if tried == 0 {
		t.Fatal("there is no sound file")
	}
	for text, want := range map[string]error{"": ErrNoSound, strings.Repeat("no sound ", 10): ErrFormat, "RIFF\x00\x00\x00\x00WAVE": ErrCut} {
		if err := Stream(strings.NewReader(text), func(PCM, int) error { return nil }); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
