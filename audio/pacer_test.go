package audio

import (
	"testing"
	"time"
)

const ms = time.Millisecond

func TestPacerKeepsItsLead(t *testing.T) {
	now := time.Unix(1000, 0)
	p := Pacer{Lead: 200 * ms}
	for i := range 20 {
		want := time.Duration(0)
		if i >= 10 { // The first 200 ms leave at once, and then one frame each 20 ms.
			want = 20 * ms
			if i == 10 {
				want = 0
			}
		}
		wait := p.Next(20*ms, now)
		if wait != want {
			t.Errorf("frame %d waits %v, want %v", i, wait, want)
		}
		now = now.Add(wait)
	}
}

// Asking when the next frame may leave schedules nothing.
func TestPacerWait(t *testing.T) {
	now := time.Unix(1000, 0)
	p := Pacer{Lead: 40 * ms}
	if got := p.Wait(now); got != 0 {
		t.Errorf("the first frame waits %v", got)
	}
	for range 3 {
		p.Next(20*ms, now)
	}
	for range 2 {
		if got := p.Wait(now); got != 20*ms {
			t.Errorf("with 60 ms in hand a frame waits %v, want 20 ms", got)
		}
	}
	p.Hold(now.Add(5 * ms))
	if got := p.Wait(now.Add(15 * ms)); got != 15*ms {
		t.Errorf("a frame waits %v for a side that has paused after 5 ms, want 15 ms", got)
	}
}

func TestPacerDoesNotDrift(t *testing.T) {
	begin := time.Unix(1000, 0)
	now := begin
	p := Pacer{Lead: 100 * ms}
	const frames = 3600 * 50
	for i := range frames {
		now = now.Add(p.Next(20*ms, now))
		if i < frames-1 {
			now = now.Add(time.Duration(i%7) * ms) // Every wake-up is late by up to 6 ms.
		}
	}
	if got, want := now.Sub(begin), time.Hour-120*ms; got != want {
		t.Errorf("the last frame of an hour left after %v, want %v", got, want)
	}
}

func TestPacerUnderrunRestarts(t *testing.T) {
	now := time.Unix(1000, 0)
	p := Pacer{Lead: 40 * ms}
	for range 3 {
		now = now.Add(p.Next(20*ms, now)) // 60 ms, which end at 1000.060.
	}
	now = now.Add(500 * ms)
	var waits []time.Duration
	for range 5 {
		w := p.Next(20*ms, now)
		waits = append(waits, w)
		now = now.Add(w)
	}
	for i, want := range []time.Duration{0, 0, 0, 20 * ms, 20 * ms} {
		if waits[i] != want {
			t.Fatalf("after an underrun frames wait %v; the lead, and then one each 20 ms, is wanted", waits)
		}
	}
	if got, want := p.Played(now), 60*ms+40*ms; got != want {
		t.Errorf("played %v, want %v", got, want)
	}
}

func TestPacerLateFrameWithinLeadCatchesUp(t *testing.T) {
	now := time.Unix(1000, 0)
	p := Pacer{Lead: 200 * ms}
	for range 11 {
		now = now.Add(p.Next(20*ms, now))
	}
	now = now.Add(100 * ms) // The far side still has 100 ms in hand.
	for i := range 5 {
		if w := p.Next(20*ms, now); w != 0 {
			t.Errorf("frame %d waits %v, want none until the lead is full again", i, w)
		}
	}
	if w := p.Next(20*ms, now); w != 20*ms {
		t.Errorf("then the wait is %v, want 20ms", w)
	}
}

func TestPacerPlayed(t *testing.T) {
	begin := time.Unix(1000, 0)
	p := Pacer{Lead: time.Second}
	if got := p.Played(begin); got != 0 {
		t.Errorf("before the first frame %v is played, want nothing", got)
	}
	for range 10 {
		p.Next(20*ms, begin)
	}
	for _, c := range []struct{ after, played, queued time.Duration }{
		{0, 0, 200 * ms}, {70 * ms, 70 * ms, 130 * ms}, {200 * ms, 200 * ms, 0}, {time.Hour, 200 * ms, 0},
	} {
		if got := p.Played(begin.Add(c.after)); got != c.played {
			t.Errorf("after %v %v is played, want %v", c.after, got, c.played)
		}
		if got := p.Queued(begin.Add(c.after)); got != c.queued {
			t.Errorf("after %v %v is queued, want %v", c.after, got, c.queued)
		}
	}
	if got := p.Cut(begin.Add(70 * ms)); got != 70*ms {
		t.Errorf("a cut after 70 ms leaves %v, want 70ms", got)
	}
	if got := p.Played(begin.Add(time.Hour)); got != 70*ms {
		t.Errorf("an hour after the cut %v is played, want 70ms", got)
	}
	p.Next(20*ms, begin.Add(time.Hour))
	if got := p.Played(begin.Add(2 * time.Hour)); got != 90*ms {
		t.Errorf("with one more frame %v is played, want 90ms", got)
	}
}

// A far side that pauses has played no more when it goes on, and is owed all of what it had in hand.
func TestPacerHold(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Time{}.Add(time.Hour + d) }
	p := Pacer{Lead: 100 * ms}
	p.Next(100*ms, at(0))
	p.Next(100*ms, at(0))
	p.Hold(at(50 * ms))
	p.Hold(at(90 * ms))
	if played, queued := p.Played(at(500*ms)), p.Queued(at(500*ms)); played != 50*ms || queued != 150*ms {
		t.Errorf("held: %v played and %v queued, want 50ms and 150ms", played, queued)
	}
	p.Resume(at(550 * ms))
	if played := p.Played(at(600 * ms)); played != 100*ms {
		t.Errorf("50 ms after the hold %v are played, want 100ms", played)
	}
	if wait := p.Next(100*ms, at(600*ms)); wait != 0 {
		t.Errorf("the next frame waits %v, want 0s: 100 ms are in hand", wait)
	}
	p.Hold(at(620 * ms))
	if played := p.Cut(at(800 * ms)); played != 120*ms {
		t.Errorf("%v were played when the rest was thrown away, want 120ms", played)
	}
	p.Next(20*ms, at(900*ms))
	if played := p.Played(at(910 * ms)); played != 130*ms {
		t.Errorf("%v are played after that, want 130ms", played)
	}
}
