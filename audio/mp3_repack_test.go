package audio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"
)

// TestRepackedFramesAreAlike checks the repacked stream's frames without decoding them: as many as there were, all of the
// one size and bit rate, without padding or checksum.
func TestRepackedFramesAreAlike(t *testing.T) {
	for _, name := range []string{"tone_22k_mono.mp3", "tone_22k_stereo.mp3"} {
		in, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		frames := 0
		for rest := in; len(rest) > 0; frames++ {
			rest = rest[mp3Header(binary.BigEndian.Uint32(rest)).size():]
		}
		garbage := append([]byte("no frame \xff\xf3"), in...)
		cut := append(garbage[:len(garbage):len(garbage)], in[:50]...)
		out, err := io.ReadAll(&mp3Repacker{r: bufio.NewReader(bytes.NewReader(cut))})
		if err != nil || len(out) != frames*mp3RepackedSize {
			t.Fatalf("%s: %d bytes, %v, want %d frames of %d", name, len(out), err, frames, mp3RepackedSize)
		}
		for ; len(out) > 0; out = out[mp3RepackedSize:] {
			if h := mp3Header(binary.BigEndian.Uint32(out)); !h.valid() || h.size() != mp3RepackedSize || h.head() != 4 {
				t.Errorf("%s: a frame of header %#x", name, h)
			}
		}
	}
}

func TestRepackSilencesWhatIsIncomplete(t *testing.T) {
	in, err := os.ReadFile("testdata/tone_22k_mono.mp3")
	if err != nil {
		t.Fatal(err)
	}
	// Without its first frames the first that is left has lost the beginning of its sound.
	size := mp3Header(binary.BigEndian.Uint32(in)).size()
	out, err := io.ReadAll(&mp3Repacker{r: bufio.NewReader(bytes.NewReader(in[3*size:]))})
	if err != nil || len(out) < 2*mp3RepackedSize {
		t.Fatal(len(out), err)
	}
	if first := out[4:mp3RepackedSize]; !bytes.Equal(first[:9], make([]byte, 9)) {
		t.Errorf("the side information is % x, want silence", first[:9])
	}
}
