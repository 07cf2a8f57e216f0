package webrtc

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/audio/opus/track"
)

// trace is a sender's way through a network: one packet each 20 ms by the sender's clock.
type trace struct {
	packets int
	loss    float64
	burst   int                                          // How many packets in a row are lost at a time; 0 is 1.
	delay   func(n int, chance *rand.Rand) time.Duration // How long one is underway.
	drift   float64                                      // How much slower the sender's clock goes than ours.
	twice   float64                                      // The part of the packets that comes again.
	outage  func(n int) bool                             // Whether one is lost for that.
	ts      uint32                                       // Of the first packet.
	seq     uint16
}

// walk is what became of a trace.
type walk struct {
	count counts
	lag   []time.Duration // For each packet: from when its last sample was said until it was handed on, less what all packets take.
	best  []time.Duration // The same, for somebody who knows beforehand which packets never come.
	sound int             // In samples of opus.Clock.
}

// event is a packet that comes.
type event struct {
	n  int
	at time.Time
}

// walk goes the way.
func (tr trace) walk(seed uint64) (w walk) {
	chance := rand.New(rand.NewPCG(seed, 1))
	sent := func(n int) time.Time { return epoch.Add(time.Duration(float64(n) * 20 * (1 + tr.drift) * float64(ms))) }
	came := make([]time.Time, tr.packets) // zero for those that never do
	var events []event
	for n, gone := 0, 0; n < tr.packets; n++ {
		if gone--; gone < 0 && chance.Float64() < tr.loss/float64(max(1, tr.burst)) {
			gone = max(1, tr.burst) - 1
		} else if gone < 0 {
			came[n] = sent(n).Add(tr.delay(n, chance))
		}
		if tr.outage != nil && tr.outage(n) || n == 0 {
			came[n] = time.Time{}
		}
		if n == 0 || n == tr.packets-1 { // what both ends are
			came[n] = sent(n).Add(tr.delay(n, chance))
		}
		if came[n].IsZero() {
			continue
		}
		events = append(events, event{n, came[n]})
		if chance.Float64() < tr.twice {
			events = append(events, event{n, came[n].Add(time.Duration(chance.IntN(200)) * ms)})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })

	w.lag, w.best = make([]time.Duration, tr.packets), make([]time.Duration, tr.packets)
	for n := tr.packets - 1; n >= 0; n-- { // what is lost is known from the next one that comes
		if came[n].IsZero() {
			came[n] = came[n+1]
		}
	}
	var latest time.Time
	for n := range came {
		latest = later(latest, came[n])
		w.best[n] = latest.Sub(sent(n))
	}
	j := jitter{Most: 40 * ms}
	take := func(now time.Time) {
		for p, ok := j.step(now); ok; p, ok = j.step(now) {
			w.sound += p.length
			if n := int(j.ts-tr.ts)/frame - 1; n >= 0 && n < tr.packets && w.lag[n] == 0 {
				w.lag[n] = now.Sub(sent(n))
			}
		}
	}
	for i := 0; i < len(events); {
		e := events[i]
		if due, ok := j.due(); ok && due.Before(e.at) {
			take(due)
			continue
		}
		b := make([]byte, 20)
		binary.BigEndian.PutUint16(b, uint16(e.n))
		j.arrived(track.Packet{Seq: tr.seq + uint16(e.n), TS: tr.ts + uint32(e.n)*frame, Payload: b, Length: frame, At: e.at})
		take(e.at)
		i++
	}
	for due, ok := j.due(); ok && len(j.held) > 0; due, ok = j.due() {
		take(due)
	}
	w.count = j.count
	return w
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// at returns a percentile.
func at(all []time.Duration, part float64) time.Duration {
	s := slices.Sorted(slices.Values(all))
	return s[int(part*float64(len(s)-1))].Round(ms / 10)
}

func uniform(most time.Duration) func(int, *rand.Rand) time.Duration {
	return func(_ int, c *rand.Rand) time.Duration { return time.Duration(c.Float64() * float64(most)) }
}

// normal is a bell over the same 60 ms: six times its deviation.
func normal(_ int, c *rand.Rand) time.Duration {
	return max(0, 30*ms+time.Duration(c.NormFloat64()*float64(10*ms)))
}

// Over two minutes of networks whose jitter is 60 ms at most one packet in a hundred comes too late, whatever else is lost, and what is waited
// for beyond what the network itself takes is bounded.
func TestTraces(t *testing.T) {
	const minutes = 6000
	for _, tt := range []struct {
		name string
		trace
		late float64       // The part of the packets that may come too late.
		wait time.Duration // At most so much is waited in vain, for 95 of 100 packets.
	}{
		{"no jitter", trace{delay: uniform(0)}, 0, 0},
		{"5 % lost alone", trace{delay: uniform(0), loss: 0.05}, 0, grace},
		{"15 % lost alone", trace{delay: uniform(ms), loss: 0.15}, 0, grace},
		{"uniform", trace{delay: uniform(60 * ms)}, 0.01, 0},
		{"uniform, 5 % lost", trace{delay: uniform(60 * ms), loss: 0.05}, 0.01, 25 * ms},
		{"uniform, 15 % lost", trace{delay: uniform(60 * ms), loss: 0.15}, 0.01, 35 * ms},
		{"normal", trace{delay: normal}, 0.01, 0},
		{"normal, 5 % lost", trace{delay: normal, loss: 0.05}, 0.01, 25 * ms},
		{"normal, 15 % lost", trace{delay: normal, loss: 0.15}, 0.01, 35 * ms},
		{"200 ms on top", trace{delay: func(n int, c *rand.Rand) time.Duration { return 200*ms + uniform(60*ms)(n, c) }, loss: 0.05}, 0.01, 25 * ms},
		{"5 at a time", trace{delay: uniform(60 * ms), loss: 0.05, burst: 5}, 0.01, 30 * ms},
		{"the sender's clock is slow", trace{delay: uniform(60 * ms), loss: 0.05, drift: 300e-6}, 0.01, 25 * ms},
		{"the sender's clock is fast", trace{delay: uniform(60 * ms), loss: 0.05, drift: -300e-6}, 0.01, 25 * ms},
		{"3 s of nothing", trace{delay: uniform(60 * ms), loss: 0.05, outage: func(n int) bool { return n > 1000 && n < 1150 }}, 0.01, 25 * ms},
		{"twice", trace{delay: uniform(60 * ms), twice: 0.2}, 0.01, 0},
		{"numbers and times go round", trace{delay: uniform(60 * ms), loss: 0.15, seq: 65000, ts: 1<<32 - 500*frame}, 0.01, 35 * ms},
		{"jitter begins after a minute", trace{delay: func(n int, c *rand.Rand) time.Duration { return uniform(time.Duration(n/3000)*60*ms)(n, c) }, loss: 0.05}, 0.01, 25 * ms},
		{"pairs change places", trace{delay: func(n int, _ *rand.Rand) time.Duration { return time.Duration(n%2) * -21 * ms }, loss: 0.05}, 0.01, 15 * ms},
		{"held up at times", trace{delay: func(n int, c *rand.Rand) time.Duration {
			if n%500 < 10 {
				return time.Duration(200-20*(n%500)) * ms
			}
			return uniform(20*ms)(n, c)
		}, loss: 0.05}, 0.01, 40 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.packets = minutes
			for seed := range uint64(5) {
				w := tt.walk(seed)
				spent := make([]time.Duration, len(w.lag))
				for n := range spent {
					spent[n] = max(0, w.lag[n]-w.best[n])
				}
				if part := float64(w.count.Late) / float64(w.count.Packets); part > tt.late {
					t.Errorf("seed %d: %.2f %% come too late", seed, 100*part)
				}
				if got := at(spent, 0.95); got > tt.wait {
					t.Errorf("seed %d: 95 of 100 wait for %v and less, want %v", seed, got, tt.wait)
				}
				if got, want := audio.Duration(w.sound, opus.Clock), minutes*20*ms; got < want-20*ms || got > want+3500*ms { // the second may be the first
					t.Errorf("seed %d: %v of sound, want %v", seed, got, want)
				}
				if w.count.Restarted > 0 || w.count.Unreadable > 0 {
					t.Errorf("seed %d: counted %+v", seed, w.count)
				}
				if seed == 0 {
					t.Logf("late %.2f %%, missed %.2f %%; said until handed on p50 %v p95 %v, who knew what is lost p50 %v p95 %v",
						100*float64(w.count.Late)/float64(w.count.Packets), 100*float64(w.count.Lost+w.count.Late)/minutes,
						at(w.lag, 0.5), at(w.lag, 0.95), at(w.best, 0.5), at(w.best, 0.95))
				}
			}
		})
	}
}
