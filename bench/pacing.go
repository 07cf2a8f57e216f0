package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"riposte/caller"
	"riposte/caller/phone"
)

// Pacing listens to an answer that does not end, at the far side of a telephone wire, and measures when its frames come.
type Pacing struct {
	Phone  phone.Phone
	Speech caller.Speech // What is answered,
	For    time.Duration // and how long the answer is listened to.
	Each   func(at time.Duration, offMs float64)
}

// PacingResult is what Pacing measured. The first two seconds of sound are left out: a far side's buffer is filled then.
type PacingResult struct {
	Wire     string  `json:"wire"`
	Seconds  float64 `json:"seconds"` // From the first frame that counts to the last.
	Frames   int     `json:"frames"`  // Of 20 ms.
	Interval Spread  `json:"interval_ms"`
	Off      Spread  `json:"off_20ms"`        // By how much each interval is not 20 ms, either way.
	Beyond   float64 `json:"part_beyond_5ms"` // The part of them that is so by more than 5 ms.
	// Drift is how much later the frames come, by the schedule of the first one, in the last ten seconds than in the first ten, at the median.
	Drift    float64  `json:"drift_ms"`
	Schedule Spread   `json:"off_schedule_ms"` // By how much each frame was off that schedule, either way.
	Underrun int      `json:"underruns"`       // How often there was nothing to be played,
	Starved  float64  `json:"starved_ms"`      // and for how long in all.
	Queued   float64  `json:"queued_ms"`       // The most that the far side had in hand.
	LateMs   Spread   `json:"caller_late_ms"`  // By how much the far side's own frames left late: what this machine could not do in time.
	Faults   []string `json:"faults"`          // What the service did against the protocol.

	About
}

// Spread is what there is of some durations, in milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spread(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	p := percentiles(all)
	return Spread{p.P50, p.P99, ms(slices.Max(all))}
}

// filling is how much sound at the beginning is left out.
const filling = 2 * time.Second

// errShort says that there was too little to measure.
var errShort = errors.New("the answer was too short to measure anything")

// Run measures.
func (b *Pacing) Run(ctx context.Context) (PacingResult, error) {
	r := PacingResult{Wire: string(b.Phone.Wire), About: about(b.Phone.Seed), Faults: []string{}}
	call, err := b.Phone.Dial(ctx)
	if err != nil {
		return r, err
	}
	defer call.Close()
	if _, _, err := call.Talk(b.Speech); err != nil {
		return r, err
	}
	const soon = 30 * time.Second // An answer begins.
	m, err := call.Until(ctx, soon, func(m phone.Moment) bool { return len(m.Answers) > 0 })
	if err != nil {
		return r, err
	}
	began, first := time.Now(), len(m.Arrivals)-1
	next := began
	m, err = call.Until(ctx, b.For+time.Minute, func(m phone.Moment) bool {
		if b.Each != nil && !m.Now.Before(next) {
			next = next.Add(10 * time.Second)
			b.Each(m.Now.Sub(began), ms(time.Duration(m.Waiting)*time.Second/time.Duration(m.Rate)))
		}
		return m.Now.Sub(began) >= b.For
	})
	if err != nil {
		return r, err
	}
	late := call.Late()
	if err := call.Close(); err != nil {
		r.Faults = strings.Split(err.Error(), "\n")
	}
	frames := arrived(m.Arrivals[first:], m.Rate)
	if len(frames) < 2 {
		return r, errShort
	}
	r.measure(frames)
	for _, gap := range m.Gaps(b.For) {
		r.Underrun++
		r.Starved += ms(gap)
	}
	r.Queued, r.LateMs = 1000*float64(m.Most)/float64(m.Rate), spread(late)
	r.Machine = r.Machine.after()
	return r, nil
}

// arrived returns when each frame came, after those that fill a buffer.
func arrived(all []phone.Arrival, rate int) (frames []time.Time) {
	samples := 0
	for _, a := range all {
		if samples += a.N; samples <= rate*int(filling/time.Second) {
			continue
		}
		for range max(1, a.N*int(time.Second/telephoneFrame)/rate) {
			frames = append(frames, a.At)
		}
	}
	return frames
}

// measure measures when frames came.
func (r *PacingResult) measure(frames []time.Time) {
	var intervals, off, schedule, lag []time.Duration
	beyond := 0
	for i, at := range frames {
		lag = append(lag, at.Sub(frames[0])-time.Duration(i)*telephoneFrame)
		schedule = append(schedule, lag[i].Abs())
		if i == 0 {
			continue
		}
		interval := at.Sub(frames[i-1])
		intervals, off = append(intervals, interval), append(off, (interval-telephoneFrame).Abs())
		if (interval - telephoneFrame).Abs() > 5*time.Millisecond {
			beyond++
		}
	}
	ten := min(len(lag)/2, int(10*time.Second/telephoneFrame))
	r.Drift = percentiles(lag[len(lag)-ten:]).P50 - percentiles(lag[:ten]).P50
	r.Seconds, r.Frames = frames[len(frames)-1].Sub(frames[0]).Seconds(), len(frames)
	r.Interval, r.Off, r.Schedule = spread(intervals), spread(off), spread(schedule)
	r.Beyond = float64(beyond) / float64(len(intervals))
}

// Met says whether the frames kept the pace: a drift below 20 ms, and intervals of 20 ms, give or take 5, at the 99th percentile.
func (r PacingResult) Met() bool {
	return math.Abs(r.Drift) < 20 && r.Off.P99 <= 5 && r.Underrun == 0 && len(r.Faults) == 0
}

// String says what was asked for, for people.
func (r PacingResult) String() string {
	met := "met"
	if !r.Met() {
		met = "NOT MET"
	}
	return fmt.Sprintf("a drift below 20 ms, 20 ms ±5 ms at the 99th percentile, and nothing missing is asked for: %s", met)
}
