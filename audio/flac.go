package audio

import (
	"errors"
	"fmt"
	"io"

	"github.com/mewkiz/flac"
)

// decodeFLAC reads a FLAC file and mixes its channels.
func decodeFLAC(r io.Reader, to sink) (p PCM, rate int, err error) {
	// Broken files make the decoder index out of its tables here and there.
	defer func() {
		if x := recover(); x != nil {
			p, rate, err = nil, 0, fmt.Errorf("%w: FLAC: %v", ErrFormat, x)
		}
	}()
	stream, err := flac.New(r)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: FLAC: %w", ErrFormat, err)
	}
	info := stream.Info
	if info.BitsPerSample < 4 || info.BitsPerSample > 32 || info.NChannels == 0 {
		return nil, 0, fmt.Errorf("%w: FLAC with %d channels of %d bits", ErrFormat, info.NChannels, info.BitsPerSample)
	}
	scale := 1 / (float64(int64(1)<<(info.BitsPerSample-1)) * float64(info.NChannels))
	mix := newMixer(int(info.SampleRate), to)
	for {
		frame, err := stream.ParseNext()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%w: FLAC: %w", ErrFormat, err)
		}
		if len(frame.Subframes) != int(info.NChannels) {
			return nil, 0, fmt.Errorf("%w: FLAC whose number of channels changes", ErrFormat)
		}
		for i := range frame.Subframes[0].Samples {
			var sum float64
			for _, sub := range frame.Subframes {
				sum += float64(sub.Samples[i])
			}
			if err := mix.add(sum * scale); err != nil {
				return nil, 0, err
			}
		}
	}
	if uint64(mix.count) < info.NSamples {
		return nil, 0, fmt.Errorf("%w: it should hold %d samples and holds %d; copy it again", ErrCut, info.NSamples, mix.count)
	}
	p, err = mix.end()
	return p, int(info.SampleRate), err
}
