package webrtc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"

	"riposte/audio/opus"
	"riposte/transport"
	"riposte/transport/realtime"
)

// speaker sends the answers' sound to the caller, packet by packet.
type speaker struct {
	write   func(*rtp.Packet) error // Sends a packet; it fills in who sends it and what it is.
	encoder opus.Encoder
	said    chan realtime.Playback
	gone    <-chan struct{} // Closed when the call ends.

	loss atomic.Uint64 // The part of the packets that is lost on their way, as the caller's side says, in the bits of a float.

	mu   sync.Mutex
	pace pace
	news chan struct{} // Holds something when there is something new to send.
	room chan struct{} // Holds something when there may be room for more.
}

// mostWaiting is how much sound may wait to leave. The pipeline keeps to a small lead, so it is far less.
const mostWaiting = time.Second

func newSpeaker(bitrate int, dtx bool, gone <-chan struct{}, write func(*rtp.Packet) error) *speaker {
	return &speaker{
		write: write, gone: gone, encoder: opus.Encoder{Rate: realtime.PCMRate, Bitrate: bitrate, DTX: dtx}, pace: pace{Always: !dtx},
		said: make(chan realtime.Playback, 8), news: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// take takes what concerns the sound of answers.
func (s *speaker) take(ctx context.Context, out transport.Outbound) error {
	now := time.Now()
	s.mu.Lock()
	switch out := out.(type) {
	case transport.Voice:
		for s.pace.waiting() > mostWaiting {
			s.mu.Unlock()
			select {
			case <-s.room:
			case <-s.gone:
				return transport.ErrHungUp
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			s.mu.Lock()
		}
		s.pace.push(out.Response.ID, out.PCM, time.Now())
	case transport.Held:
		s.pace.hold()
	case transport.Released:
		s.pace.release(now)
	case transport.ResponseDone:
		s.pace.release(now) // an answer that ended is not held any more
		if out.Status == transport.Cancelled {
			said, ok := s.pace.cut()
			s.mu.Unlock()
			s.poke()
			if ok {
				s.tell(said)
			}
			return nil
		}
		s.pace.end(now)
	}
	s.mu.Unlock()
	s.poke()
	return nil
}

func (s *speaker) poke() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *speaker) tell(said realtime.Playback) {
	select {
	case s.said <- said:
	case <-s.gone:
	}
}

// run sends what is due until the call ends.
func (s *speaker) run() error {
	if err := s.encoder.Open(); err != nil {
		return err
	}
	defer s.encoder.Close()
	header := rtp.Header{Version: 2}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.mu.Lock()
		out, ok := s.pace.next(time.Now())
		at, more := s.pace.nextAt()
		s.mu.Unlock()
		if ok {
			select {
			case s.room <- struct{}{}:
			default:
			}
			if err := s.send(&header, out); err != nil {
				return err
			}
			continue
		}
		wait := time.Duration(math.MaxInt64)
		if more {
			wait = time.Until(at)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.news:
		case <-s.gone:
			return nil
		}
	}
}

// send sends one packet, and tells what is to be told with it.
func (s *speaker) send(header *rtp.Header, out leaving) error {
	if out.said.State != "" {
		s.tell(out.said)
	}
	if out.pcm == nil {
		return nil
	}
	s.encoder.Loss(math.Float64frombits(s.loss.Load()))
	payload, err := s.encoder.Encode(out.pcm)
	if err != nil {
		return err
	}
	if len(payload) <= darkness && s.encoder.DTX {
		header.Marker = true // nothing is sent, so the next one begins anew
		return nil
	}
	header.Marker = header.Marker || out.spurt
	header.SequenceNumber++
	header.Timestamp = out.ts
	err = s.write(&rtp.Packet{Header: *header, Payload: payload})
	header.Marker = false
	return err
}

// report takes the caller's side's word for the part of the packets that is lost, in 256ths.
func (s *speaker) report(lost uint8) { s.loss.Store(math.Float64bits(float64(lost) / 256)) }
