package rest

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"riposte/audio"
	"riposte/audio/lame"
	"riposte/audio/opus"
)

// soundTypes are the forms of sound, and what browsers call them.
var soundTypes = map[string]string{"mp3": "audio/mpeg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm"}

// soundRate is the rate of sound in all forms, in hertz: what OpenAI's pcm has, and all of a voice.
const soundRate = 24000

// openSound returns what makes a file of a form of a voice's sound at rate hertz.
func openSound(format string, rate int, w io.Writer) (soundWriter, error) {
	change, err := audio.OpenResampler(rate, soundRate)
	if err != nil {
		return nil, err
	}
	s := &sound{change: change}
	switch format {
	case "mp3":
		e := &lame.Encoder{Out: w, Rate: soundRate}
		s.to, err = e, e.Open()
	case "opus":
		e := &opus.Writer{Out: w, Rate: soundRate}
		s.to, err = e, e.Open()
	case "flac":
		s.to, err = audio.OpenFLAC(w, soundRate)
	case "wav":
		s.to = plain{w}
		_, err = w.Write(wavHeader(soundRate))
	case "pcm":
		s.to = plain{w}
	default:
		err = fmt.Errorf("no form of sound is called %q", format)
	}
	if err != nil {
		change.Close()
		return nil, err
	}
	return s, nil
}

// sound changes the rate of sound on its way into a file.
type sound struct {
	change *audio.Resampler
	to     soundWriter
	closed bool
}

func (s *sound) Write(p audio.PCM) error { return s.to.Write(s.change.Write(p)) }

func (s *sound) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	defer s.change.Close()
	if err := s.to.Write(s.change.Flush()); err != nil {
		return err
	}
	return s.to.Close()
}

// plain writes samples as they are.
type plain struct{ w io.Writer }

func (p plain) Write(sound audio.PCM) error {
	_, err := p.w.Write(sound.AppendBytes(nil))
	return err
}

func (plain) Close() error { return nil }

// wavHeader begins a WAV file of 16-bit mono that goes on until it ends: how long it becomes is not known.
func wavHeader(rate uint32) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), math.MaxUint32)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), 1)
	b = le.AppendUint32(le.AppendUint32(b, rate), 2*rate)
	b = le.AppendUint16(le.AppendUint16(b, 2), 16)
	return le.AppendUint32(append(b, "data"...), math.MaxUint32)
}
