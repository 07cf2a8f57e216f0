package webrtc

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio/opus/track"
)

const ms = time.Millisecond

// epoch is when the first packet of each test comes.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// feed is one sender's packets: one each 20 ms, unless a test says otherwise.
type feed struct {
	j    *jitter
	out  []byte // A letter for each piece: w, r, c or q.
	from []uint16
	at   []time.Duration // When each was handed on.
}

func newFeed() *feed { return &feed{j: &jitter{Most: 40 * ms}} }

// run steps until a time, in ms.
func (f *feed) run(until int) {
	for {
		now, ok := f.j.due()
		if end := epoch.Add(time.Duration(until) * ms); !ok || now.After(end) {
			return
		}
		f.take(now)
	}
}

func (f *feed) take(now time.Time) {
	for {
		p, ok := f.j.step(now)
		if !ok {
			return
		}
		f.out = append(f.out, "wrcq"[p.kind])
		f.at = append(f.at, now.Sub(epoch))
		if p.kind == whole {
			f.from = append(f.from, binary.BigEndian.Uint16(p.payload))
		}
	}
}

// came says that packet n of the sender, of sound at its time, comes at a time in ms.
func (f *feed) came(n, at int) { f.cameWith(uint16(n), uint32(n)*frame, 10, at) }

func (f *feed) cameWith(seq uint16, ts uint32, size, at int) {
	f.run(at - 1)
	b := make([]byte, max(size, 2))
	binary.BigEndian.PutUint16(b, seq)
	now := epoch.Add(time.Duration(at) * ms)
	f.j.arrived(track.Packet{Seq: seq, TS: ts, Payload: b[:max(size, 2)], Length: frame, At: now})
	f.take(now)
}

func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(f *feed)
		out  string
		want counts
	}{
		{"in order", func(f *feed) {
			for n := range 5 {
				f.came(n, 20*n)
			}
		}, "wwwww", counts{Packets: 5}},
		{"all at once after 300 ms", func(f *feed) {
			f.came(0, 0)
			for n := 1; n < 15; n++ {
				f.came(n, 300)
			}
		}, "wwwwwwwwwwwwwww", counts{Packets: 15}},
		{"out of order, within the depth", func(f *feed) {
			f.came(0, 0)
			f.came(2, 40)
			f.came(3, 60)
			f.came(1, 75)
			f.came(4, 80)
		}, "wwwww", counts{Packets: 5}},
		{"one is lost, and the next one says what it was", func(f *feed) {
			f.came(0, 0)
			f.came(2, 40)
			f.came(3, 60)
			f.run(80)
		}, "wrww", counts{Packets: 3, Lost: 1, Recovered: 1}},
		{"three are lost", func(f *feed) {
			f.came(0, 0)
			f.came(4, 80)
			f.run(120)
		}, "wccrw", counts{Packets: 2, Lost: 3, Recovered: 1, Concealed: 2}},
		{"many are lost", func(f *feed) {
			f.came(0, 0)
			f.came(11, 220)
			f.run(260)
		}, "wccccccqqqrw", counts{Packets: 2, Lost: 10, Recovered: 1, Concealed: 6}},
		{"one comes after it was given up", func(f *feed) {
			f.came(0, 0)
			f.came(2, 40)
			f.came(3, 60)
			f.came(1, 90)
			f.came(4, 91)
		}, "wrwww", counts{Packets: 5, Late: 1, Recovered: 1}},
		{"one comes twice", func(f *feed) {
			f.came(0, 0)
			f.came(1, 20)
			f.came(1, 21)
			f.came(3, 60)
			f.came(3, 61)
			f.came(2, 62)
		}, "wwww", counts{Packets: 6, Twice: 2}},
		{"the sender leaves out silence", func(f *feed) {
			f.came(0, 0)
			f.cameWith(1, 4*frame, 10, 80)
		}, "wqqqw", counts{Packets: 2}},
		{"the sender says that it rests", func(f *feed) {
			f.cameWith(0, 0, 2, 0)
			f.run(199)
			f.cameWith(1, 20*frame, 10, 400)
		}, "wqqqqqqq" + "qqqqqqqqqqqq" + "w", counts{Packets: 2}},
		{"nothing comes any more", func(f *feed) {
			f.came(0, 0)
			f.run(540)
		}, "wqqqqqqqqqqqqqqqqqqqqqqqqq", counts{Packets: 1}},
		{"nothing can come", func(f *feed) {
			f.came(0, 0)
			f.j.stop(true, epoch)
			f.run(2000)
		}, "w", counts{Packets: 1}},
		{"the numbers begin anew", func(f *feed) {
			f.cameWith(65535, 1<<32-frame, 10, 0)
			f.cameWith(0, 0, 10, 20)
			f.cameWith(1, frame, 10, 40)
		}, "www", counts{Packets: 3}},
		{"the sender begins anew", func(f *feed) {
			f.came(0, 0)
			f.cameWith(40000, 7, 10, 20)
			f.cameWith(40001, 7+frame, 10, 40)
			f.cameWith(40002, 7+2*frame, 10, 60)
		}, "www", counts{Packets: 4, Restarted: 1}},
		{"one packet is astray", func(f *feed) {
			f.came(0, 0)
			f.cameWith(40000, 7, 10, 10)
			f.came(1, 20)
		}, "ww", counts{Packets: 3}},
		{"the sender's time jumps", func(f *feed) {
			f.came(0, 0)
			f.cameWith(1, 1<<31, 10, 20)
			f.cameWith(2, 1<<31+frame, 10, 40)
		}, "www", counts{Packets: 3}},
		{"a flood behind one that is missing", func(f *feed) {
			f.came(0, 0)
			for n := 2; n < 200; n++ {
				f.came(n, 1)
			}
		}, "wr" + string(slices.Repeat([]byte("w"), 198)), counts{Packets: 199, Lost: 1, Recovered: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed()
			tt.play(f)
			if string(f.out) != tt.out {
				t.Errorf("handed on %s, want %s", f.out, tt.out)
			}
			if diff := cmp.Diff(tt.want, f.j.count); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			for i := 1; i < len(f.from); i++ {
				if int16(f.from[i]-f.from[i-1]) <= 0 && f.j.count.Restarted == 0 {
					t.Errorf("packets in the order %v", f.from)
				}
			}
		})
	}
}

