package webrtc

import (
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/audio/opus/track"
	"riposte/transport"
)

// ear makes sound of the packets that come from a caller.
type ear struct {
	hear    func(transport.Sound) bool // Takes the next sound; false when nobody listens any more.
	log     *slog.Logger
	packets chan track.Packet
	states  chan bool // Whether the connection is broken.
	gone    <-chan struct{}
	tally   *tally

	strange atomic.Uint64 // Packets that could not even be read, and are to be counted.

	counted counts // Of the packets, that the tally has.
	jitter  jitter
	decoder opus.Decoder
	silence time.Duration // How long the sound has been silent by now.
}

const (
	// silent is below any voice, in dBFS.
	silent = -60.0
	// patient is how many packets in a row may be unreadable until they are read more slowly.
	patient = 100
	// settled is how long silence has been when parts of it can be left out: whatever was to be decided by it has been.
	settled = time.Second
)

func newEar(depth time.Duration, log *slog.Logger, t *tally, gone <-chan struct{}, hear func(transport.Sound) bool) *ear {
	return &ear{
		hear: hear, log: log, tally: t, gone: gone, packets: make(chan track.Packet, mostHeld), states: make(chan bool, 4),
		jitter: jitter{Most: depth}, decoder: opus.Decoder{Rate: audio.SpeechRate},
	}
}

// read hands on the packets of a track until it ends.
func (e *ear) read(next func() (*rtp.Packet, error)) {
	for row := 0; ; row++ {
		p, err := next()
		if err != nil {
			if track.Ended(err) {
				return
			}
			e.strange.Add(1)
			if row > patient { // whoever sends nothing else costs no more than this
				select {
				case <-time.After(time.Millisecond):
				case <-e.gone:
					return
				}
			}
			continue
		}
		row = 0
		select {
		case e.packets <- track.Read(p, time.Now()):
		case <-e.gone:
			return
		}
	}
}

// broken says whether the connection is broken, so that nothing can come.
func (e *ear) broken(is bool) {
	select {
	case e.states <- is:
	case <-e.gone:
	}
}

// run decodes until the call ends.
func (e *ear) run() error {
	if err := e.decoder.Open(); err != nil {
		return err
	}
	defer e.decoder.Close()
	defer func() { e.log.Debug("what came of the caller's packets", "counts", e.jitter.count) }()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Duration(math.MaxInt64)
		if at, ok := e.jitter.due(); ok {
			wait = time.Until(at)
		}
		timer.Reset(wait)
		select {
		case p := <-e.packets:
			e.arrived(p)
		case is := <-e.states:
			e.jitter.stop(is, time.Now())
		case <-timer.C:
		case <-e.gone:
			return nil
		}
		for waiting := len(e.packets); waiting > 0; waiting-- { // what is here already is not late, though this machine may be
			e.arrived(<-e.packets)
		}
		for p, ok := e.jitter.step(time.Now()); ok; p, ok = e.jitter.step(time.Now()) {
			if !e.hand(p) {
				return nil
			}
		}
		e.jitter.count.Unreadable += e.strange.Swap(0)
		if e.jitter.count != e.counted {
			e.tally.add(e.jitter.count, e.counted)
			e.counted = e.jitter.count
		}
	}
}

// arrived takes a packet.
func (e *ear) arrived(p track.Packet) {
	if p.Length == 0 && len(p.Payload) > 0 {
		e.jitter.count.Unreadable++
	}
	e.jitter.arrived(p)
}

// hand hands on the sound of one piece. It reports false when nobody listens any more.
func (e *ear) hand(p piece) bool {
	length := audio.Duration(p.length, opus.Clock)
	pcm, err := e.decode(p, length)
	if err != nil {
		if errors.Is(err, opus.ErrFailed) && p.kind == whole {
			e.jitter.count.Unreadable++
		}
		pcm = make(audio.PCM, audio.Samples(length, audio.SpeechRate)) // its time goes by nevertheless
	}
	if pcm.Level() > silent {
		e.silence = 0
	} else if e.silence += length; e.silence > settled && e.jitter.leaveOut(p) {
		return true
	}
	return e.hear(transport.Sound{PCM: slices.Clone(pcm), Rate: audio.SpeechRate, At: p.at})
}

func (e *ear) decode(p piece, length time.Duration) (audio.PCM, error) {
	switch p.kind {
	case whole:
		return e.decoder.Decode(p.payload)
	case recovered:
		return e.decoder.Recover(p.payload, length)
	case concealed:
		return e.decoder.Conceal(length)
	}
	return make(audio.PCM, audio.Samples(length, audio.SpeechRate)), nil
}
