package caller

import (
	"slices"
	"testing"
	"time"

	"riposte/audio"
)

// speaker is a player at 1 kHz, so that a sample is a millisecond, with one answer whose samples count up from 1.
type speaker struct {
	player
	r response
}

func newSpeaker() *speaker {
	return &speaker{player: player{rate: 1000, epoch: time.Unix(0, 0)}}
}

func at(n int) time.Time { return time.Unix(0, 0).Add(time.Duration(n) * ms) }

// come lets n samples come.
func (s *speaker) come(n, now int) {
	from := len(s.r.sound)
	s.play(&s.r, from, n, at(now))
	for i := range n {
		s.r.sound = append(s.r.sound, int16(from+i+1))
	}
}

// wantSound reports what was played from one time on up to another, given as runs of first and last sample; 0 is silence.
func (s *speaker) wantSound(t *testing.T, from int, runs ...[2]int) {
	t.Helper()
	var want audio.PCM
	for _, r := range runs {
		if r[0] == 0 {
			want = append(want, make(audio.PCM, r[1])...)
			continue
		}
		for i := r[0]; i <= r[1]; i++ {
			want = append(want, int16(i))
		}
	}
	if got := s.sounding(int64(from), len(want)); !slices.Equal(got, want) {
		t.Errorf("from %d ms on: played %v, want %v", from, got, want)
	}
}

func (s *speaker) wantPlayed(t *testing.T, now, want int) {
	t.Helper()
	if got := s.played(&s.r, at(now)); got != want {
		t.Errorf("%d samples played by %d ms, want %d", got, now, want)
	}
}

func TestPlayerPlaysWhatComesInOrderAndInRealTime(t *testing.T) {
	s := newSpeaker()
	s.come(20, 100)
	s.come(20, 105) // ahead of its time
	s.wantPlayed(t, 99, 0)
	s.wantPlayed(t, 110, 10)
	s.wantSound(t, 90, [2]int{0, 10}, [2]int{1, 40}, [2]int{0, 5})
	s.come(10, 150) // the loudspeaker has been silent for 10 ms
	s.wantSound(t, 130, [2]int{31, 40}, [2]int{0, 10}, [2]int{41, 50}, [2]int{0, 1})
	s.wantPlayed(t, 155, 45)
	if got := s.ends(at(155)); got != at(160) {
		t.Errorf("it ends at %v", got)
	}
	for sample, want := range map[int]int{0: 100, 39: 139, 40: 150, 49: 159} {
		if got := s.plays(&s.r, sample); got != at(want) {
			t.Errorf("sample %d is played at %v, want %d ms", sample, got, want)
		}
	}
}

func TestPlayerGoesOnWhereItPaused(t *testing.T) {
	s := newSpeaker()
	s.come(20, 0)
	s.come(20, 0)
	s.hold(at(15))
	s.hold(at(18)) // it does already
	s.wantPlayed(t, 30, 15)
	s.wantSound(t, 10, [2]int{11, 15}, [2]int{0, 10})
	s.come(10, 30) // was on its way
	if got := s.ends(at(50)); got != at(85) {
		t.Errorf("while it pauses it ends at %v, want 35 ms from now", got)
	}
	s.release(at(70))
	s.wantPlayed(t, 70, 15)
	s.wantPlayed(t, 75, 20)
	s.wantSound(t, 10, [2]int{11, 15}, [2]int{0, 55}, [2]int{16, 50}, [2]int{0, 5})
	s.wantPlayed(t, 200, 50)
	if diff := slices.Compare([]int64{s.holds[0].From.UnixMilli(), s.holds[0].Until.UnixMilli()}, []int64{15, 70}); diff != 0 || s.holds[0].Taken || len(s.holds) != 1 {
		t.Errorf("holds = %v", s.holds)
	}
	for sample, want := range map[int]int{14: 14, 15: 70, 20: 75, 49: 104} {
		if got := s.plays(&s.r, sample); got != at(want) {
			t.Errorf("sample %d is played at %v, want %d ms", sample, got, want)
		}
	}
}

func TestPlayerPausesWithNothingToPlay(t *testing.T) {
	s := newSpeaker()
	s.come(10, 0)
	s.hold(at(30))
	s.release(at(60))
	s.come(10, 70)
	s.wantSound(t, 0, [2]int{1, 10}, [2]int{0, 60}, [2]int{11, 20})
	s.hold(at(75))
	s.come(5, 76)
	s.release(at(80))
	s.wantSound(t, 70, [2]int{11, 15}, [2]int{0, 5}, [2]int{16, 25})
}

func TestPlayerKnowsWhenItPaused(t *testing.T) {
	s := newSpeaker()
	for _, h := range [][2]int{{10, 20}, {30, 50}} {
		s.hold(at(h[0]))
		s.release(at(h[1]))
	}
	s.hold(at(70))
	for _, tt := range [][3]int{{0, 100, 60}, {15, 40, 15}, {20, 30, 0}, {35, 45, 10}, {60, 80, 10}, {80, 90, 10}, {0, 5, 0}} {
		if got, want := s.paused(at(tt[0]), at(tt[1])), time.Duration(tt[2])*ms; got != want {
			t.Errorf("between %d and %d ms it paused for %v, want %v", tt[0], tt[1], got, want)
		}
	}
}

func TestPlayerThrowsAwayWhatIsNotWanted(t *testing.T) {
	for _, paused := range []bool{false, true} {
		s := newSpeaker()
		s.come(20, 0)
		s.come(20, 0)
		played := 25
		if paused {
			s.hold(at(15))
			played = 15
		}
		s.empty(at(25))
		s.wantPlayed(t, 100, played)
		s.wantSound(t, 0, [2]int{1, played}, [2]int{0, 50})
		if paused != (len(s.holds) == 1 && s.holds[0].Taken && s.holds[0].Until.Equal(at(25))) {
			t.Errorf("holds = %v", s.holds)
		}
		var next response
		next.sound = audio.PCM{101, 102}
		s.play(&next, 0, 2, at(40))
		s.wantSound(t, 35, [2]int{0, 5}, [2]int{101, 102}, [2]int{0, 3})
		if got := s.played(&next, at(41)); got != 1 {
			t.Errorf("%d samples of the next answer are played, want 1", got)
		}
		s.empty(at(41))
		s.empty(at(60)) // nothing is left to throw away
		s.wantSound(t, 40, [2]int{101, 101}, [2]int{0, 5})
	}
}

func TestPlayerForgets(t *testing.T) {
	s := newSpeaker()
	for i := range 100 {
		s.come(20, 100*i) // with silence in between
	}
	if n := len(s.queue); n > 13 {
		t.Errorf("%d stretches are kept, want those of one second", n)
	}
	s.wantPlayed(t, 10000, 2000)
}
