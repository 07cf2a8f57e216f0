package opus

import (
	"bytes"
	"encoding/binary"
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

func TestWriter(t *testing.T) {
	for _, rate := range []int{16000, 24000, 48000} {
		file, tone := written(t, rate)
		got, err := read(file, rate)
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

// read decodes all of a file.
func read(file []byte, rate int) (all audio.PCM, err error) {
	err = Stream(bytes.NewReader(file), rate, func(p audio.PCM) error {
		all = append(all, p...)
		return nil
	})
	return all, err
}

// repaged writes the packets of a file into pages of many, as other programs do.
func repaged(t testing.TB, file []byte) []byte {
	t.Helper()
	packets := &Ogg{r: bytes.NewReader(file)}
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
		p, err := packets.Next()
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

func TestStreamOfManyPacketsAPage(t *testing.T) {
	file, _ := written(t, 16000)
	want, err := read(file, 16000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(repaged(t, file), 16000)
	if err != nil || len(got) != len(want) {
		t.Errorf("%d samples, %v, want %d", len(got), err, len(want))
	}
}

// Whatever a file holds, it is read or refused.
func FuzzStream(f *testing.F) {
	file, _ := written(f, 16000)
	f.Add(file)
	f.Add(repaged(f, file))
	f.Add(file[:200])
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := read(b, 16000); err != nil && err.Error() == "" || len(p) > len(b)*3000 {
			t.Errorf("%d bytes became %d samples, %v", len(b), len(p), err)
		}
	})
}
