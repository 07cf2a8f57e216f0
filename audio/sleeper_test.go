package audio

import (
	"errors"
	"slices"
	"testing"
)

// diary is a VAD that notes the first sample of each frame, and finds speech in all of them.
type diary struct {
	heard  []int16
	closed bool
	err    error
}

func (d *diary) Speech(frame PCM) (float32, error) {
	d.heard = append(d.heard, frame[0])
	return 1, d.err
}

func (d *diary) Close() error { d.closed = true; return nil }

func TestSleeper(t *testing.T) {
	numbered := func(n int16, level float64) PCM {
		p := rms(VADFrame, level)
		p[0] = n
		return p
	}
	for _, c := range []struct {
		name  string
		quiet int     // Frames between two that are loud.
		want  []int16 // Which frames are heard, from the first loud one on.
	}{
		{"a closure", drowsy, []int16{0, 1, 2, 3, 4, 5}},
		{"one is slept through and made up for", drowsy + 1, []int16{0, 1, 2, 3, 4, 5, 6}},
		{"as many as are kept", drowsy + rousing, []int16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"one more", drowsy + rousing + 1, []int16{0, 1, 2, 3, 4, 6, 7, 8, 9, 10}},
		{"a second", 31, []int16{0, 1, 2, 3, 4, 28, 29, 30, 31, 32}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diary{}
			s := &Sleeper{VAD: d}
			for n := range int16(c.quiet + 2) {
				level := -70.0
				if n == 0 || int(n) == c.quiet+1 {
					level = -20
				}
				p, err := s.Speech(numbered(n, level))
				if err != nil {
					t.Fatal(err)
				}
				if want := n <= drowsy || level == -20; (p == 1) != want {
					t.Errorf("frame %d scores %v", n, p)
				}
			}
			if !slices.Equal(d.heard, c.want) {
				t.Errorf("heard %v, want %v", d.heard, c.want)
			}
		})
	}
}

func TestSleeperPassesErrorsOn(t *testing.T) {
	d := &diary{}
	s := &Sleeper{VAD: d}
	for range drowsy + 2 {
		if _, err := s.Speech(make(PCM, VADFrame)); err != nil {
			t.Fatal(err)
		}
	}
	d.err = errors.New("broken")
	if _, err := s.Speech(rms(VADFrame, -20)); !errors.Is(err, d.err) {
		t.Errorf("%v, want %v", err, d.err)
	}
	if _, err := s.Speech(make(PCM, VADFrame-1)); err == nil {
		t.Error("a short frame was scored")
	}
	if err := s.Close(); err != nil || !d.closed {
		t.Errorf("Close: %v, closed %v", err, d.closed)
	}
}
