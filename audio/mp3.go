package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hajimehoshi/go-mp3"
)

// decodeMP3 reads an MP3 file and mixes its channels. An MP3 does not say how long it is, so one that is cut is simply
// shorter, unless nothing is left of it.
func decodeMP3(r io.Reader) (p PCM, rate int, err error) {
	// Broken files make the decoder index out of its tables here and there.
	defer func() {
		if x := recover(); x != nil {
			p, rate, err = nil, 0, fmt.Errorf("%w: MP3: %v", ErrFormat, x)
		}
	}()
	d, err := mp3.NewDecoder(r)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: MP3: %w", ErrFormat, err)
	}
	if d.SampleRate() == 22050 {
		// Only at this rate frames are padded to differ in length, and the decoder takes the padded ones for a byte too
		// short, so that most of the sound comes out wrong.
		return nil, 0, fmt.Errorf("%w: MP3 at 22050 Hz; convert it with: ffmpeg -i IN OUT.wav", ErrFormat)
	}
	mix := newMixer(d.SampleRate())
	sound := bufio.NewReaderSize(d, 64<<10)
	var frame [4]byte // The decoder always makes two channels of 16 bits; of mono it makes two that are equal.
	for {
		_, err := io.ReadFull(sound, frame[:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return mix.sound, d.SampleRate(), nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%w: MP3: %w", ErrFormat, err)
		}
		left := int16(binary.LittleEndian.Uint16(frame[:]))
		right := int16(binary.LittleEndian.Uint16(frame[2:]))
		if err := mix.add((float64(left) + float64(right)) / (1 << 16)); err != nil {
			return nil, 0, err
		}
	}
}
