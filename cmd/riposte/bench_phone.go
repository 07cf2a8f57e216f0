package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"riposte/bench"
	"riposte/caller/phone"
)

// phoneWires are the telephone wires of the benches.
var phoneWires = []string{string(phone.Twilio), string(phone.AudioSocket), string(phone.ChanWS)}

// phoneFlags say how calls by telephone are made in a bench.
type phoneFlags struct {
	At     string        `placeholder:"ADDRESS" help:"With a telephone wire and --url: what the far side connects to. For twilio the webhook, such as https://voice.example.com/twilio/voice; for chanws such as ws://127.0.0.1:8080/asterisk/media; for audiosocket such as 127.0.0.1:9092."`
	Secret string        `placeholder:"SECRET" help:"With --far-at: twilio-token of the service for twilio, or one of its keys for chanws."`
	Delay  time.Duration `default:"0" help:"With a telephone wire: how long the way between the far side and the service takes, each way."`
	Jitter time.Duration `default:"0" help:"With a telephone wire: how much longer at most, drawn for each message."`
	Plain  bool          `help:"With chanws: control messages are plain text, and not JSON."`
}

// validate reports what cannot be.
func (f *phoneFlags) validate(wire, url string) error {
	if !slices.Contains(phoneWires, wire) {
		return nil
	}
	if f.Delay < 0 || f.Jitter < 0 {
		return errors.New("--far-delay and --far-jitter must not be negative")
	}
	if (url != "") != (f.At != "") {
		return fmt.Errorf("a service at --url is called by %s at --far-at: give both, or neither", wire)
	}
	return nil
}

// phone returns what makes calls by a wire to a service: at an address, which suit has prepared where none was given.
func (f *phoneFlags) phone(wire string, s *settings, url string, seed uint64, wait time.Duration) phone.Phone {
	p := phone.Phone{
		Wire: phone.Wire(wire), Address: f.At, From: "+15005550006", To: "+15005550001", Secret: f.Secret, Key: f.Secret, Plain: f.Plain,
		Delay: f.Delay, Jitter: f.Jitter, Seed: seed, Wait: wait,
	}
	if f.At != "" {
		return p
	}
	_, host, _ := strings.Cut(strings.TrimSuffix(url, "/v1/realtime"), "://")
	switch p.Wire {
	case phone.Twilio:
		p.Address, p.Secret, p.Bare = "https://"+host+s.Twilio.Path, s.Twilio.Token, true
	case phone.AudioSocket:
		p.Address = s.Asterisk.AudioSocket
	case phone.ChanWS:
		p.Address = "ws://" + host + "/asterisk/media"
	}
	return p
}

// suit changes the settings of a service that is started for a bench, so that it takes calls by a wire, on this machine alone and by a secret of
// its own.
func (f *phoneFlags) suit(wire string, s *settings) error {
	switch phone.Wire(wire) {
	case phone.Twilio:
		s.Twilio.Token, s.Twilio.Strict, s.Lines.Proxied = rand.Text(), true, true
	case phone.ChanWS:
		s.Asterisk.WebSocket = true
	case phone.AudioSocket:
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.Asterisk.AudioSocket = l.Addr().String()
		return l.Close() // the service listens there
	}
	return nil
}

// witnessed starts a service of its own that takes calls by a wire, and returns where it is, what calls it, and what it tells.
func (s *service) witnessed(ctx context.Context, f *phoneFlags, wire string, seed uint64, wait time.Duration) (url string, t *bench.Telephone, stop func() error, err error) {
	if err := f.suit(wire, s.settings); err != nil {
		return "", nil, nil, err
	}
	w := &bench.Witness{}
	s.traces = append(s.traces, w)
	if url, stop, err = s.alone(ctx); err != nil {
		return "", nil, nil, err
	}
	return url, &bench.Telephone{Phone: f.phone(wire, s.settings, url, seed, wait), Witness: w}, stop, nil
}
