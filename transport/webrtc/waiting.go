package webrtc

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"riposte/transport/realtime"
)

// waiting counts the offers that were answered and have not connected yet, by the address that they came from: they hold places, and
// whoever sends them has no need to exist. The zero value is nobody. It is safe for use by many goroutines.
type waiting struct {
	mu  sync.Mutex
	who map[string]int
}

// enter takes note of one more, if there may be one more from there. The error is a *realtime.Refusal. gone is called once it has
// connected, or never will; a second time it does nothing.
func (w *waiting) enter(remote string, most int) (gone func(), err error) {
	from := source(remote)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.who[from] >= most {
		return nil, &realtime.Refusal{
			Code: "too_many_offers", Retry: 2 * time.Second,
			Message: fmt.Sprintf("%d offers from this address have not connected yet, and there may be no more. Connect with their answers, or hang up what they have begun.", most),
		}
	}
	if w.who == nil {
		w.who = map[string]int{}
	}
	w.who[from]++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.who[from]--; w.who[from] == 0 {
			delete(w.who, from)
		}
	}), nil
}

// source returns what stands for one client of an address: the address, and of IPv6 its first 64 bits, since the rest is the client's to choose.
func source(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // of an address without a zone
		return p.String()
	}
	return a.String()
}
