package audio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// What a sound file may be at most. An hour fills 345 MB of memory at 48 kHz; no call takes longer.
const (
	MaxFileBytes    = 1 << 30
	MaxFileDuration = time.Hour
)

// ReadFile reads a sound file: WAV, FLAC or MP3, told apart by their first bytes. Channels are mixed down to one. The
// error is, wrapped, one of ErrFormat, ErrCut, ErrNoSound, ErrTooLong and ErrRate, or the file system's, and says which
// file it is.
func ReadFile(path string) (p PCM, rate int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err // It names the file already.
	}
	defer f.Close()
	return Decode(f, path)
}

// Decode is ReadFile for a stream, which is read to the end of its sound. The name appears in errors.
func Decode(r io.Reader, name string) (p PCM, rate int, err error) {
	limited := &limitReader{r: r, left: MaxFileBytes}
	p, rate, err = decode(bufio.NewReaderSize(limited, 64<<10), nil)
	switch {
	case limited.left <= 0:
		err = fmt.Errorf("%w: more than %d MiB", ErrTooLong, MaxFileBytes>>20)
	case err == nil && len(p) == 0:
		err = ErrNoSound
	case err == nil && (rate < minRate || rate > maxRate):
		err = fmt.Errorf("%w: %d Hz", ErrRate, rate)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	return p, rate, nil
}

// ReadRaw reads a file of nothing but signed 16-bit little-endian mono samples at rate hertz. Its errors are those of
// ReadFile.
func ReadRaw(path string, rate int) (PCM, error) {
	if rate < minRate || rate > maxRate {
		return nil, fmt.Errorf("read %s at %d Hz: %w", path, rate, ErrRate)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := 2 * int64(rate) * int64(MaxFileDuration/time.Second)
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > limit:
		err = fmt.Errorf("%w: more than %v", ErrTooLong, MaxFileDuration)
	case len(b) == 0:
		err = ErrNoSound
	case len(b)%2 != 0:
		err = fmt.Errorf("%w: %d bytes are no whole number of 16-bit samples", ErrCut, len(b))
	case letters(b) != "":
		err = fmt.Errorf("%w: it is no raw sound but %s; leave out the rate", ErrFormat, letters(b))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return FromBytes(b), nil
}

// decode reads one file of whatever kind. Where to is not nil, the sound goes there as it comes.
func decode(r *bufio.Reader, to sink) (PCM, int, error) {
	head, err := r.Peek(12)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			return nil, 0, fmt.Errorf("%w: it is empty", ErrNoSound)
		}
		return nil, 0, err
	}
	switch magic(head) {
	case "WAV":
		return decodeWAV(r, to)
	case "FLAC":
		return decodeFLAC(r, to)
	case "MP3":
		return decodeMP3(r, to)
	}
	return nil, 0, fmt.Errorf("%w: neither WAV, FLAC nor MP3", ErrFormat)
}

// letters returns the kind of file that head says in letters, or "". Raw sound hardly ever begins with any.
func letters(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")):
		return "WAV"
	case bytes.HasPrefix(head, []byte("fLaC")):
		return "FLAC"
	case bytes.HasPrefix(head, []byte("ID3")):
		return "MP3"
	}
	return ""
}

// magic returns the kind of file that begins with head, or "".
func magic(head []byte) string {
	switch {
	case letters(head) != "":
		return letters(head)
	// A frame of MPEG 1 or 2, layer 3, whose bit rate and sampling rate are not the reserved ones.
	case len(head) >= 4 && head[0] == 0xff && head[1]&0xf6 == 0xf2 && head[2]>>4 != 15 && head[2]&0x0c != 0x0c:
		return "MP3"
	}
	return ""
}

// mixer collects the mono sound of a file, up to MaxFileDuration, or hands it on.
type mixer struct {
	sound PCM // What was not handed on.
	count int
	limit int
	rate  int
	to    sink // nil hands nothing on.
}

// sink takes sound as it comes, and may end it with an error.
type sink func(p PCM, rate int) error

// newMixer returns a mixer for a file at rate hertz.
func newMixer(rate int, to sink) *mixer {
	return &mixer{limit: max(1, min(rate, maxRate)) * int(MaxFileDuration/time.Second), rate: rate, to: to}
}

// flush hands on what there is.
func (m *mixer) flush() error {
	if m.to == nil || len(m.sound) == 0 {
		return nil
	}
	p := m.sound
	m.sound = nil
	return m.to(p, m.rate)
}

// end hands on what is left, and returns what was not.
func (m *mixer) end() (PCM, error) { return m.sound, m.flush() }

// add appends one sample, -1..1; what lies outside is clipped, and what is no number is silence.
func (m *mixer) add(x float64) error {
	if m.count == m.limit {
		return fmt.Errorf("%w: more than %v", ErrTooLong, MaxFileDuration)
	}
	if math.IsNaN(x) {
		x = 0
	}
	m.sound = append(m.sound, int16(max(-32768, min(32767, math.Round(x*32768)))))
	m.count++
	if m.to != nil && len(m.sound) >= m.rate/streamChunks {
		return m.flush()
	}
	return nil
}

// limitReader ends after left bytes, and shows that by left being 0 or less.
type limitReader struct {
	r    io.Reader
	left int64
}

// Read reads from r.
func (l *limitReader) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	n, err := l.r.Read(b)
	l.left -= int64(n)
	return n, err
}
