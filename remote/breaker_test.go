package remote

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errFailed = errors.New("failed")

// try makes a request through a breaker, and returns why it was not made.
func try(b *breaker, err error) error {
	leave, resting := b.enter()
	if resting == nil {
		leave(err, true)
	}
	return resting
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var probes atomic.Int32
		away.Store(true)
		b := &breaker{failures: 3, rest: 2 * time.Second, longest: 10 * time.Second, probe: func() error {
			probes.Add(1)
			if away.Load() {
				return errFailed
			}
			return nil
		}}
		defer b.close()
		for _, err := range []error{errFailed, errFailed, nil, errFailed, errFailed} {
			if try(b, err) != nil || b.get() != Closed {
				t.Fatalf("it opened before three failures in a row")
			}
		}
		if try(b, errFailed); b.get() != Open || try(b, nil) != ErrResting {
			t.Fatalf("after three failures in a row it is %s", b.get())
		}
		time.Sleep(2500 * time.Millisecond) // the rest, and up to a tenth of it
		if probes.Load() != 1 || b.get() != Open {
			t.Errorf("after its rest: %d probes, %s", probes.Load(), b.get())
		}
		away.Store(false)
		time.Sleep(4500 * time.Millisecond)
		if probes.Load() != 2 || b.get() != HalfOpen {
			t.Fatalf("twice as long after a probe that failed: %d probes, %s", probes.Load(), b.get())
		}
		leave, err := b.enter()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.enter(); err != ErrResting {
			t.Error("half open, it lets a second request through")
		}
		if leave(nil, false); b.get() != HalfOpen {
			t.Errorf("a request that says nothing of the server made it %s", b.get())
		}
		if try(b, errFailed); b.get() != Open {
			t.Errorf("half open, a failure made it %s", b.get())
		}
		time.Sleep(9 * time.Second)
		if try(b, nil); b.get() != Closed {
			t.Errorf("half open, a success made it %s", b.get())
		}
	})
}

// Who is told when to come again comes then, and not before.
func TestBreakerAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &breaker{failures: 3, rest: time.Second, longest: time.Minute}
		defer b.close()
		try(b, &Refused{Status: http.StatusTooManyRequests, Retry: 30 * time.Second})
		time.Sleep(29 * time.Second)
		if err := try(b, nil); err != ErrResting {
			t.Errorf("asked a second too early: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := try(b, nil); err != nil || b.get() != Closed {
			t.Errorf("asked when it may be: %v, %s", err, b.get())
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, header string
		want         time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", longestAsked},
		{"Retry-After", "Tue, 01 Dec 2026 10:00:20 GMT", 20 * time.Second},
		{"Retry-After", "Tue, 01 Dec 2026 09:00:00 GMT", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		if got := retryAfter(http.Header{tt.name: {tt.header}}, now); got != tt.want {
			t.Errorf("%s: %s: %v, want %v", tt.name, tt.header, got, tt.want)
		}
	}
}
