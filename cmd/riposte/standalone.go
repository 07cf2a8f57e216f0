package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// standalone starts a service of its own, which only this process calls, and returns where it is. stop ends it and waits
// until it has ended.
func standalone(ctx context.Context, s *settings, log *slog.Logger) (url string, stop func() error, err error) {
	return newService(s, log).alone(ctx)
}

// alone is standalone for a service that has not been started.
func (s *service) alone(ctx context.Context) (url string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("standalone service: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.serve(ctx, listener, func() { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return "", nil, fmt.Errorf("standalone service: %w", err)
	}
	return "ws://" + listener.Addr().String(), func() error { cancel(); return <-ended }, nil
}

// rehearsed waits until the phrases that must be at hand are. The error says which is not.
func (s *service) rehearsed(ctx context.Context) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not spoken within %v", patience))
	defer cancel()
	for _, text := range s.toLearn() {
		for _, ok := s.phrases.Phrase(text); !ok && text != ""; _, ok = s.phrases.Phrase(text) {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("the phrase %q: %w", text, context.Cause(ctx))
			}
		}
	}
	return nil
}
