package duplex

import (
	"bufio"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
)

const ms = time.Millisecond

// tone is sound that is nothing but one value.
func tone(value int16, d time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(d, rate))
	for i := range p {
		p[i] = value
	}
	return p
}

// read returns both sides of a file, and its rate.
func read(t *testing.T, path string) (left, right audio.PCM, rate int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < header || int(binary.LittleEndian.Uint32(b[40:])) != len(b)-header || string(b[:4]) != "RIFF" || binary.LittleEndian.Uint16(b[22:]) != 2 {
		t.Fatalf("it begins with %q and has %d bytes", b[:min(header, len(b))], len(b))
	}
	for b := b[header:]; len(b) >= 4; b = b[4:] {
		left, right = append(left, int16(binary.LittleEndian.Uint16(b))), append(right, int16(binary.LittleEndian.Uint16(b[2:])))
	}
	return left, right, int(binary.LittleEndian.Uint32(b[24:]))
}

// at returns what is at a time.
func at(p audio.PCM, d time.Duration, rate int) int16 {
	if i := audio.Samples(d, rate); i < len(p) {
		return p[i]
	}
	return -1
}

func open(t *testing.T) *File {
	f := &File{Path: filepath.Join(t.TempDir(), "call.wav"), Log: slog.New(slog.DiscardHandler)}
	f.Start()
	return f
}

// talk lets the caller's sound come for a while.
func talk(f *File, value int16, d time.Duration, rate int) {
	for range d / (20 * ms) {
		time.Sleep(20 * ms)
		f.Caller(tone(value, 20*ms, rate), rate)
	}
	synctest.Wait()
}

// What the agent says is beside what the caller said when it was sent; what was interrupted ends there.
func TestBothSides(t *testing.T) {
	for _, rate := range []int{8000, 16000} {
		synctest.Test(t, func(t *testing.T) {
			f := open(t)
			talk(f, 100, time.Second, rate)
			f.Agent(tone(200, 400*ms, rate), rate) // more than was played, as lines take it ahead
			talk(f, 0, 200*ms, rate)
			f.Agent(tone(300, 200*ms, rate), rate)
			talk(f, 0, 300*ms, rate)
			f.Cut()
			talk(f, 100, 500*ms, rate)
			f.Agent(tone(400, 300*ms, rate), rate)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			left, right, got := read(t, f.Path)
			if got != rate || len(left) != audio.Samples(2300*ms, rate) {
				t.Errorf("it has %d samples at %d Hz", len(left), got)
			}
			for _, tt := range []struct {
				at          time.Duration
				left, right int16
			}{{500 * ms, 100, 0}, {1100 * ms, 0, 200}, {1390 * ms, 0, 200}, {1450 * ms, 0, 300}, {1550 * ms, 100, 0}, {2100 * ms, 0, 400}} {
				if l, r := at(left, tt.at, rate), at(right, tt.at, rate); l != tt.left || r != tt.right {
					t.Errorf("at %v there are %d and %d, want %d and %d", tt.at, l, r, tt.left, tt.right)
				}
			}
		})
	}
}

// Where nothing comes from the caller, time goes on.
func TestQuietCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.Agent(tone(200, 500*ms, 16000), 16000)
		synctest.Wait()
		time.Sleep(5 * time.Second)
		f.Agent(tone(300, 500*ms, 16000), 16000)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		left, right, _ := read(t, f.Path)
		if len(left) != audio.Samples(4500*ms, 16000) || at(right, 100*ms, 16000) != 200 || at(right, time.Second, 16000) != 0 || at(right, 4200*ms, 16000) != 300 {
			t.Errorf("it has %d samples: %d, %d, %d", len(left), at(right, 100*ms, 16000), at(right, time.Second, 16000), at(right, 4200*ms, 16000))
		}
	})
}

