package pipeline

import (
	"testing"
	"time"

	"riposte/audio"
)

// On a busy machine frames come late by more at some times than at others. What is played is followed sample by sample all the same,
// until the caller's clock has run away from it.
func TestEarFollowsWhatIsPlayedSteadily(t *testing.T) {
	e := newEar(nil, time.Second)
	var next time.Time
	jumps := 0
	e.played = func(from time.Time, n int) (audio.PCM, bool) {
		if !next.IsZero() && !from.Equal(next) {
			jumps++
		}
		next = from.Add(audio.Duration(n, audio.SpeechRate))
		return make(audio.PCM, n), false
	}
	const frame = audio.SpeechRate / 50
	hear := func(k int, late time.Duration) (broken bool) {
		e.clock.Arrived(frame, clock(time.Duration(k)*20*ms+late))
		_, broken = e.far(frame)
		e.taken += frame
		return broken
	}
	if !hear(0, 3*ms) {
		t.Error("the first sound follows none")
	}
	for k := 1; k < 500; k++ { // the least delay of two seconds is 3 ms at first, then less and more
		if hear(k, time.Duration(1+(k/100)%3)*ms+time.Duration(k%7)*ms) {
			t.Fatalf("at frame %d there is a break", k)
		}
	}
	if jumps > 0 {
		t.Errorf("it did not go on where it was %d times", jumps)
	}
	broken := 0
	for k := 500; k < 800; k++ { // the caller sends 40 ms later from now on
		if hear(k, 40*ms) {
			broken++
		}
	}
	if broken != 1 || jumps != 1 {
		t.Errorf("behind a delay there are %d breaks and %d jumps, want one", broken, jumps)
	}
}
