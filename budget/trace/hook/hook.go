// Package hook tells another program of each call that has ended, by a request over HTTP with the call's record.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"riposte/budget/trace"
	"riposte/budget/trace/object"
)

// Hook sends records of calls from a goroutine of its own. Who hands one over goes on at once. What cannot be delivered is tried again, each time
// later, for Patience; what there is no place for is dropped and counted. Records may come twice, and in another order than calls ended.
type Hook struct {
	URL      string        // Where records are sent, by POST.
	Secret   string        // What they are signed with; empty signs none.
	Patience time.Duration // How long a record is tried. It defaults to an hour.
	Most     int           // Records that may wait. It defaults to 1,024.
	Timeout  time.Duration // Of one request. It defaults to 10 s.
	Grace    time.Duration // How long Close goes on sending. It defaults to 2 s.
	Client   *http.Client  // It defaults to one that follows no redirects.
	Log      *slog.Logger  // It defaults to slog.Default().

	mu      sync.Mutex
	waiting []*delivery
	lost    Lost
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
}

// Lost counts what was not delivered: what there was no place for, and what was not taken.
type Lost struct{ Full, Failed uint64 }

// delivery is one record on its way.
type delivery struct {
	id    string
	call  string
	body  []byte
	since time.Time
	due   time.Time
	tries int
}

// message is what is sent.
type message struct {
	Event string      `json:"event"` // "call.ended"
	ID    string      `json:"id"`    // Of the delivery, the same each time that it is tried.
	Call  object.Call `json:"call"`
}

// The headers of a request.
const (
	// DeliveryHeader has the ID of the delivery.
	DeliveryHeader = "Riposte-Delivery"
	// SignatureHeader has when the request was signed, in seconds since 1970, and the signature: t=…,v1=….
	SignatureHeader = "Riposte-Signature"
)

// Start starts the hook, which Close ends.
func (h *Hook) Start() {
	h.Patience, h.Most, h.Timeout = cmp.Or(h.Patience, time.Hour), cmp.Or(h.Most, 1024), cmp.Or(h.Timeout, 10*time.Second)
	h.Grace = cmp.Or(h.Grace, 2*time.Second)
	if h.Client == nil {
		h.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if h.Log == nil {
		h.Log = slog.Default()
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.wake, h.closing, h.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go h.run()
}

// Close goes on sending for Grace, once to each that waits, and ends. The error says how much was not delivered.
func (h *Hook) Close() error {
	close(h.closing)
	stop := time.AfterFunc(h.Grace, h.cancel)
	defer stop.Stop()
	<-h.done
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.waiting); n > 0 {
		return fmt.Errorf("%d records of calls were not delivered to phone.webhook", n)
	}
	return nil
}

// Lost says how much was not delivered so far.
func (h *Hook) Lost() Lost {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// Send sends the record of a call that has ended.
func (h *Hook) Send(c trace.Call) {
	id := "del_" + rand.Text()
	body, err := json.Marshal(message{"call.ended", id, object.CallOf(c)})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || len(h.waiting) >= h.Most {
		h.lost.Full++
		h.Log.Warn("the record of a call is not delivered", "call", c.ID, "waiting", len(h.waiting), "err", err)
		return
	}
	now := time.Now()
	h.waiting = append(h.waiting, &delivery{id: id, call: c.ID, body: body, since: now, due: now})
	poke(h.wake)
}

// run delivers what is due, the longest due first.
func (h *Hook) run() {
	defer close(h.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d := h.next()
		wait := time.Hour
		if d != nil {
			wait = time.Until(d.due)
		}
		timer.Reset(wait)
		select {
		case <-h.closing:
			h.deliverRest()
			return
		case <-h.wake:
		case <-timer.C:
			if d != nil {
				h.deliver(d)
			}
		}
	}
}

// deliverRest tries everything once more, while there is time.
func (h *Hook) deliverRest() {
	h.mu.Lock()
	rest := slices.Clone(h.waiting)
	h.mu.Unlock()
	for _, d := range rest {
		if h.ctx.Err() == nil {
			h.deliver(d)
		}
	}
}

// next returns what is due first; nil where nothing waits.
func (h *Hook) next() *delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return nil
	}
	return slices.MinFunc(h.waiting, func(a, b *delivery) int { return a.due.Compare(b.due) })
}

// The first pause behind a delivery that failed, which doubles each time, and the longest.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// deliver tries a delivery once.
func (h *Hook) deliver(d *delivery) {
	d.tries++
	again, err := h.post(d)
	switch {
	case err == nil:
		h.drop(d, false)
		return
	case h.ctx.Err() != nil:
		return
	case !again || time.Since(d.since) > h.Patience:
		h.drop(d, true)
		h.Log.Error("the record of a call was not delivered", "call", d.call, "tries", d.tries, "err", err)
		return
	}
	if d.tries == 1 {
		h.Log.Warn("the record of a call could not be delivered yet", "call", d.call, "err", err)
	}
	h.mu.Lock()
	d.due = time.Now().Add(min(firstPause<<min(d.tries-1, 20), longestPause))
	h.mu.Unlock()
}

// drop forgets a delivery, and counts it where it failed.
func (h *Hook) drop(d *delivery, failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.waiting, d)
	if i < 0 {
		return
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	if failed {
		h.lost.Failed++
	}
}

// post sends a record. again says whether it may be taken another time.
func (h *Hook) post(d *delivery) (again bool, err error) {
	ctx, cancel := context.WithTimeout(h.ctx, h.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(d.body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "riposte")
	r.Header.Set(DeliveryHeader, d.id)
	if h.Secret != "" {
		r.Header.Set(SignatureHeader, Sign(h.Secret, time.Now(), d.body))
	}
	answer, err := h.Client.Do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return false, nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return true, fmt.Errorf("it is answered with %s", answer.Status)
	default:
		return false, fmt.Errorf("it is answered with %s, which will not change", answer.Status)
	}
}

// Sign returns the signature of a body: HMAC-SHA256, in hexadecimal, of the time in seconds since 1970, a full stop and the body.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// poke leaves something in a channel that holds one thing.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
