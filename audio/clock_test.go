package audio

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The tests' call: frames of 20 ms at 8 kHz.
const (
	clockRate  = 8000
	clockFrame = clockRate / 50
)

var epoch = time.Unix(1000, 0)

// feed makes n frames arrive, the i-th of the call at epoch + when(i), and returns the clock.
func feed(n int, when func(i int) time.Duration) *Clock {
	c := NewClock(clockRate)
	for i := range n {
		c.Arrived(clockFrame, epoch.Add(when(i)))
	}
	return c
}

// at is the time of the sample at d of the call's sound, since epoch.
func (c *Clock) at(d time.Duration) time.Duration {
	return c.TimeOf(int64(Samples(d, clockRate))).Sub(epoch)
}

// sent is when the i-th frame is complete at a caller who starts at epoch: the earliest that it can be sent.
func sent(i int) time.Duration { return time.Duration(i+1) * 20 * ms }

func TestClock(t *testing.T) {
	jitter := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name   string
		frames int
		when   func(i int) time.Duration
		want   map[time.Duration]time.Duration // Position to time, both since the start.
		within time.Duration
	}{
		{
			name: "steady", frames: 500,
			when: func(i int) time.Duration { return sent(i) + 30*ms },
			want: map[time.Duration]time.Duration{0: 30 * ms, 5 * time.Second: 5030 * ms, 10 * time.Second: 10030 * ms},
		},
		{
			name: "jitter of 80 ms, in order", frames: 1500,
			when:   func(i int) time.Duration { return sent(i) + 30*ms + time.Duration(jitter.IntN(80))*ms },
			want:   map[time.Duration]time.Duration{5 * time.Second: 5030 * ms, 17010 * ms: 17040 * ms, 29 * time.Second: 29030 * ms},
			within: 5 * ms,
		},
		{
			name: "the network holds 300 ms back and lets them go at once", frames: 500,
			when: func(i int) time.Duration {
				if at := sent(i); at > 4000*ms && at <= 4300*ms {
					return 4300 * ms
				}
				return sent(i)
			},
			want: map[time.Duration]time.Duration{4010 * ms: 4010 * ms, 4150 * ms: 4150 * ms, 5 * time.Second: 5 * time.Second},
		},
		{
			name: "a pause of 3 s", frames: 500,
			when: func(i int) time.Duration {
				if i >= 100 {
					return sent(i) + 3*time.Second
				}
				return sent(i)
			},
			want: map[time.Duration]time.Duration{1990 * ms: 1990 * ms, 2 * time.Second: 5 * time.Second, 5 * time.Second: 8 * time.Second},
		},
		{
			name: "a gap of 400 ms is no pause", frames: 500,
			when: func(i int) time.Duration {
				if i >= 200 && i < 205 {
					return sent(i) + 400*ms
				}
				return sent(i)
			},
			want: map[time.Duration]time.Duration{4010 * ms: 4010 * ms, 4090 * ms: 4090 * ms, 5 * time.Second: 5 * time.Second},
		},
		{
			name: "all at once", frames: 250,
			when: func(int) time.Duration { return 20 * ms },
			want: map[time.Duration]time.Duration{0: 0, 10 * ms: 10 * ms, 20 * ms: 20 * ms, time.Second: 20 * ms, 4990 * ms: 20 * ms},
		},
		{
			name: "twice as fast as real time", frames: 500,
			when:   func(i int) time.Duration { return 20*ms + sent(i)/2 },
			want:   map[time.Duration]time.Duration{0: 10 * ms, time.Second: 520 * ms, 5 * time.Second: 2520 * ms, 9990 * ms: 5020 * ms},
			within: 10 * ms,
		},
		{
			name: "the caller's clock is 200 ppm fast", frames: 180000,
			when:   func(i int) time.Duration { return sent(i) - sent(i)/5000 },
			want:   map[time.Duration]time.Duration{time.Hour - 10*time.Second: time.Hour - 10*time.Second - 718*ms, time.Hour - time.Second: time.Hour - 1000*ms - 720*ms},
			within: 20 * ms,
		},
		{
			name: "the caller's clock is 200 ppm slow", frames: 180000,
			when:   func(i int) time.Duration { return sent(i) + sent(i)/5000 },
			want:   map[time.Duration]time.Duration{time.Hour - 10*time.Second: time.Hour - 10*time.Second + 718*ms, time.Hour - time.Second: time.Hour - 1000*ms + 720*ms},
			within: ms,
		},
		{
			name: "not there yet", frames: 50,
			when: sent,
			want: map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := feed(c.frames, c.when)
			for position, want := range c.want {
				if got := clock.at(position); (got - want).Abs() > c.within {
					t.Errorf("%v of the sound is from %v, want %v within %v", position, got, want, c.within)
				}
			}
		})
	}
}

func TestClockNeverGoesBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		now := epoch
		c := NewClock(clockRate)
		first := now
		for i := range 300 {
			n := 1 + rnd.IntN(4000)
			if i == 0 {
				first = now.Add(-Duration(n, clockRate))
			}
			c.Arrived(n, now)
			if got := c.TimeOf(c.Position()); got.After(now) {
				t.Fatalf("sound that arrived at %v is from %v", now.Sub(epoch), got.Sub(epoch))
			}
			now = now.Add(time.Duration(rnd.ExpFloat64() * 250 * float64(ms)))
		}
		last := first
		for p := int64(0); p < c.Position()+1000; p += 37 {
			got := c.TimeOf(p)
			if got.Before(last) {
				t.Fatalf("sample %d is from %v, after one from %v", p, got.Sub(epoch), last.Sub(epoch))
			}
			last = got
		}
	}
}

func TestClockTimesAreFinal(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	c := NewClock(clockRate)
	said := map[int64]time.Time{}
	now := epoch
	for range 400 {
		c.Arrived(clockFrame, now)
		p := c.Position() - 1
		said[p] = c.TimeOf(p)
		now = now.Add(time.Duration(rnd.IntN(40)) * ms)
	}
	for p, want := range said {
		if got := c.TimeOf(p); !got.Equal(want) {
			t.Errorf("sample %d was from %v and is now from %v", p, want.Sub(epoch), got.Sub(epoch))
		}
	}
}

func TestClockIsBounded(t *testing.T) {
	c := feed(20000, func(i int) time.Duration { return sent(i) / 2 }) // The line moves with each frame.
	if len(c.lines) > clockLines || len(c.held) > 101 {
		t.Errorf("it holds %d lines and %d arrivals", len(c.lines), len(c.held))
	}
	if got := NewClock(clockRate).TimeOf(5); !got.IsZero() {
		t.Errorf("before anything arrived a sample is from %v, want the zero time", got)
	}
}
