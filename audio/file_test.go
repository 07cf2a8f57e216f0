package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-audio/wav"
)

// wavFile builds a WAV file of one format. The size of the data chunk is what size says, or the true one when it is -1.
func wavFile(code uint16, channels, rate, bits int, data []byte, size int) []byte {
	le := binary.LittleEndian
	format := le.AppendUint16(nil, code)
	if code == wavExtensible {
		panic("use extensible")
	}
	format = le.AppendUint16(format, uint16(channels))
	format = le.AppendUint32(format, uint32(rate))
	format = le.AppendUint32(format, uint32(rate*channels*bits/8))
	format = le.AppendUint16(format, uint16(channels*bits/8))
	format = le.AppendUint16(format, uint16(bits))
	return riff(format, data, size)
}

// riff builds a WAV file around a format chunk, with a chunk of odd length before the data, as editors put there.
func riff(format, data []byte, size int) []byte {
	le := binary.LittleEndian
	if size < 0 {
		size = len(data)
	}
	b := append(le.AppendUint32([]byte("RIFF"), uint32(size)), "WAVE"...)
	b = append(le.AppendUint32(append(b, "fmt "...), uint32(len(format))), format...)
	b = append(le.AppendUint32(append(b, "LIST"...), 5), "INFOx\x00"...)
	return append(le.AppendUint32(append(b, "data"...), uint32(size)), data...)
}

// extensible builds the format chunk of an extensible file of 16-bit integers.
func extensible(channels, rate int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, wavExtensible)
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate*channels*2))
	b = le.AppendUint16(le.AppendUint16(b, uint16(2*channels)), 16)
	b = le.AppendUint16(le.AppendUint16(b, 22), 16)
	b = le.AppendUint32(b, 3)
	return append(b, "\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)
}

// packed returns the samples in one of WAV's codings.
func packed(p PCM, f func(b []byte, s int16) []byte) []byte {
	var b []byte
	for _, s := range p {
		b = f(b, s)
	}
	return b
}

// wavCases are files that say the same in every coding. Within is how far a sample may be off.
func wavCases(sound PCM) map[string]struct {
	file   []byte
	within int
} {
	le := binary.LittleEndian
	type c = struct {
		file   []byte
		within int
	}
	both := packed(sound, func(b []byte, s int16) []byte { return le.AppendUint16(le.AppendUint16(b, uint16(s)), uint16(s)) })
	apart := packed(sound, func(b []byte, s int16) []byte {
		return le.AppendUint16(le.AppendUint16(b, uint16(s/2+s%2)), uint16(s/2))
	})
	return map[string]c{
		"8 bit":                            {wavFile(wavInt, 1, 8000, 8, packed(sound, func(b []byte, s int16) []byte { return append(b, byte(s>>8)+128) }), -1), 255},
		"16 bit":                           {wavFile(wavInt, 1, 8000, 16, sound.AppendBytes(nil), -1), 0},
		"24 bit":                           {wavFile(wavInt, 1, 8000, 24, packed(sound, func(b []byte, s int16) []byte { return append(b, 0, byte(s), byte(s>>8)) }), -1), 0},
		"32 bit":                           {wavFile(wavInt, 1, 8000, 32, packed(sound, func(b []byte, s int16) []byte { return le.AppendUint32(b, uint32(int32(s)<<16)) }), -1), 0},
		"float32":                          {wavFile(wavFloat, 1, 8000, 32, packed(sound, func(b []byte, s int16) []byte { return le.AppendUint32(b, math.Float32bits(float32(s)/32768)) }), -1), 0},
		"float64":                          {wavFile(wavFloat, 1, 8000, 64, packed(sound, func(b []byte, s int16) []byte { return le.AppendUint64(b, math.Float64bits(float64(s)/32768)) }), -1), 0},
		"A-law":                            {wavFile(wavALaw, 1, 8000, 8, sound.AppendALaw(nil), -1), 1024},
		"mu-law":                           {wavFile(wavMuLaw, 1, 8000, 8, sound.AppendMuLaw(nil), -1), 1024},
		"stereo":                           {wavFile(wavInt, 2, 8000, 16, both, -1), 0},
		"stereo that differs, extensible":  {riff(extensible(2, 8000), apart, -1), 16384},
		"from a pipe, size zero":           {wavFile(wavInt, 1, 8000, 16, sound.AppendBytes(nil), 0), 0},
		"from a pipe, size unknown":        {wavFile(wavInt, 1, 8000, 16, sound.AppendBytes(nil), 0xffffffff), 0},
		"from a pipe, half a sample over":  {wavFile(wavInt, 1, 8000, 16, append(sound.AppendBytes(nil), 1), 0x7ffff000), 0},
		"with something after the samples": {append(wavFile(wavInt, 1, 8000, 16, sound.AppendBytes(nil), -1), "LIST\x04\x00\x00\x00abcd"...), 0},
	}
}

