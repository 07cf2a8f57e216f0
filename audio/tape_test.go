package audio

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// count returns samples that say their own position, from from on.
func count(from int64, n int) PCM {
	p := make(PCM, n)
	for i := range p {
		p[i] = int16(from + int64(i))
	}
	return p
}

func TestTapeSlice(t *testing.T) {
	tape := NewTape(1000, 100*time.Millisecond) // 100 samples.
	tape.Write(count(0, 250))                   // 150 to 249 remain.
	for _, c := range []struct {
		name     string
		from, to int64
		first, n int
		lost     int
	}{
		{"what is there", 160, 200, 160, 40, 0},
		{"all that is there", 150, 250, 150, 100, 0},
		{"the beginning is gone", 100, 200, 150, 50, 50},
		{"all is gone", 20, 60, 0, 0, 40},
		{"before the call", -40, 160, 150, 10, 150},
		{"not there yet", 240, 400, 240, 10, 0},
		{"wholly in the future", 300, 400, 0, 0, 0},
		{"empty", 200, 200, 0, 0, 0},
		{"backwards", 200, 180, 0, 0, 0},
	} {
		got, lost := tape.Slice(c.from, c.to)
		if !slices.Equal(got, count(int64(c.first), c.n)) || lost != c.lost {
			t.Errorf("%s: %v with %d lost, want %d samples from %d with %d lost", c.name, got, lost, c.n, c.first, c.lost)
		}
	}
}

func TestTapeSliceIsACopy(t *testing.T) {
	tape := NewTape(1000, 10*time.Millisecond)
	tape.Write(count(0, 10))
	p, _ := tape.Slice(0, 10)
	tape.Write(count(10, 10))
	if !slices.Equal(p, count(0, 10)) {
		t.Errorf("a slice changed to %v under later sound", p)
	}
}

func TestTapeInAnyChunks(t *testing.T) {
	const size = 97
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tape := NewTape(1000, size*time.Millisecond)
		var end int64
		for range 20 {
			n := rnd.IntN(2 * size)
			tape.Write(count(end, n))
			end += int64(n)
			want := max(0, end-size)
			got, lost := tape.Slice(0, end)
			if tape.Start() != want || tape.End() != end || int64(lost) != want || !slices.Equal(got, count(want, int(end-want))) {
				t.Fatalf("after %d samples it has %d to %d, lost %d: %v", end, tape.Start(), tape.End(), lost, got)
			}
			if n := len(tape.chunks) * tape.chunk; n > 2*size {
				t.Fatalf("it takes the memory of %d samples for %d", n, size)
			}
		}
	}
}

func TestTapeDefaultKeepsAMinute(t *testing.T) {
	tape := NewTape(100, 0)
	for range 100 {
		tape.Write(make(PCM, 100))
	}
	if tape.Start() != 4000 || tape.End() != 10000 {
		t.Errorf("it has %d to %d, want 4000 to 10000", tape.Start(), tape.End())
	}
}

// What is forgotten is lost, and its memory is given back.
func TestTapeForgets(t *testing.T) {
	tape := NewTape(100, time.Minute) // in chunks of 20 samples
	tape.Write(count(0, 950))
	tape.Forget(430)
	got, lost := tape.Slice(400, 500)
	if tape.Start() != 430 || lost != 30 || !slices.Equal(got, count(430, 70)) || len(tape.chunks) != 27 {
		t.Errorf("from %d on, in %d chunks; %d lost of %v", tape.Start(), len(tape.chunks), lost, got)
	}
	tape.Forget(100) // is gone already
	tape.Forget(2000)
	if tape.Start() != 950 || tape.End() != 950 {
		t.Errorf("all forgotten: from %d to %d", tape.Start(), tape.End())
	}
	tape.Write(count(950, 7000))
	if got, lost := tape.Slice(0, 8000); lost != 1950 || !slices.Equal(got, count(1950, 6000)) {
		t.Errorf("behind that: %d samples, %d lost", len(got), lost)
	}
}

// Digital silence takes no memory, and is there as well.
func TestTapeOfSilence(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tape := NewTape(100, 10*time.Second)
	var all PCM
	for range 200 {
		p := make(PCM, rnd.IntN(60))
		if rnd.IntN(3) == 0 {
			p = count(int64(len(all)), len(p))
		}
		tape.Write(p)
		all = append(all, p...)
		from := max(0, len(all)-1000)
		if got, _ := tape.Slice(0, int64(len(all))); !slices.Equal(got, all[from:]) {
			t.Fatalf("after %d samples it has others", len(all))
		}
	}
	tape.Write(make(PCM, 2000))
	for i, c := range tape.chunks {
		if c != nil {
			t.Errorf("chunk %d of silence takes memory", i)
		}
	}
}
