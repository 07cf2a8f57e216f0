package track

import (
	"testing"
	"time"

	"github.com/pion/rtp"
)

const (
	ms    = time.Millisecond
	frame = 960
)

var zero = time.Unix(1000, 0)

// What is no Opus, or longer than Opus can be, has no length.
func TestRead(t *testing.T) {
	for payload, want := range map[string]int{"": 0, "\xf8\xff\xfe": 960, "\x0b": 0, "\x1b\xff": 0, "\x1b\x02": 5760, "\x1b\x03": 0} {
		p := Read(&rtp.Packet{Header: rtp.Header{SequenceNumber: 7, Timestamp: 8}, Payload: []byte(payload)}, zero)
		if p.Length != want || p.Seq != 7 || p.TS != 8 || p.At != zero {
			t.Errorf("%x is %+v, want a length of %d", payload, p, want)
		}
	}
}

// A window rises at once, and falls after 5 to 10 s.
func TestWindow(t *testing.T) {
	var w Window
	for i := range 200 {
		at := zero.Add(time.Duration(i) * 100 * ms)
		d := ms
		if i == 30 {
			d = 50 * ms
		}
		w.Add(d, at)
		want := ms
		if i >= 30 && i < 102 {
			want = 50 * ms
		}
		if got := w.Most(); got != want {
			t.Fatalf("after %v it holds %v, want %v", at.Sub(zero), got, want)
		}
	}
}

// A packet is here when it would be were it as late as the latest, from the first second on; whatever the times of its stream are, and across
// where they go round.
func TestUnderway(t *testing.T) {
	for _, base := range []uint32{0, 1 << 31, 1<<32 - 100*frame} {
		var u Underway
		for n := range 200 {
			at := zero.Add(time.Duration(20*n+n%3*10) * ms) // 0 to 20 ms late
			u.Took(base+uint32(n)*frame, at)
			by, ok := u.By(base+uint32(n+1)*frame, at)
			if ok != (at.Sub(zero) >= unsure) {
				t.Fatalf("%v after the first: known %v", at.Sub(zero), ok)
			}
			if want := zero.Add(time.Duration(20*(n+1)+20) * ms); ok && !by.Equal(want) {
				t.Fatalf("packet %d is here by %v, want %v", n+1, by.Sub(zero), want.Sub(zero))
			}
		}
		if got := u.Spread(); got != 20*ms {
			t.Errorf("the spread is %v", got)
		}
	}
}

// A clock that is another one begins anew.
func TestUnderwayAnew(t *testing.T) {
	var u Underway
	for n := range 100 {
		u.Took(uint32(n)*frame, zero.Add(time.Duration(20*n)*ms))
	}
	at := zero.Add(2 * time.Second)
	u.Took(1<<30, at)
	if _, ok := u.By(1<<30+frame, at); ok || u.Spread() != 0 {
		t.Errorf("after a jump of its time: %v, %v", ok, u.Spread())
	}
}

// Whatever comes has a length that Opus can have, or none.
func FuzzRead(f *testing.F) {
	for _, payload := range []string{"", "\xf8\xff\xfe", "\x0b", "\x1b\xff", "\xff\xff\xff"} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if n := Read(&rtp.Packet{Payload: payload}, zero).Length; n < 0 || n > 5760 || n%120 != 0 {
			t.Fatalf("%x has a length of %d", payload, n)
		}
	})
}

// Whatever times come: the slowest packet is no faster than the fastest, and each that came is here by when that is said.
func FuzzUnderway(f *testing.F) {
	f.Add(uint32(0), uint32(frame), int64(20))
	f.Add(uint32(1<<32-1), uint32(1<<31), int64(-5))
	f.Fuzz(func(t *testing.T, base, step uint32, after int64) {
		var u Underway
		at := zero
		for n := range uint32(100) {
			u.Took(base+n*step, at)
			if by, ok := u.By(base+n*step, at); ok && by.Before(at) {
				t.Fatalf("packet %d, which came at %v, is here by %v", n, at, by)
			}
			if u.Spread() < 0 {
				t.Fatalf("the spread is %v", u.Spread())
			}
			at = at.Add(time.Duration(after%10_000) * ms)
		}
	})
}