func TestDecodeWAV(t *testing.T) {
	sound := append(tone(400, 8000, 440, 0.9), 0, 1, -1, 32767, -32768)
	for name, c := range wavCases(sound) {
		t.Run(name, func(t *testing.T) {
			got, rate, err := Decode(bytes.NewReader(c.file), name)
			if err != nil || rate != 8000 || len(got) != len(sound) {
				t.Fatalf("%d samples at %d Hz, %v", len(got), rate, err)
			}
			if strings.HasPrefix(name, "stereo that differs") { // The mean of two halves.
				for i, s := range sound {
					if d := int(got[i]) - int(s)/2; d < -1 || d > 1 {
						t.Fatalf("sample %d = %d, want %d", i, got[i], s/2)
					}
				}
				return
			}
			for i, s := range sound {
				if d := int(got[i]) - int(s); d < -c.within || d > c.within {
					t.Fatalf("sample %d = %d, want %d within %d", i, got[i], s, c.within)
				}
			}
		})
	}
}

// TestReadFLAC compares with the same clip's facts in its own header and with its level.
func TestReadFLAC(t *testing.T) {
	p, rate, err := ReadFile("testdata/lj_0008.flac")
	if err != nil {
		t.Fatal(err)
	}
	if rate != 16000 || p.Duration(rate).Round(10*ms) != 1780*ms {
		t.Errorf("%v at %d Hz, want 1.78s at 16000 Hz", p.Duration(rate), rate)
	}
	if level := p.Level(); level < -30 || level > -15 {
		t.Errorf("level = %.1f dBFS: not this clip", level)
	}
	// The corpus' label says that the speech ends about 1.68 s in.
	if end := Duration(LastVoiced(p, rate), rate); end < 1580*ms || end > 1780*ms {
		t.Errorf("last voiced at %v, want about 1.68s", end)
	}
}

func TestReadMP3(t *testing.T) {
	for _, c := range []struct {
		file string
		rate int
		peak float64
	}{{"tone_24k_mono.mp3", 24000, 8000}, {"tone_44k_stereo.mp3", 44100, 6000}, {"tone_22k_mono.mp3", 22050, 8000}, {"tone_22k_stereo.mp3", 22050, 6000}} {
		p, rate, err := ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Duration(rate); rate != c.rate || d < 500*ms || d > 600*ms { // MP3 pads both ends.
			t.Errorf("%s: %v at %d Hz, want half a second at %d Hz", c.file, d, rate, c.rate)
		}
		want := 20 * math.Log10(c.peak/math.Sqrt2/32768)
		middle := p[len(p)/4 : len(p)*3/4]
		if got := middle.Level(); math.Abs(got-want) > 1 {
			t.Errorf("%s: level %.1f dBFS, want %.1f", c.file, got, want)
		}
		// A tone is smooth: wherever a frame went wrong it would jump. Its steepest step is 2*pi*440/rate of its peak.
		for i := 1; i < len(middle); i++ {
			if step := math.Abs(float64(middle[i]) - float64(middle[i-1])); step > c.peak*2*math.Pi*440/float64(rate)*1.3 {
				t.Fatalf("%s: sample %d jumps by %v", c.file, i, step)
			}
		}
		crossings := 0
		for i := 1; i < len(middle); i++ {
			if middle[i-1] < 0 && middle[i] >= 0 {
				crossings++
			}
		}
		if hz := float64(crossings) / middle.Duration(rate).Seconds(); math.Abs(hz-440) > 10 {
			t.Errorf("%s: %.0f Hz, want 440", c.file, hz)
		}
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	clip, err := os.ReadFile("testdata/lj_0008.flac")
	if err != nil {
		t.Fatal(err)
	}
	good := wavFile(wavInt, 1, 8000, 16, make([]byte, 1000), -1)
	for _, c := range []struct {
		name string
		file []byte
		want error
		says string
	}{
		{"empty", nil, ErrNoSound, "empty"},
		{"text", []byte("hello, this is no sound at all"), ErrFormat, "neither WAV, FLAC nor MP3"},
		{"tiny", []byte("x"), ErrFormat, "neither WAV, FLAC nor MP3"},
		{"a WAV that is cut", good[:len(good)-200], ErrCut, "800"},
		{"a WAV that is cut in its head", good[:20], ErrCut, ""},
		{"a WAV without samples", wavFile(wavInt, 1, 8000, 16, nil, -1), ErrNoSound, ""},
		{"a WAV of ADPCM", wavFile(2, 1, 8000, 4, make([]byte, 100), -1), ErrFormat, "code 2"},
		{"a WAV without channels", wavFile(wavInt, 0, 8000, 16, make([]byte, 100), -1), ErrFormat, "0 channels"},
		{"a WAV at no rate", wavFile(wavInt, 1, 0, 16, make([]byte, 100), -1), ErrRate, "0 Hz"},
		{"a WAV at a mad rate", wavFile(wavInt, 1, 1<<30, 16, make([]byte, 100), -1), ErrRate, ""},
		{"an AVI", []byte("RIFF\x00\x00\x00\x00AVI LIST"), ErrFormat, "WAVE"},
		{"a WAV without a format", append([]byte("RIFF\x00\x00\x00\x00WAVE"), "data\x04\x00\x00\x00abcd"...), ErrFormat, "format"},
		{"a FLAC that is cut", clip[:len(clip)/2], ErrCut, "copy it again"},
		{"a FLAC that is cut in its head", clip[:10], ErrFormat, "FLAC"},
		{"an MP3 of nothing", []byte("ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00"), ErrFormat, "MP3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, rate, err := Decode(bytes.NewReader(c.file), "my.file")
			if !errors.Is(err, c.want) || p != nil || rate != 0 {
				t.Fatalf("%d samples, %v, want %v", len(p), err, c.want)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "my.file") {
				t.Errorf("%q does not name the file, or not %q", err, c.says)
			}
		})
	}
	if _, _, err := ReadFile("testdata/nothing.wav"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// zeros is endless silence.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestDecodeEndsWithEndlessFiles(t *testing.T) {
	head := wavFile(wavInt, 1, minRate, 16, nil, 0xffffffff)
	_, _, err := Decode(io.MultiReader(bytes.NewReader(head), zeros{}), "pipe")
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("an endless file: %v, want ErrTooLong", err)
	}
	// Endless and without a sample: a chunk that is skipped for ever.
	_, _, err = Decode(io.MultiReader(strings.NewReader("RIFF\x00\x00\x00\x00WAVE"), zeros{}), "pipe")
	if !errors.Is(err, ErrFormat) {
		t.Errorf("endless chunks: %v, want ErrFormat", err)
	}
}

