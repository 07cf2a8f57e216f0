package piper

import (
	"time"

	"riposte/audio"
	"riposte/budget"
)

// due says by when the next sound of a text has to be there: the first by when it was asked for, what follows by when the
// sound so far has been played. So who has sound to play lets those go first who hear silence. A nil due is never pressed.
type due struct {
	first  budget.Urgency
	rate   int
	began  time.Time // When the first sound was there.
	played int       // Samples, had all that there is been played.
}

// urgency returns how urgent the next sound is. What nobody awaits gets no deadline that it was not given.
func (d *due) urgency() budget.Urgency {
	if d == nil {
		return budget.Urgency{}
	}
	u := d.first
	if d.played == 0 || u.Deadline.IsZero() && u.Class != budget.Awaited {
		return u
	}
	if u.Deadline.IsZero() {
		u.Deadline = d.began
	}
	u.Deadline = u.Deadline.Add(audio.Duration(d.played, d.rate))
	return u
}

// add notes that there is more sound.
func (d *due) add(samples int) {
	if d.played == 0 && samples > 0 {
		d.began = time.Now()
	}
	d.played += samples
}