// Who hands sound in never waits for the disk, and what did not find a place is silence of the same length.
func TestSlowDisk(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "call.wav"), Buffer: time.Second, Log: slog.New(slog.DiscardHandler)}
	f.create, f.wake, f.done = create, make(chan struct{}, 1), make(chan struct{}) // nobody writes yet
	began := time.Now()
	for i := range 100 {
		f.Caller(tone(int16(i+1), 20*ms, 8000), 8000)
	}
	if len(f.parts) != 50 || f.missed != time.Second {
		t.Fatalf("%d parts wait, and %v are missing", len(f.parts), f.missed)
	}
	go func() {
		defer close(f.done)
		f.err = f.run(began)
	}()
	for len(func() []part { f.mu.Lock(); defer f.mu.Unlock(); return f.parts }()) > 0 {
		time.Sleep(ms)
	}
	f.Caller(tone(101, 20*ms, 8000), 8000)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	left, _, _ := read(t, f.Path)
	if len(left) != 101*160 || left[49*160] != 50 || left[51*160] != 0 || left[100*160] != 101 {
		t.Errorf("it has %d samples", len(left))
	}
}

// A disk that hangs for a while leaves a gap that is as long as it was, whichever side is heard first behind it.
func TestGapOnce(t *testing.T) {
	for name, agentFirst := range map[string]bool{"the caller first": false, "the agent first": true} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			tr, err := create(filepath.Join(t.TempDir(), "call.wav"), 8000, began)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.close()
			write := func(p part) {
				t.Helper()
				p.rate = 8000
				if err := tr.write(p); err != nil {
					t.Fatal(err)
				}
			}
			write(part{side: caller, pcm: tone(1, 5*time.Second, 8000), at: began})
			behind := began.Add(20 * time.Second)
			if agentFirst {
				write(part{side: agent, pcm: tone(2, 20*ms, 8000), at: behind})
			}
			write(part{side: caller, pcm: tone(3, 20*ms, 8000), at: behind, gap: 15 * time.Second})
			if got, want := audio.Duration(int(tr.at), 8000), 20*time.Second+20*ms; got != want {
				t.Errorf("20 s came to %v, want %v", got, want)
			}
		})
	}
}

// full is a disk that has room for so many bytes.
type full struct {
	file *os.File
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n, err := f.file.Write(b[:min(len(b), f.room)])
	if f.room -= n; err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// Where the disk is full what it took before can be played, and without any sound there is no file, which nobody is told there is.
func TestFullDisk(t *testing.T) {
	for room, samples := range map[int]int{0: 0, 40: 0, header: 0, header + 1002: 250, header + 8000: 2000} {
		f := &File{Path: filepath.Join(t.TempDir(), "call.wav"), Log: slog.New(slog.DiscardHandler)}
		f.create = func(path string, rate int, began time.Time) (*track, error) {
			tr, err := create(path, rate, began)
			if err == nil {
				tr.out = bufio.NewWriterSize(&full{tr.file, room}, 100)
				_, err = tr.out.Write(tr.header())
			}
			return tr, err
		}
		f.Start()
		f.Caller(tone(7, 2*time.Second, 8000), 8000)
		if err := f.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("room for %d: %v", room, err)
		}
		if f.Made() != (samples > 0) {
			t.Errorf("room for %d: there is a file: %v", room, f.Made())
		}
		if samples == 0 {
			if _, err := os.Stat(f.Path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("room for %d: %v", room, err)
			}
			continue
		}
		if left, _, _ := read(t, f.Path); len(left) != samples || left[samples-1] != 7 {
			t.Errorf("room for %d: %d samples", room, len(left))
		}
	}
}

// What is not to be kept is gone, a file that is there is not written over, and what nobody said makes none.
func TestNoFile(t *testing.T) {
	f := open(t)
	f.Caller(tone(1, time.Second, 8000), 8000)
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	f.Caller(tone(1, time.Second, 8000), 8000)
	if _, err := os.Stat(f.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	f = open(t)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is an empty one: %v", err)
	}
	f = open(t)
	if err := os.WriteFile(f.Path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Caller(tone(1, time.Second, 8000), 8000)
	if err := f.Close(); !errors.Is(err, os.ErrExist) {
		t.Errorf("it is written over: %v", err)
	}
}
