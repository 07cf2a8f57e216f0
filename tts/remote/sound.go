package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/remote"
)

// decode hands on the sound of an answer, whatever form it has: its first bytes tell, and where they do not, its type has to be one of sound.
func decode(res *http.Response, to *chunks) error {
	kind, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	r := bufio.NewReaderSize(res.Body, 4<<10)
	head, err := r.Peek(4)
	if len(head) == 0 {
		if err == io.EOF {
			return fmt.Errorf("%w: there is no sound", remote.ErrCut)
		}
		return err
	}
	compressed := kind == "audio/mpeg" || kind == "audio/mp3" || kind == "audio/flac" || kind == "audio/x-flac" || strings.HasSuffix(kind, "wav")
	switch {
	case bytes.Equal(head, []byte("OggS")):
		err = opus.Stream(r, Rate, func(p audio.PCM) error { return to.add(p, Rate) })
	case compressed || bytes.Equal(head, []byte("RIFF")) || bytes.Equal(head, []byte("fLaC")) || bytes.HasPrefix(head, []byte("ID3")):
		err = audio.Stream(r, to.add)
	case kind == "audio/pcm" || kind == "audio/l16" || kind == "audio/x-raw" || kind == "application/octet-stream" || kind == "":
		rate := Rate
		if n, err := strconv.Atoi(params["rate"]); err == nil {
			rate = n
		}
		err = raw(r, rate, to.add)
	default:
		return fmt.Errorf("%w: it is %.64q, and no sound", remote.ErrGarbage, kind)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, audio.ErrCut), errors.Is(err, audio.ErrNoSound):
		return fmt.Errorf("%w: %w", remote.ErrCut, err)
	case errors.Is(err, audio.ErrFormat), errors.Is(err, audio.ErrRate), errors.Is(err, audio.ErrTooLong), errors.Is(err, opus.ErrOgg):
		return fmt.Errorf("%w: %w", remote.ErrGarbage, err)
	}
	return err
}

// raw hands on samples of 16 bits, little-endian, as they come.
func raw(r io.Reader, rate int, to func(audio.PCM, int) error) error {
	if rate < 8000 || rate > 48000 {
		return fmt.Errorf("%w: samples at %d Hz", remote.ErrGarbage, rate)
	}
	b, odd := make([]byte, 4<<10), 0
	for {
		n, err := r.Read(b[odd:])
		n += odd
		p := make(audio.PCM, n/2)
		for i := range p {
			p[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		if odd = n % 2; odd == 1 {
			b[0] = b[n-1]
		}
		if len(p) > 0 {
			if err := to(p, rate); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// chunks hands on sound at Rate in parts: the first is short, since somebody waits for it, and those behind it are long enough that a
// server which brings a sample at a time is found to have stalled.
type chunks struct {
	yield     func(audio.PCM) error
	rate      int
	resampler *audio.Resampler
	rest      audio.PCM
	some      bool // Something was handed on.
}

// Lengths of parts, in samples.
const firstChunk, nextChunk = Rate / 50, Rate / 10

// add takes in what comes next.
func (c *chunks) add(p audio.PCM, rate int) error {
	if c.resampler == nil || rate != c.rate {
		c.close()
		r, err := audio.OpenResampler(rate, Rate)
		if err != nil {
			return err
		}
		c.resampler, c.rate = r, rate
	}
	c.rest = append(c.rest, c.resampler.Write(p)...)
	least := nextChunk
	if !c.some {
		least = firstChunk
	}
	if len(c.rest) < least {
		return nil
	}
	return c.hand()
}

// end hands on what is left.
func (c *chunks) end() error {
	if c.resampler != nil {
		c.rest = append(c.rest, c.resampler.Flush()...)
	}
	if len(c.rest) == 0 {
		return nil
	}
	return c.hand()
}

func (c *chunks) hand() error {
	p := c.rest
	c.rest, c.some = nil, true
	return c.yield(p)
}

// close frees the resampler.
func (c *chunks) close() {
	if c.resampler != nil {
		c.resampler.Close()
	}
}
