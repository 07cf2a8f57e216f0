package phone

import (
	"time"

	"riposte/audio"
	"riposte/transport"
)

// ear puts the pieces of a caller's sound together: each of them once, and silence where by the far side's clock some are missing.
type ear struct {
	format Format
	most   time.Duration // Of silence that is made for one gap.
	ahead  time.Duration // How much more sound may come than time goes by.

	began time.Time     // When the first piece came,
	came  time.Duration // and how much sound has come since,
	made  time.Duration // and silence was made.
	last  uint64        // Number of the last piece; 0 before.
	late  int           // How many came since with no higher one.
	timed bool          // The far side's clock is known:
	at    time.Duration // it shows this at the end of what came.
}

// fate is what becomes of a piece of sound.
type fate int

const (
	whole  fate = iota // It is what follows.
	twice              // It was there already, or is too late.
	filled             // It is what follows a gap.
)

// rounding is what a far side's clock may be off by.
const rounding = FrameLength / 2

// mostLate is how many pieces in a row may be too late: 2 s of them. Then it is their numbers that have begun anew, or one was wrong; else nothing of
// the caller's would be heard any more.
const mostLate = 100

// take returns what the caller's sound goes on with. The error is a *Misuse.
func (e *ear) take(m Media) (sound transport.Sound, f fate, err error) {
	if len(m.Coded)%e.format.width() != 0 {
		return sound, f, Misused("A piece of sound has %d bytes: samples of %v have %d.", len(m.Coded), e.format, e.format.width())
	}
	length := e.format.length(len(m.Coded))
	if e.began.IsZero() {
		e.began = m.Arrived
	}
	if e.came += length; e.came-m.Arrived.Sub(e.began) > e.ahead {
		return sound, f, Misused("The sound comes faster than it was spoken, by more than %v: send it as it is spoken.", e.ahead)
	}
	if m.Sequence > 0 && m.Sequence <= e.last {
		if e.late++; e.late <= mostLate {
			return sound, twice, nil
		}
	}
	var gap time.Duration
	if m.Timed && e.timed {
		if gap = m.At - e.at; gap < -rounding && m.Sequence == 0 && gap > -e.most {
			return sound, twice, nil
		}
	}
	e.last, e.late = m.Sequence, 0
	if m.Timed {
		e.timed, e.at = true, m.At+length
	}
	pcm := e.format.Decode(m.Coded)
	if gap > rounding {
		f = filled
		gap = min(gap, e.most, m.Arrived.Sub(e.began)+e.most-e.made) // a clock that runs away makes no more of it than time goes by
		e.made += gap
		pcm = append(make(audio.PCM, audio.Samples(gap, e.format.Rate)), pcm...)
	}
	return transport.Sound{PCM: pcm, Rate: e.format.Rate, At: m.Arrived}, f, nil
}
