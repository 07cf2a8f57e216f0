// Package phone is the far end of telephone wires: Twilio Media Streams, and Asterisk's AudioSocket and chan_websocket. It speaks recorded
// sound into a service as a telephone network would, holds every message of the service to the protocol, and plays what comes as the far side
// does, so that it knows of each sample whether it was heard, and when.
package phone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Wire is what a call is made by.
type Wire string

// The wires.
const (
	Twilio      Wire = "twilio"
	AudioSocket Wire = "audiosocket"
	ChanWS      Wire = "chanws"
	frame            = 20 * time.Millisecond // What a telephone network sends at a time.
	setupWait        = 10 * time.Second      // How long a service may take to take a call.
	writeWait        = 10 * time.Second      // How long a service may not read before the call is given up.
	maxMessage       = 1 << 20               // Bytes of the longest message that is read.
	telephoneHz      = 8000
)

// Phone makes calls. Its fields are its settings and may not change while a call lasts. It is safe for use by many goroutines at once.
type Phone struct {
	Wire Wire
	// Address is where the service is: for Twilio the webhook of a number, such as http://127.0.0.1:8080/twilio/voice; for chan_websocket what
	// Asterisk connects to, such as ws://127.0.0.1:8080/asterisk/media; for AudioSocket a host and a port.
	Address  string
	From, To string // The two ends of the call, as the network names them.

	// Secret signs what Twilio sends: the auth token of the account.
	Secret string
	// Account is the account at Twilio. It defaults to one that is made up.
	Account string
	// Bare reaches the addresses that Twilio is told, which begin with https:// or wss://, without TLS, as a proxy does that speaks TLS in front of
	// a service: for services on this machine.
	Bare bool

	// Key is the bearer token by which Asterisk shows that it may call; empty for none.
	Key string
	// Plain has chan_websocket write its control messages as text, and not as JSON.
	Plain bool
	// Rate is that of the sound of AudioSocket, in hertz. It defaults to 8000.
	Rate int
	// ID is the UUID of an AudioSocket call. It defaults to one that is made up.
	ID string

	Delay  time.Duration // How long what is sent is underway, each way.
	Jitter time.Duration // How much longer than that, at most; drawn by Seed for each message. Messages keep their order.
	Seed   uint64
	// Buffer is how long sound waits before it is played, where none is before it. It defaults to 40 ms for AudioSocket, whose far side has no
	// buffer of its own but a telephone behind it; the others play at once.
	Buffer time.Duration
	Wait   time.Duration // How long the service may be silent while it owes an answer. It defaults to 20 s.

	// DialContext connects. It defaults to the network.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
}

var (
	// ErrRefused says that the service did not take the call.
	ErrRefused = errors.New("the service does not take the call")
	// ErrTwiML says that what the service answered to Twilio's webhook is not what Twilio takes.
	ErrTwiML = errors.New("the answer to the webhook is no TwiML that connects a stream")
)

// Dial makes a call. It sends silence from then on, and must be closed.
func (p *Phone) Dial(ctx context.Context) (*Call, error) {
	ctx, cancel := context.WithTimeout(ctx, setupWait)
	defer cancel()
	var l line
	var err error
	switch p.Wire {
	case Twilio:
		l, err = p.dialTwilio(ctx)
	case AudioSocket:
		l, err = p.dialAudioSocket(ctx)
	case ChanWS:
		l, err = p.dialChanWS(ctx)
	default:
		return nil, fmt.Errorf("the wire is %q; it must be %s, %s or %s", p.Wire, Twilio, AudioSocket, ChanWS)
	}
	if err != nil {
		return nil, fmt.Errorf("call %s by %s: %w", p.Address, p.Wire, err)
	}
	return p.begin(l)
}

// Hz is the rate of the calls' sound, in hertz.
func (p *Phone) Hz() int {
	if p.Wire == AudioSocket {
		return cmp.Or(p.Rate, telephoneHz)
	}
	return telephoneHz
}

// Waits returns how long sound waits before it is played, where none is before it.
func (p *Phone) Waits() time.Duration {
	if p.Wire == AudioSocket {
		return cmp.Or(p.Buffer, 40*time.Millisecond)
	}
	return p.Buffer
}

// begin begins a call on a line.
func (p *Phone) begin(l line) (*Call, error) {
	c := newCall(l, network{delay: p.Delay, jitter: p.Jitter, rnd: rand.New(rand.NewPCG(p.Seed, 1))}, cmp.Or(p.Wait, 20*time.Second))
	c.speaker.depth = p.Waits()
	c.start()
	return c, nil
}

// dialer returns what connects.
func (p *Phone) dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	if p.DialContext != nil {
		return p.DialContext
	}
	return (&net.Dialer{}).DialContext
}