func TestReadRaw(t *testing.T) {
	sound := tone(100, 8000, 300, 0.5)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := ReadRaw(write("good", sound.AppendBytes(nil)), 8000); err != nil || !slices.Equal(got, sound) {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct {
		name string
		file []byte
		rate int
		want error
	}{
		{"odd", []byte{1, 2, 3}, 8000, ErrCut},
		{"empty", nil, 8000, ErrNoSound},
		{"wav", wavFile(wavInt, 1, 8000, 16, make([]byte, 10), -1), 8000, ErrFormat},
		{"rate", []byte{1, 2}, 12, ErrRate},
	} {
		if _, err := ReadRaw(write(c.name, c.file), c.rate); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestWriteWAV(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.wav")
	if err := os.WriteFile(path, []byte("what was there"), 0o600); err != nil {
		t.Fatal(err)
	}
	sound := tone(1001, 24000, 440, 0.7)
	if err := WriteWAV(path, sound, 24000); err != nil {
		t.Fatal(err)
	}
	got, rate, err := ReadFile(path)
	if err != nil || rate != 24000 || !slices.Equal(got, sound) {
		t.Errorf("%d samples at %d Hz came back, %v", len(got), rate, err)
	}
	// Another reader must agree.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf, err := wav.NewDecoder(f).FullPCMBuffer()
	if err != nil || buf.Format.SampleRate != 24000 || buf.Format.NumChannels != 1 || len(buf.Data) != len(sound) {
		t.Fatalf("another reader: %+v, %v", buf, err)
	}
	for i, s := range sound {
		if buf.Data[i] != int(s) {
			t.Fatalf("another reader: sample %d = %d, want %d", i, buf.Data[i], s)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("it left %v behind", entries)
	}
	if err := WriteWAV(filepath.Join(dir, "none", "out.wav"), sound, 24000); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into a folder that does not exist: %v", err)
	}
	if err := WriteWAV(path, sound, 0); !errors.Is(err, ErrRate) {
		t.Errorf("at no rate: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range wavCases(tone(50, 8000, 440, 0.9)) {
		f.Add(c.file)
	}
	for _, name := range []string{"lj_0008.flac", "tone_24k_mono.mp3", "tone_44k_stereo.mp3", "tone_22k_mono.mp3", "tone_22k_stereo.mp3"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 6000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, rate, err := Decode(bytes.NewReader(b), "fuzz")
		if err != nil {
			if p != nil || rate != 0 {
				t.Fatalf("%d samples beside %v", len(p), err)
			}
			return
		}
		if len(p) == 0 || rate < minRate || rate > maxRate {
			t.Fatalf("%d samples at %d Hz, without an error", len(p), rate)
		}
		path := filepath.Join(t.TempDir(), "again.wav")
		if err := WriteWAV(path, p, rate); err != nil {
			t.Fatal(err)
		}
		again, rate2, err := ReadFile(path)
		if err != nil || rate2 != rate || !slices.Equal(again, p) {
			t.Fatalf("%d samples at %d Hz became %d at %d, %v", len(p), rate, len(again), rate2, err)
		}
	})
}
