package main

import (
	"context"
	"sync"

	"riposte/transport"
)

// telephone is a call by telephone that the test holds.
type telephone struct {
	cannot bool // The line can do nothing.
	end    context.CancelCauseFunc
	in     chan transport.Inbound

	mu   sync.Mutex
	did  []string
	sent []transport.Outbound
}

func (*telephone) ID() string   { return "tel_1" }
func (*telephone) Wire() string { return "twilio" }

func (*telephone) Parties() transport.Parties {
	return transport.Parties{From: "+493012345678", To: "100", Line: "far-1"}
}

func (t *telephone) Receive(ctx context.Context) (transport.Inbound, error) {
	select {
	case in := <-t.in:
		return in, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (t *telephone) Send(ctx context.Context, out transport.Outbound) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, out)
	return context.Cause(ctx)
}

// does notes what was done, unless the line cannot, and ends the call with why unless that is nil.
func (t *telephone) does(what string, why error) error {
	if t.cannot {
		return transport.ErrCannot
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.did = append(t.did, what)
	if why != nil {
		t.end(why)
	}
	return nil
}

func (t *telephone) Press(_ context.Context, keys string) error { return t.does("press "+keys, nil) }
func (t *telephone) HangUp(context.Context) error               { return t.does("hang up", transport.ErrEnded) }
func (t *telephone) Transfer(_ context.Context, to, note string) error {
	return t.does("transfer "+to+": "+note, transport.ErrTransferred)
}
