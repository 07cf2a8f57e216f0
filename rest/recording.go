package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/budget"
)

// recording decodes a file to what recognisers hear. That takes its time as well, and so it is done in parts that make room for calls.
func (s *Server) recording(ctx context.Context, cores *budget.Executor, u upload) (audio.PCM, error) {
	var sound audio.PCM
	var err error
	parts := func(yield func(struct{}) bool) {
		sound, err = decoded(&partReader{ctx: ctx, r: bytes.NewReader(u.file), yield: func() bool { return yield(struct{}{}) }}, s.Limits.Recording)
	}
	if e := inParts(ctx, cores, "rest.decode", parts); e != nil {
		return nil, e
	}
	switch {
	case err == nil:
		return sound, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, audio.ErrTooLong):
		return nil, &Problem{Status: http.StatusRequestEntityTooLarge, Code: "audio_too_long", Param: "file",
			Message: "The recording is too long: it may last " + s.Limits.Recording.String() + " here."}
	case errors.Is(err, audio.ErrNoResampler), errors.Is(err, opus.ErrMissing):
		return nil, err
	case errors.Is(err, audio.ErrFormat):
		return nil, wrong("file", "The file cannot be read: %v. It can be WAV, MP3, FLAC or Opus in Ogg.", err)
	}
	return nil, wrong("file", "The file cannot be read: %v.", err)
}

// decoded reads a file of any kind that is known, as far as it is not longer than a time.
func decoded(r *partReader, longest time.Duration) (audio.PCM, error) {
	head := make([]byte, 4)
	n, _ := io.ReadFull(r.r, head)
	if _, err := r.r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h := &hearing{r: r, most: audio.Samples(longest, audio.SpeechRate)}
	defer h.close()
	var err error
	if string(head[:n]) == "OggS" {
		err = opus.Stream(r, audio.SpeechRate, func(p audio.PCM) error { return h.add(p, audio.SpeechRate) })
	} else {
		err = audio.Stream(r, h.add)
	}
	switch {
	case errors.Is(err, opus.ErrOgg):
		return nil, fmt.Errorf("%w: %w", audio.ErrFormat, err)
	case errors.Is(err, io.ErrUnexpectedEOF) && len(h.sound) > 0 && r.ctx.Err() == nil: // one of Opus that is cut is shorter, as one of MP3 is
	case err != nil:
		return nil, err
	}
	return h.sound, h.end()
}

// hearing keeps sound at the rate that recognisers hear, as it is decoded: a small file can hold hours of it, at many times that rate.
type hearing struct {
	r      *partReader
	most   int // Samples.
	change *audio.Resampler
	sound  audio.PCM
	apart  int // How many samples came since others could last go ahead.
}

// add takes in what comes next.
func (h *hearing) add(p audio.PCM, rate int) (err error) {
	if h.change == nil {
		if h.change, err = audio.OpenResampler(rate, audio.SpeechRate); err != nil {
			return err
		}
	}
	if h.apart += len(p); h.apart >= rate { // a second takes some milliseconds
		h.apart = 0
		if !h.r.yield() {
			return context.Cause(h.r.ctx)
		}
	}
	return h.keep(h.change.Write(p))
}

// end takes in what is left.
func (h *hearing) end() error {
	if h.change == nil {
		return nil
	}
	return h.keep(h.change.Flush())
}

func (h *hearing) keep(p audio.PCM) error {
	if len(h.sound)+len(p) > h.most {
		return audio.ErrTooLong
	}
	h.sound = append(h.sound, p...)
	return nil
}

func (h *hearing) close() {
	if h.change != nil {
		h.change.Close()
	}
}

// partReader reads, and lets others go ahead between parts.
type partReader struct {
	ctx   context.Context
	r     *bytes.Reader
	yield func() bool
	read  int
}

// partBytes is so much of a file that it is decoded within some milliseconds.
const partBytes = 4 << 10

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b[:min(len(b), partBytes)])
	if p.read += n; p.read >= partBytes {
		p.read = 0
		if !p.yield() {
			return 0, context.Cause(p.ctx)
		}
	}
	return n, err
}

// inParts does work in the background that stops after each part, in which others may go ahead.
func inParts(ctx context.Context, cores *budget.Executor, kind string, parts iter.Seq[struct{}]) error {
	next, stop := iter.Pull(parts)
	defer stop()
	for more := true; more; {
		err := cores.Run(ctx, budget.Job{Urgency: background, Kind: kind}, func(context.Context, int) error {
			_, more = next()
			return nil
		})
		if err != nil && !errors.Is(err, budget.ErrPreempted) { // then the part is still to be done
			return err
		}
	}
	return nil
}
