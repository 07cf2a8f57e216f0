package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"riposte/caller"
	"riposte/caller/lossy"
	"riposte/caller/phone"
)

// lived is a call in which anything may be done.
type lived interface {
	heldCall
	Talk(caller.Speech) (from, to time.Time, err error)
	// answered waits until an answer that was first heard after a time has been heard to its end.
	answered(ctx context.Context, after time.Time, wait time.Duration) (caller.Turn, error)
	// press presses keys of the telephone, where there are any.
	press(keys string)
	// ended waits until the service ends the call. The error says that it did not.
	ended(ctx context.Context, wait time.Duration) error
}

var _, _ lived = dialled{}, phoned{}

func (d dialled) press(string) {}

func (d dialled) answered(ctx context.Context, after time.Time, wait time.Duration) (caller.Turn, error) {
	var a caller.Answer
	_, err := d.Until(ctx, wait, func(m caller.Moment) bool {
		if len(m.Answers) == 0 {
			return false
		}
		a = m.Answers[len(m.Answers)-1]
		return a.Begins.After(after) && a.Over() && a.Report != nil && a.Status != "cancelled"
	})
	t := caller.Turn{Gap: a.Begins.Sub(after), Report: a.Report}
	if err == nil && a.Status == "failed" {
		err = fmt.Errorf("%w: %s", caller.ErrFailed, a.Why)
	}
	return t, err
}

func (d dialled) ended(ctx context.Context, wait time.Duration) error {
	_, err := d.Until(ctx, wait, func(caller.Moment) bool { return false })
	return letGo(err)
}

func (p phoned) press(keys string) {
	for _, key := range keys {
		p.Press(key)
	}
}

func (p phoned) answered(ctx context.Context, after time.Time, wait time.Duration) (caller.Turn, error) {
	var a phone.Answer
	if _, err := p.Until(ctx, wait, func(m phone.Moment) bool {
		if len(m.Answers) == 0 {
			return false
		}
		a = m.Answers[len(m.Answers)-1]
		return a.Begins.After(after) && !a.Cut
	}); err != nil {
		return caller.Turn{}, err
	}
	_, err := p.Quiet(ctx, stutter+time.Second)
	return caller.Turn{Gap: a.Begins.Sub(after)}, err
}

func (p phoned) ended(ctx context.Context, wait time.Duration) error {
	_, err := p.Until(ctx, wait, func(phone.Moment) bool { return false })
	return letGo(err)
}

// letGo returns nil where a call was ended from the other side: not where that side only stopped to read as well.
func letGo(err error) error {
	if stuck, ok := errors.AsType[net.Error](err); errors.Is(err, caller.ErrEnded) && !(ok && stuck.Timeout()) {
		return nil
	}
	return err
}

// dial makes the call of a life. mute has it read nothing any more, and done ends what was made for it alone, once it is over.
func (l life) dial(ctx context.Context) (call lived, mute, done func(), err error) {
	mute, done = func() {}, func() {}
	if l.way.Telephone != nil {
		p, err := l.way.Telephone.dial(ctx)
		if err != nil {
			return nil, mute, done, err
		}
		return p, mute, done, nil
	}
	c := l.way.Caller
	if l.network != (lossy.Network{}) {
		proxy, err := lossy.Open(l.network)
		if err != nil {
			return nil, mute, done, err
		}
		c.Detour, done = proxy, func() { proxy.Close() }
	}
	if l.deaf {
		deaf := make(chan struct{})
		mute = sync.OnceFunc(func() { close(deaf) })
		connect := c.DialContext
		if connect == nil {
			connect = (&net.Dialer{}).DialContext
		}
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := connect(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(4 << 10) // else the system would read megabytes for it
			}
			return &deafConn{Conn: conn, deaf: deaf, closed: make(chan struct{})}, nil
		}
	}
	held, err := c.Dial(ctx)
	if err != nil {
		done()
		return nil, mute, func() {}, err
	}
	return dialled{held, soakRate}, mute, done, nil
}

// soakRate is that of the sound of callers who are on no telephone, in hertz.
var soakRate = caller.PCM.Rate()

// deafConn is a connection of which nothing is read any more from some time on.
type deafConn struct {
	net.Conn
	deaf   chan struct{} // Closed from then on.
	closed chan struct{}
	once   sync.Once
}

// Read reads, or waits until the connection is closed.
func (c *deafConn) Read(b []byte) (int, error) {
	select {
	case <-c.deaf:
		<-c.closed
	default:
	}
	return c.Conn.Read(b)
}

// Close closes the connection.
func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
