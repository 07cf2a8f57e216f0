package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// The format codes of WAV files that are understood.
const (
	wavInt        = 1
	wavFloat      = 3
	wavALaw       = 6
	wavMuLaw      = 7
	wavExtensible = 0xfffe
)

// wavUnknown is the least data size that stands for "until the end of the file": programs that write to a pipe cannot go
// back and put the true size there, and fill in the largest that they think fits.
const wavUnknown = 0x7fff0000

// wavBlock is how many samples of all channels are read at a time.
const wavBlock = 4096

// wavChunks is how many chunks are looked through for the data. Real files have a handful.
const wavChunks = 1000

// wavFormat is a WAV file's format chunk.
type wavFormat struct {
	code     uint16
	channels int
	rate     int
	bits     int // Of one sample.
}

// decodeWAV reads a WAV file: integers of 8 to 32 bits, floats of 32 and 64, A-law and mu-law, plain or extensible. The
// module's go-audio/wav reads only integers, and no files that came through a pipe, so the chunks are walked here.
func decodeWAV(r io.Reader, to sink) (PCM, int, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[8:]) != "WAVE" {
		return nil, 0, fmt.Errorf("%w: a RIFF file, but no WAVE", ErrFormat)
	}
	var format wavFormat
	for range wavChunks {
		id, size, err := wavChunk(r)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: no data chunk", ErrCut)
		}
		switch id {
		case "fmt ":
			if format, err = readWAVFormat(r, size); err != nil {
				return nil, 0, err
			}
		case "data":
			if format.channels == 0 {
				return nil, 0, fmt.Errorf("%w: the format chunk is missing", ErrFormat)
			}
			p, err := readWAVData(r, size, format, to)
			return p, format.rate, err
		default:
			if _, err := io.CopyN(io.Discard, r, int64(size)+int64(size&1)); err != nil {
				return nil, 0, fmt.Errorf("%w: no data chunk", ErrCut)
			}
		}
	}
	return nil, 0, fmt.Errorf("%w: no data among the first %d chunks", ErrFormat, wavChunks)
}

// wavChunk reads the head of the next chunk.
func wavChunk(r io.Reader) (id string, size uint32, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", 0, err
	}
	return string(head[:4]), binary.LittleEndian.Uint32(head[4:]), nil
}

// readWAVFormat reads the body of a format chunk and checks it.
func readWAVFormat(r io.Reader, size uint32) (wavFormat, error) {
	if size < 16 || size > 4096 {
		return wavFormat{}, fmt.Errorf("%w: a format chunk of %d bytes", ErrFormat, size)
	}
	b := make([]byte, size+size&1)
	if _, err := io.ReadFull(r, b); err != nil {
		return wavFormat{}, fmt.Errorf("%w: within the format chunk", ErrCut)
	}
	f := wavFormat{
		code:     binary.LittleEndian.Uint16(b),
		channels: int(binary.LittleEndian.Uint16(b[2:])),
		rate:     int(binary.LittleEndian.Uint32(b[4:])),
		bits:     int(binary.LittleEndian.Uint16(b[14:])),
	}
	if f.code == wavExtensible && size >= 40 {
		f.code = binary.LittleEndian.Uint16(b[24:]) // The sub-format, whose first two bytes are the old code.
	}
	if f.channels < 1 || f.channels > 64 {
		return wavFormat{}, fmt.Errorf("%w: %d channels", ErrFormat, f.channels)
	}
	if f.sample() == nil {
		return wavFormat{}, fmt.Errorf("%w: WAV code %d with %d bits; convert it with: ffmpeg -i IN -c:a pcm_s16le OUT.wav",
			ErrFormat, f.code, f.bits)
	}
	return f, nil
}

// readWAVData reads a data chunk and mixes its channels.
func readWAVData(r io.Reader, size uint32, f wavFormat, to sink) (PCM, error) {
	known := size != 0 && size < wavUnknown
	if known {
		r = io.LimitReader(r, int64(size))
	}
	width, sample := f.bits/8, f.sample()
	size1 := width * f.channels // Of one sample of all channels.
	samples := wavBlock
	if to != nil { // who waits for the first of it need not wait for more
		samples = max(1, min(wavBlock, f.rate/streamChunks))
	}
	block := make([]byte, samples*size1)
	mix := newMixer(f.rate, to)
	var got int64
	for {
		n, err := io.ReadFull(r, block)
		got += int64(n)
		for b := block[:n-n%size1]; len(b) > 0; b = b[size1:] {
			var sum float64
			for i := 0; i < size1; i += width {
				sum += sample(b[i:])
			}
			if err := mix.add(sum / float64(f.channels)); err != nil {
				return nil, err
			}
		}
		switch {
		case err == nil:
		case known && got < int64(size):
			return nil, fmt.Errorf("%w: it should hold %d bytes of sound and holds %d; copy it again, or mend it with: ffmpeg -i IN OUT.wav",
				ErrCut, size, got)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return mix.end() // A last sample that is not whole is left out.
		default:
			return nil, err
		}
	}
}

// sample returns the function that turns one sample into -1..1, or nil when the format is not understood.
func (f wavFormat) sample() func([]byte) float64 {
	le := binary.LittleEndian
	switch {
	case f.code == wavInt && f.bits == 8:
		return func(b []byte) float64 { return (float64(b[0]) - 128) / 128 }
	case f.code == wavInt && f.bits == 16:
		return func(b []byte) float64 { return float64(int16(le.Uint16(b))) / (1 << 15) }
	case f.code == wavInt && f.bits == 24:
		return func(b []byte) float64 { return float64(int32(b[0])<<8|int32(b[1])<<16|int32(b[2])<<24) / (1 << 31) }
	case f.code == wavInt && f.bits == 32:
		return func(b []byte) float64 { return float64(int32(le.Uint32(b))) / (1 << 31) }
	case f.code == wavFloat && f.bits == 32:
		return func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }
	case f.code == wavFloat && f.bits == 64:
		return func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }
	case f.code == wavALaw && f.bits == 8:
		return func(b []byte) float64 { return float64(FromALaw(b[:1])[0]) / (1 << 15) }
	case f.code == wavMuLaw && f.bits == 8:
		return func(b []byte) float64 { return float64(FromMuLaw(b[:1])[0]) / (1 << 15) }
	}
	return nil
}

// WriteWAV writes p to path as 16-bit mono. The file appears whole or not at all; one that was there is replaced.
func WriteWAV(path string, p PCM, rate int) error {
	if rate < minRate || rate > maxRate {
		return fmt.Errorf("write %s at %d Hz: %w", path, rate, ErrRate)
	}
	size := 2 * len(p)
	if size > math.MaxInt32 {
		return fmt.Errorf("write %s: %w", path, ErrTooLong)
	}
	le := binary.LittleEndian
	b := make([]byte, 0, 44+size)
	b = le.AppendUint32(append(b, "RIFF"...), uint32(36+size))
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, wavInt), 1)
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(2*rate))
	b = le.AppendUint16(le.AppendUint16(b, 2), 16)
	b = le.AppendUint32(append(b, "data"...), uint32(size))
	return replaceFile(path, p.AppendBytes(b))
}

// replaceFile puts b at path in one step, by way of a file beside it.
func replaceFile(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = f.Write(b)
	// CreateTemp makes files private; a recording is an ordinary file.
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
