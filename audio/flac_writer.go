package audio

import (
	"fmt"
	"io"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

// flacBlock is how many samples a frame of FLAC has here: a sixth of a second of a voice.
const flacBlock = 4096

// FLACWriter writes mono sound as FLAC while it comes, so that the file does not say how long it is. OpenFLAC makes one.
type FLACWriter struct {
	encoder *flac.Encoder
	rate    int
	held    []int32
}

// OpenFLAC begins a file of sound at rate hertz.
func OpenFLAC(w io.Writer, rate int) (*FLACWriter, error) {
	if rate < minRate || rate > maxRate {
		return nil, fmt.Errorf("write FLAC at %d Hz: %w", rate, ErrRate)
	}
	// Only a file whose end is known says its true sum: nobody can go back in a stream.
	e, err := flac.NewEncoder(struct{ io.Writer }{w}, &meta.StreamInfo{
		BlockSizeMin: flacBlock, BlockSizeMax: flacBlock, SampleRate: uint32(rate), NChannels: 1, BitsPerSample: 16,
	})
	if err != nil {
		return nil, fmt.Errorf("write FLAC: %w", err)
	}
	e.EnablePredictionAnalysis(true)
	return &FLACWriter{encoder: e, rate: rate}, nil
}

// Write writes the frames that are complete.
func (f *FLACWriter) Write(p PCM) error {
	for _, s := range p {
		if f.held = append(f.held, int32(s)); len(f.held) == flacBlock {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes a frame of what is held.
func (f *FLACWriter) flush() error {
	n := len(f.held)
	if n == 0 {
		return nil
	}
	sub := &frame.Subframe{SubHeader: frame.SubHeader{Pred: frame.PredVerbatim}, Samples: f.held, NSamples: n}
	err := f.encoder.WriteFrame(&frame.Frame{
		Header: frame.Header{
			HasFixedBlockSize: true, BlockSize: uint16(n), SampleRate: uint32(f.rate), Channels: frame.ChannelsMono, BitsPerSample: 16,
		},
		Subframes: []*frame.Subframe{sub},
	})
	f.held = make([]int32, 0, flacBlock)
	if err != nil {
		return fmt.Errorf("write FLAC: %w", err)
	}
	return nil
}

// Close writes what is left.
func (f *FLACWriter) Close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.encoder.Close()
}
