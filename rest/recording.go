package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/budget"
)

// recording decodes a file to what recognisers hear. That takes its time as well, and so it is done in parts that make room for calls.
func (s *Server) recording(ctx context.Context, cores *budget.Executor, u upload) (audio.PCM, error) {
	var sound audio.PCM
	var err error
	parts := func(yield func(struct{}) bool) {
		sound, err = decoded(&partReader{ctx: ctx, r: bytes.NewReader(u.file), yield: func() bool { return yield(struct{}{}) }})
	}
	if e := inParts(ctx, cores, "rest.decode", parts); e != nil {
		return nil, e
	}
	if err == nil && sound.Duration(audio.SpeechRate) > s.Limits.Recording {
		err = audio.ErrTooLong
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

// decoded reads a file of any kind that is known.
func decoded(r *partReader) (audio.PCM, error) {
	head := make([]byte, 4)
	n, _ := io.ReadFull(r.r, head)
	if _, err := r.r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if string(head[:n]) == "OggS" {
		return decodedOgg(r)
	}
	sound, rate, err := audio.Decode(r, "file")
	if err != nil || rate == audio.SpeechRate {
		return sound, err
	}
	change, err := audio.OpenResampler(rate, audio.SpeechRate)
	if err != nil {
		return nil, err
	}
	defer change.Close()
	out := make(audio.PCM, 0, len(sound)*audio.SpeechRate/rate+1)
	for from := 0; from < len(sound); from += rate { // a second takes some milliseconds
		out = append(out, change.Write(sound[from:min(len(sound), from+rate)])...)
		if !r.yield() {
			return nil, context.Cause(r.ctx)
		}
	}
	return append(out, change.Flush()...), nil
}

// decodedOgg reads a file of Opus. One that is cut is shorter, as one of MP3 is.
func decodedOgg(r *partReader) (sound audio.PCM, err error) {
	err = opus.Stream(r, audio.SpeechRate, func(p audio.PCM) error {
		if sound = append(sound, p...); sound.Duration(audio.SpeechRate) > audio.MaxFileDuration {
			return audio.ErrTooLong
		}
		return nil
	})
	switch {
	case errors.Is(err, opus.ErrOgg):
		err = fmt.Errorf("%w: %w", audio.ErrFormat, err)
	case errors.Is(err, io.ErrUnexpectedEOF) && len(sound) > 0 && r.ctx.Err() == nil:
		err = nil
	}
	return sound, err
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
