package caller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riposte/audio/opus/track"
)

// Over minutes of answers in a network of 60 ms jitter at most one packet in a hundred comes too late to be played, whatever else is lost, and
// none is played later than it takes for all to be there.
func TestJitterTraces(t *testing.T) {
	const answers, packets, pause = 60, 100, 50 // Answers of 2 s, with 1 s between them.
	for _, loss := range []float64{0, 0.05, 0.15} {
		for _, drift := range []float64{0, 300e-6, -300e-6} {
			t.Run(fmt.Sprint(loss, drift), func(t *testing.T) {
				chance := rand.New(rand.NewPCG(uint64(loss*100), 1))
				zero := time.Unix(1000, 0)
				var all []track.Packet
				for a := range answers {
					for n := range packets {
						at := a*(packets+pause) + n
						sent := zero.Add(time.Duration(float64(at) * 20 * (1 + drift) * float64(ms)))
						late := time.Duration(chance.Float64() * float64(60*ms))
						if chance.Float64() >= loss {
							all = append(all, track.Packet{Seq: uint16(65000 + a*packets + n), TS: uint32(1<<32 - 5000 + at*frameTicks), Payload: []byte{1, 2, 3}, Length: frameTicks, At: sent.Add(late)})
						}
					}
				}
				slices.SortStableFunc(all, func(a, b track.Packet) int { return a.At.Compare(b.At) })
				j := jitter{Least: 40 * ms}
				take := func(now time.Time) {
					for _, ok := j.step(now); ok; _, ok = j.step(now) {
						if j.depth > 110*ms {
							t.Fatalf("played %v late", j.depth)
						}
					}
				}
				for i := 0; i < len(all); {
					if due, ok := j.due(); ok && due.Before(all[i].At) {
						take(due)
						continue
					}
					j.arrived(all[i])
					take(all[i].At)
					i++
				}
				if part := float64(j.count.Late) / float64(j.count.Packets); part > 0.01 {
					t.Errorf("%.2f %% come too late: %+v", 100*part, j.count)
				}
			})
		}
	}
}