// A missing packet is waited for until it would be here if it were as late as any that came lately, and never longer than the most.
func TestDepth(t *testing.T) {
	const second = 50 // packets
	f := newFeed()
	n := 0
	// for so many packets all come in time, but one in three, which is so late; then the next is lost, and the one after it comes, so late
	// itself. How long is it waited for?
	wait := func(packets, each, last int) time.Duration {
		for end := n + packets; n < end; n += 3 {
			f.came(n, 20*n)
			f.came(n+1, 20*n+20)
			f.came(n+2, 20*n+40+each)
		}
		before := len(f.at)
		f.came(n+1, 20*n+20+last)
		f.run(20*n + 110)
		waited := f.at[before] - time.Duration(20*n+20+last)*ms
		n += 6
		return waited
	}
	for _, tt := range []struct {
		name                string
		packets, each, last int
		want                time.Duration
	}{
		{"too little is known", 3, 0, 0, 40 * ms},
		{"nothing was late", second, 0, 0, grace},
		{"19 ms late, and the next one is in time", 3, 19, 0, 4 * ms}, // 19 + grace from when it was due, 20 ms before
		{"19 ms late, and so is the next one", 3, 19, 19, grace},
		{"35 ms late", 3, 35, 0, 20 * ms},
		{"35 ms late, and the next one 10", 3, 35, 10, 10 * ms},
		{"90 ms late", 3, 90, 0, 40 * ms},
		{"then nothing for 4 s", 4 * second, 0, 0, 40 * ms},
		{"then nothing for 16 s", 12 * second, 0, 0, grace},
	} {
		if got := wait(tt.packets, tt.each, tt.last); got != max(tt.want, grace) {
			t.Errorf("%s: waited for %v, want %v", tt.name, got, max(tt.want, grace))
		}
	}
	for range 200 { // what never comes says nothing
		f.came(n, 20*n)
		n += 2
	}
	if got := wait(3, 0, 0); got != grace {
		t.Errorf("after loss alone: waited for %v", got)
	}
}

// What was held up and comes after silence has gone on instead of it is handed on, and silence is left out for it later.
func TestSurplus(t *testing.T) {
	f := newFeed()
	f.came(0, 0)
	for n := 1; n < 32; n++ {
		f.came(n, 620) // 600 ms late
	}
	if f.j.surplus != 28*frame {
		t.Errorf("the surplus is %d frames", f.j.surplus/frame)
	}
	if n := len(f.from); n != 32 {
		t.Errorf("%d packets were handed on", n)
	}
	left := 0
	for f.j.leaveOut(piece{length: frame}) {
		left++
	}
	if left != 28 || f.j.surplus != 0 || f.j.count.LeftOut != 28 {
		t.Errorf("%d pieces were left out", left)
	}
}

// Whatever comes: packets are handed on in their order and once, nothing waits longer than it may, and little is held.
func FuzzJitter(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 1, 1, 3, 0, 3, 1, 2, 0, 2, 200})
	f.Add([]byte{255, 255, 9, 9, 0, 0, 0, 1, 100, 100, 1, 1})
	f.Add(make([]byte, 400))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := &jitter{Most: 40 * ms}
		now, at := epoch, time.Time{}
		last, any := uint16(0), false
		take := func() {
			for range 10_000 {
				p, ok := j.step(now)
				if !ok {
					if due, ok := j.due(); ok && !due.After(now) {
						t.Fatalf("something is due since %v, and nothing comes", now.Sub(due))
					}
					return
				}
				if p.length <= 0 || p.length > longestGap || p.at.Before(at) || p.at.After(now) {
					t.Fatalf("a piece %+v at %v, after %v", p, now, at)
				}
				at = p.at
				if p.kind == whole {
					seq := binary.BigEndian.Uint16(p.payload)
					if any && int16(seq-last) <= 0 && j.count.Restarted == 0 {
						t.Fatalf("%d after %d", seq, last)
					}
					last, any = seq, true
				}
			}
			t.Fatal("it never ends")
		}
		for c := range slices.Chunk(b, 4) {
			if len(c) < 4 {
				break
			}
			seq := binary.BigEndian.Uint16(c)
			ts := uint32(seq) * frame
			if c[2] == 255 {
				ts = uint32(c[3]) << 24
			}
			now = now.Add(time.Duration(c[3]) * ms)
			take()
			payload := make([]byte, 2+int(c[2]&3))
			binary.BigEndian.PutUint16(payload, seq)
			length := []int{frame, frame, 3 * frame, 0}[c[2]>>2&3]
			j.arrived(track.Packet{Seq: seq, TS: ts, Payload: payload, Length: length, At: now})
			take()
			if len(j.held) > mostHeld {
				t.Fatalf("%d packets are held", len(j.held))
			}
			if len(j.held) > 0 {
				if wait := j.until().Sub(j.since); wait < 0 || wait > j.Most {
					t.Fatalf("they wait for %v", wait)
				}
			}
		}
		if sum := j.count.Lost + j.count.Late; sum > 1<<40 {
			t.Fatalf("counted %+v", j.count)
		}
	})
}
