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
func decodeMP3(r *bufio.Reader, to sink) (p PCM, rate int, err error) {
	// Broken files make the decoder index out of its tables here and there.
	defer func() {
		if x := recover(); x != nil {
			p, rate, err = nil, 0, fmt.Errorf("%w: MP3: %v", ErrFormat, x)
		}
	}()
	if err := skipID3(r); err != nil {
		return nil, 0, fmt.Errorf("%w: MP3 of nothing but a title", ErrCut)
	}
	var frames io.Reader = r
	if head, err := r.Peek(4); err == nil && mp3Header(binary.BigEndian.Uint32(head)).valid() {
		frames = &mp3Repacker{r: r}
	}
	d, err := mp3.NewDecoder(frames)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: MP3: %w", ErrFormat, err)
	}
	mix := newMixer(d.SampleRate(), to)
	sound := bufio.NewReaderSize(d, 64<<10)
	var frame [4]byte // The decoder always makes two channels of 16 bits; of mono it makes two that are equal.
	for {
		_, err := io.ReadFull(sound, frame[:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			p, err := mix.end()
			return p, d.SampleRate(), err
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

// skipID3 leaves out the title block that many files begin with.
func skipID3(r *bufio.Reader) error {
	head, err := r.Peek(10)
	if err != nil || string(head[:3]) != "ID3" {
		return nil
	}
	size := int64(head[6]&0x7f)<<21 | int64(head[7]&0x7f)<<14 | int64(head[8]&0x7f)<<7 | int64(head[9]&0x7f)
	_, err = io.CopyN(io.Discard, r, 10+size)
	return err
}
