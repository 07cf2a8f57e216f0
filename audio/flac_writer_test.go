package audio

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// FLAC loses nothing, whether it compresses or cannot.
func TestFLACWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, sample := range map[string]func(i int) int16{
		"silence": func(int) int16 { return 0 },
		"ramp":    func(i int) int16 { return int16(i % 2000) },
		"noise":   func(int) int16 { return int16(r.IntN(1<<16) - 1<<15) },
	} {
		sound := make(PCM, 10000)
		for i := range sound {
			sound[i] = sample(i)
		}
		var out bytes.Buffer
		f, err := OpenFLAC(&out, 24000)
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(sound, 333) {
			if err := f.Write(part); err != nil {
				t.Fatal(name, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(name, err)
		}
		size := out.Len()
		got, rate, err := Decode(&out, name)
		if err != nil || rate != 24000 || !slices.Equal(got, sound) {
			t.Errorf("%s: %d samples at %d Hz, %v", name, len(got), rate, err)
		}
		if name == "ramp" && size > len(sound) {
			t.Errorf("%d samples became %d bytes, want them compressed", len(sound), size)
		}
	}
	if _, err := OpenFLAC(nil, 1); !errors.Is(err, ErrRate) {
		t.Errorf("got %v", err)
	}
}
