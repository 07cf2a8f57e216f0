package opus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"riposte/audio"
)

// written returns a file of a second of a tone.
func written(t testing.TB, rate int) ([]byte, audio.PCM) {
	t.Helper()
	tone := make(audio.PCM, rate)
	for i := range tone {
		tone[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/float64(rate)))
	}
	var out bytes.Buffer
	w := Writer{Out: &out, Rate: rate}
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(tone); from += 333 {
		if err := w.Write(tone[from:min(len(tone), from+333)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), tone
}

func TestFile(t *testing.T) {
	for _, rate := range []int{16000, 24000, 48000} {
		file, tone := written(t, rate)
		got, err := ReadFile(bytes.NewReader(file), rate)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < len(tone) || len(got) > len(tone)+rate/20 {
			t.Errorf("%d samples at %d Hz became %d", len(tone), rate, len(got))
		}
		if first := got[:rate/100].Level(); first < tone.Level()-6 {
			t.Errorf("%d Hz: the tone begins at %.1f dB: its beginning is lost, or late", rate, first)
		}
		if level, want := got[rate/4:rate/2].Level(), tone.Level(); math.Abs(level-want) > 1 {
			t.Errorf("%d Hz: the tone is at %.1f dB, want %.1f dB", rate, level, want)
		}
	}
}

// repaged writes the packets of a file into pages of many, as other programs do.
func repaged(t testing.TB, file []byte) []byte {
	t.Helper()
	packets := &oggReader{r: bufio.NewReader(bytes.NewReader(file))}
	var out, body bytes.Buffer
	var lengths []byte
	page := func() {
		head := make([]byte, 27)
		copy(head, "OggS")
		binary.LittleEndian.PutUint32(head[14:], 7)
		head[26] = byte(len(lengths))
		out.Write(head)
		out.Write(lengths)
		out.Write(body.Bytes())
		body.Reset()
		lengths = nil
	}
	for i := 0; ; i++ {
		p, err := packets.next()
		if err != nil {
			page()
			return out.Bytes()
		}
		for n := len(p); n >= 0; n -= 255 {
			lengths = append(lengths, byte(min(n, 255)))
			if len(lengths) == 255 { // a packet may go on in the next page
				body.Write(p)
				p = nil
				page()
			}
		}
		body.Write(p)
		if i < 2 {
			page()
		}
	}
}

func TestFileOfManyPacketsAPage(t *testing.T) {
	file, _ := written(t, 16000)
	want, err := ReadFile(bytes.NewReader(file), 16000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(bytes.NewReader(repaged(t, file)), 16000)
	if err != nil || len(got) != len(want) {
		t.Errorf("%d samples, %v, want %d", len(got), err, len(want))
	}
}

func TestFileRefused(t *testing.T) {
	file, _ := written(t, 16000)
	vorbis := bytes.Replace(file, []byte("OpusHead"), []byte("\x01vorbis "), 1)
	many := bytes.Clone(file)
	many[bytes.Index(many, []byte("OpusHead"))+9] = 6
	for name, test := range map[string]struct {
		file []byte
		err  error
	}{
		"no Ogg": {[]byte("RIFF, it says, and nothing else that is"), audio.ErrFormat},
		"empty":  {nil, audio.ErrFormat},
		"Vorbis": {vorbis, audio.ErrFormat},
		"six":    {many, audio.ErrFormat},
		"cut":    {file[:60], audio.ErrCut},
	} {
		if _, err := ReadFile(bytes.NewReader(test.file), 16000); !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
	}
	if p, err := ReadFile(bytes.NewReader(file[:len(file)*2/3]), 16000); err != nil || len(p) == 0 {
		t.Errorf("a file that is cut behind its headers: %d samples, %v, want what is there", len(p), err)
	}
}

func FuzzReadFile(f *testing.F) {
	file, _ := written(f, 16000)
	f.Add(file)
	f.Add(repaged(f, file))
	f.Add(file[:200])
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadFile(bytes.NewReader(b), 16000)
		if (err == nil) == (p == nil) && len(p) > 0 {
			t.Errorf("%d samples with %v", len(p), err)
		}
	})
}
