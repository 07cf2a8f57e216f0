package opus

import (
	"io"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4/pkg/media/oggwriter"

	"riposte/audio"
)

// Writer writes sound as a file of Opus in Ogg while it comes. Set the exported fields, then Open it. It must not be used by two goroutines
// at once.
type Writer struct {
	Out     io.Writer
	Rate    int // Of the sound that it gets: one that Encoder takes.
	Bitrate int // As Encoder's.

	encoder Encoder
	file    *oggwriter.OggWriter
	held    audio.PCM
}

// writerFrame is how much sound a packet has.
const writerFrame = 20 * time.Millisecond

// Open begins the file. The error is ErrMissing where there is no libopus, or Out's.
func (w *Writer) Open() error {
	w.encoder = Encoder{Rate: w.Rate, Bitrate: w.Bitrate}
	if err := w.encoder.Open(); err != nil {
		return err
	}
	var err error
	if w.file, err = oggwriter.NewWith(w.Out, Clock, 1); err != nil {
		w.encoder.Close()
		return err
	}
	w.held = make(audio.PCM, (preSkip-lookAhead)*w.Rate/Clock)
	return nil
}

// preSkip is how much of the beginning a file says that nobody is to hear, in samples of Clock: what a decoder takes to settle. lookAhead
// of it is what the encoder is late by; the rest is silence before the sound.
const preSkip, lookAhead = 3840, 312

// Write writes the packets that are complete.
func (w *Writer) Write(p audio.PCM) error {
	w.held = append(w.held, p...)
	n := audio.Samples(writerFrame, w.Rate)
	for len(w.held) >= n {
		packet, err := w.encoder.Encode(w.held[:n])
		if err != nil {
			return err
		}
		w.held = w.held[n:]
		if err := w.file.WriteRTP(&rtp.Packet{Payload: packet}); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is left, filled up with silence, and ends the file.
func (w *Writer) Close() error {
	defer w.encoder.Close()
	// What the encoder holds comes out behind the sound.
	if err := w.Write(make(audio.PCM, 2*audio.Samples(writerFrame, w.Rate)-1)); err != nil {
		return err
	}
	return w.file.Close()
}
