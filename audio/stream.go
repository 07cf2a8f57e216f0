package audio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// streamChunks is into how many parts a second of sound is cut that is handed on as it comes.
const streamChunks = 50

// Stream decodes a stream of WAV, FLAC or MP3, told apart by their first bytes, and hands on its sound as it comes, mixed down to one
// channel. It returns what yield returns where that is an error, what reading r failed with, or one of ErrFormat, ErrCut, ErrNoSound,
// ErrTooLong and ErrRate.
func Stream(r io.Reader, yield func(p PCM, rate int) error) error {
	failing := &failingReader{r: r}
	some := false
	_, _, err := decode(bufio.NewReaderSize(failing, 4<<10), func(p PCM, rate int) error {
		if rate < minRate || rate > maxRate {
			return fmt.Errorf("%w: %d Hz", ErrRate, rate)
		}
		some = true
		return yield(p, rate)
	})
	switch {
	case failing.err != nil: // some decoders take that for the end
		return failing.err
	case err == nil && !some:
		return ErrNoSound
	}
	return err
}

// failingReader remembers why there is no more to read, unless it is the end.
type failingReader struct {
	r   io.Reader
	err error
}

// Read reads from r.
func (f *failingReader) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
