package caller

import (
	"math/rand/v2"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/opus/track"
)

// network brings packets to a jitter buffer, and listens.
type network struct {
	*testing.T
	jitter
	zero time.Time
	now  time.Time
	out  []piece
}

func newNetwork(t *testing.T) *network {
	zero := time.Unix(1000, 0)
	return &network{T: t, jitter: jitter{Least: 40 * ms}, zero: zero, now: zero}
}

// until lets time pass.
func (n *network) until(d time.Duration) {
	n.Helper()
	for end := n.zero.Add(d); ; {
		for p, ok := n.step(n.now); ok; p, ok = n.step(n.now) {
			if p.at.After(n.now) {
				n.Errorf("a piece for %v came at %v", p.at.Sub(n.zero), n.now.Sub(n.zero))
			}
			n.out = append(n.out, p)
		}
		if !n.now.Before(end) {
			return
		}
		n.now = n.now.Add(ms)
	}
}

// bring brings packet seq of the stream, whose time is frame at, after d.
func (n *network) bring(seq, at int, d time.Duration) {
	n.Helper()
	n.until(d)
	n.arrived(track.Packet{Seq: uint16(65530 + seq), TS: uint32(0xffffff00 + at*frameTicks), Payload: []byte{1, 2, 3, byte(seq)}, Length: frameTicks, At: n.now})
}

func (n *network) wants(kinds []pieceKind, times []time.Duration) {
	n.Helper()
	if len(n.out) != len(kinds) {
		n.Fatalf("%d pieces are played, want %d: %+v", len(n.out), len(kinds), n.out)
	}
	for i, p := range n.out {
		if p.kind != kinds[i] || p.at.Sub(n.zero) != times[i] {
			n.Errorf("piece %d is %v at %v, want %v at %v", i, p.kind, p.at.Sub(n.zero), kinds[i], times[i])
		}
	}
}

// Packets are played 40 ms after the fastest would be there, in order, whenever they come until then; numbers go round.
func TestJitterSteady(t *testing.T) {
	n := newNetwork(t)
	for i, at := range []time.Duration{0, 45, 41, 60, 115} {
		n.bring([]int{0, 2, 1, 3, 4}[i], []int{0, 2, 1, 3, 4}[i], at*ms)
	}
	n.until(200 * ms)
	n.wants(make([]pieceKind, 5), []time.Duration{40 * ms, 60 * ms, 80 * ms, 100 * ms, 120 * ms})
	if n.count != (Received{Packets: 5}) {
		t.Errorf("counted %+v", n.count)
	}
}

// What is lost is made up, the last of it from the packet after it; what comes after that is late.
func TestJitterLost(t *testing.T) {
	n := newNetwork(t)
	n.bring(0, 0, 0)
	n.bring(3, 3, 60*ms)
	n.bring(4, 4, 80*ms)
	n.bring(1, 1, 90*ms)
	n.until(200 * ms)
	n.wants([]pieceKind{whole, concealed, recovered, whole, whole}, []time.Duration{40 * ms, 60 * ms, 80 * ms, 100 * ms, 120 * ms})
	if n.count != (Received{Packets: 4, Lost: 2, Late: 1, Recovered: 1}) {
		t.Errorf("counted %+v", n.count)
	}
}

// Where nothing is sent nothing is played, and for how long is told.
func TestJitterPause(t *testing.T) {
	n := newNetwork(t)
	n.bring(0, 0, 0)
	n.bring(1, 30, 600*ms)
	n.until(time.Second)
	n.wants([]pieceKind{whole, whole}, []time.Duration{40 * ms, 640 * ms})
	if n.out[1].apart != 29*frameTicks || n.count.Lost != 0 {
		t.Errorf("the pause is %d and %+v", n.out[1].apart, n.count)
	}
}

// What comes too late with nothing after it played is played then, and what follows as much later, until there is a pause without such.
func TestJitterLate(t *testing.T) {
	n := newNetwork(t)
	for i := range 10 {
		n.bring(i, i, time.Duration(i)*20*ms)
	}
	n.bring(10, 10, 300*ms) // 100 ms late
	n.bring(11, 11, 301*ms)
	n.until(400 * ms)
	if last := n.out[10:]; last[0].at.Sub(n.zero) != 300*ms || last[1].at.Sub(n.zero) != 320*ms {
		t.Errorf("played at %v and %v", last[0].at.Sub(n.zero), last[1].at.Sub(n.zero))
	}
	for i := range 800 { // 16 s without any that is late
		n.bring(12+i, 100+i, time.Duration(100+i)*20*ms)
	}
	n.bring(812, 1000, 20*time.Second)
	n.until(21 * time.Second)
	if got := n.out[len(n.out)-1].at.Sub(n.zero); got != 20*time.Second+40*ms {
		t.Errorf("after a while it is played at %v", got)
	}
}

// After seconds without anything the sound goes on, in time.
func TestJitterOutage(t *testing.T) {
	n := newNetwork(t)
	n.bring(0, 0, 0)
	n.bring(150, 150, 3*time.Second)
	n.bring(151, 151, 3020*ms)
	n.until(4 * time.Second)
	if len(n.out) > 6 {
		t.Fatalf("%d pieces are played", len(n.out))
	}
	if last := n.out[len(n.out)-1]; last.at.Sub(n.zero) != 3060*ms {
		t.Errorf("played at %v", last.at.Sub(n.zero))
	}
	if n.count.Lost != 149 {
		t.Errorf("counted %+v", n.count)
	}
}

// Whatever comes, in whatever order: sound is played once, forwards, and its pieces do not overlap.
func TestJitterAnything(t *testing.T) {
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 0))
		n := newNetwork(t)
		d := time.Duration(0)
		for range 200 {
			seq := int(d/(20*ms)) + chance.IntN(8) - 4
			n.bring(seq, seq+chance.IntN(2)*chance.IntN(3), d)
			d += time.Duration(chance.IntN(40)) * ms
			if chance.IntN(50) == 0 {
				d += time.Duration(chance.IntN(4000)) * ms
			}
			if chance.IntN(90) == 0 { // the stream begins anew
				n.arrived(track.Packet{Seq: uint16(chance.Uint32()), TS: chance.Uint32(), Payload: []byte{0}, Length: frameTicks, At: n.now})
			}
		}
		n.until(d + 2*time.Second)
		var end time.Time
		for i, p := range n.out {
			if p.at.Before(end) || p.length <= 0 || p.apart < 0 {
				t.Fatalf("seed %d: piece %d, %+v, begins before %v", seed, i, p, end)
			}
			end = p.at.Add(audio.Duration(p.length, 48000))
		}
		if len(n.out) == 0 || len(n.held) > 0 {
			t.Fatalf("seed %d: %d pieces, %d left", seed, len(n.out), len(n.held))
		}
	}
}
