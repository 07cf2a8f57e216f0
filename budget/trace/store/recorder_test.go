package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

// disk is a file that can be slow, stuck, full and absent.
type disk struct {
	mu    sync.Mutex
	turns []string // That were written.
	err   error    // What writing fails with.
	stuck chan struct{}
	slow  time.Duration
	gone  error // What opening fails with.
}

func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *disk) writeAll(_ context.Context, entries []entry) error {
	d.mu.Lock()
	stuck, slow := d.stuck, d.slow
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	time.Sleep(slow)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	for _, e := range entries {
		if e.turn != nil {
			d.turns = append(d.turns, e.turn.ID)
		}
	}
	return nil
}

func (d *disk) Prune(context.Context, Limits, time.Time) (bool, error) { return false, nil }
func (d *disk) beat(context.Context, time.Time) error                  { return nil }
func (d *disk) replaced() bool                                         { return false }
func (d *disk) Close() error                                           { return nil }

func (d *disk) written() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.turns)
}

// journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// recorderOn returns a recorder that writes to the disk, and what it logs.
func recorderOn(d *disk) (*Recorder, *journal) {
	var log journal
	r := &Recorder{
		Path: "traces.db", MaxEntries: 200, Log: slog.New(slog.NewTextHandler(&log, nil)),
		open: func(context.Context) (keeper, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d, d.gone
		},
	}
	r.Start()
	return r, &log
}

// hand hands n turns over, one every 100 ms, and fails the test when that takes any time.
func hand(t *testing.T, r *Recorder, n int) {
	t.Helper()
	for i := range n {
		began := time.Now()
		r.TurnEnded(trace.Turn{ID: fmt.Sprint(i)})
		if took := time.Since(began); took > 0 {
			t.Fatalf("turn %d waited for %v", i, took)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestStuckDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{stuck: make(chan struct{})}
		r, log := recorderOn(d)
		hand(t, r, 1000) // 100 s
		if d := r.Drops(); d != (Drops{Turns: 800}) {
			t.Errorf("dropped %v, want all but the 200 that the queue holds", d)
		}
		close(d.stuck)
		d.set(func() { d.stuck = nil })
		time.Sleep(time.Minute)
		hand(t, r, 50)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if n := d.written(); n != 250 {
			t.Errorf("%d turns were written, want the 200 of the queue and 50 that came later", n)
		}
		if n := strings.Count(log.String(), `msg="traces were dropped" turns=800`); n != 1 {
			t.Errorf("the log says what was dropped %d times, want once:\n%s", n, log)
		}
	})
}

func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{err: errors.New("database or disk is full")}
		r, log := recorderOn(d)
		hand(t, r, 3000) // 5 min
		if n := strings.Count(log.String(), "traces cannot be written"); n != 1 {
			t.Errorf("the log says that nothing can be written %d times:\n%s", n, log)
		}
		if n := strings.Count(log.String(), "traces were dropped"); n < 4 || n > 5 {
			t.Errorf("in 5 minutes the log says what was dropped %d times:\n%s", n, log)
		}
		d.set(func() { d.err = nil })
		time.Sleep(2 * time.Second)
		if n := d.written(); n != 200 || !strings.Contains(log.String(), "traces are written again") {
			t.Errorf("2 s after the disk was free again, %d turns were written:\n%s", n, log)
		}
		hand(t, r, 1)
		time.Sleep(time.Second)
		if n := d.written(); n != 201 {
			t.Errorf("writing did not go on: %d turns", n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: 3 * time.Second} // for each transaction
		r, _ := recorderOn(d)
		hand(t, r, 1000)
		time.Sleep(10 * time.Second)
		if n := d.written(); n != 1000 {
			t.Errorf("%d of 1000 turns were written: they wait for each other and share transactions", n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The folder may not be there yet when the service starts.
func TestAbsentDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{gone: errors.New("no such device")}
		r, _ := recorderOn(d)
		hand(t, r, 100)
		d.set(func() { d.gone = nil })
		time.Sleep(2 * time.Second)
		if n := d.written(); n != 100 {
			t.Errorf("%d turns were written", n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A service that goes down does not wait for a disk that is stuck.
func TestCloseOnStuckDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{stuck: make(chan struct{})}
		r, _ := recorderOn(d)
		hand(t, r, 20)
		began := time.Now()
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "20 traces were not written") {
			t.Errorf("closing says %v", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("closing took %v", took)
		}
		close(d.stuck)
		synctest.Wait()
	})
}

// Sound takes most of the room, and is dropped first.
func TestSoundIsDroppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{stuck: make(chan struct{})}
		r, _ := recorderOn(d)
		r.MaxBytes = 1 << 20
		for i := range 60 {
			r.TurnEnded(trace.Turn{ID: fmt.Sprint(i), Sound: &trace.Sound{Rate: 16000, Caller: make([]int16, 16000)}})
		}
		if d := r.Drops(); d != (Drops{Sounds: 37}) {
			t.Errorf("dropped %v, want the sound of all but 23 turns, which have three quarters of 1 MiB", d)
		}
		close(d.stuck)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.bytes != 0 || r.entries != nil {
			t.Errorf("the queue is empty and yet has %d bytes", r.bytes)
		}
	})
}

// On a real file: what is handed over is there, and recorded sound unless it is to be forgotten.
func TestRecorder(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		r := &Recorder{Path: filepath.Join(t.TempDir(), "traces.db")}
		r.Start()
		turns := sample.New(1, noon).Turns(300)
		r.CallBegan(trace.Call{ID: turns[0].Call, Wire: "websocket", Began: noon})
		for i, turn := range turns {
			if i == 7 {
				turn.Sound = sound()
			}
			r.TurnEnded(turn)
		}
		if !recorded {
			r.ForgetSound(turns[7].Call)
		}
		r.CallEnded(trace.Call{ID: turns[0].Call, Wire: "websocket", Began: noon, Ended: noon.Add(time.Minute), Reason: "hung_up", Turns: 10})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := OpenReader(t.Context(), r.Path)
		if err != nil {
			t.Fatal(err)
		}
		if z, err := s.Size(t.Context()); err != nil || z.Turns != 300 || z.Calls != 30 {
			t.Errorf("there are %v, %v", z, err)
		}
		if c, err := s.Call(t.Context(), turns[0].Call); err != nil || c.Reason != "hung_up" || c.Turns != 10 {
			t.Errorf("the call is %v, %v", c, err)
		}
		if _, err := s.Sound(t.Context(), turns[7].ID); (err == nil) != recorded {
			t.Errorf("recorded %v: the sound is %v", recorded, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What the file refuses is dropped, and nothing else; a file that is full is waited for.
func TestRefusedAndFull(t *testing.T) {
	s := fresh(t)
	s.db.SetMaxOpenConns(1) // limits are those of a connection
	if _, err := s.db.Exec("CREATE TRIGGER refuse BEFORE INSERT ON bodies WHEN new.turn = 'bad' BEGIN SELECT raise(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	var log journal
	r := &Recorder{Log: slog.New(slog.NewTextHandler(&log, nil)), open: func(context.Context) (keeper, error) { return unclosed{s}, nil }}
	r.Start()
	for _, id := range []string{"a", "bad", "b"} {
		r.TurnEnded(trace.Turn{ID: id, Call: "sess"})
	}
	eventually(t, func() bool { return count(t, s, "turns") == 2 })
	if d := r.Drops(); d != (Drops{Turns: 1}) {
		t.Errorf("dropped %v, want the one that was refused", d)
	}

	var pages int
	if err := s.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		r.TurnEnded(trace.Turn{ID: fmt.Sprint(i), Call: "sess", Answer: strings.Repeat("so many words ", 100)})
	}
	eventually(t, func() bool {
		s.write.Lock()
		defer s.write.Unlock()
		return s.names == nil // as after a transaction that failed
	})
	if _, err := s.db.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if n := count(t, s, "turns"); n != 52 || !strings.Contains(log.String(), "full") {
		t.Errorf("%d turns are there, want 52; the log says\n%s", n, log.String())
	}
	sane(t, s)
}

// replaced is a recorder whose file the test does harm to.
type replaced struct {
	t    *testing.T
	path string
	r    *Recorder
	log  *journal
}

// recordTo starts a recorder that has kept the turn first. It is closed when the test ends.
func recordTo(t *testing.T, first string) replaced {
	t.Helper()
	f := replaced{t: t, path: filepath.Join(t.TempDir(), "traces.db"), log: new(journal)}
	f.r = &Recorder{Path: f.path, Log: slog.New(slog.NewTextHandler(f.log, nil))}
	f.r.Start()
	t.Cleanup(func() {
		if err := f.r.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log:\n%s", f.log.String())
		}
	})
	f.keep(first)
	eventually(t, f.has(first))
	return f
}

func (f replaced) keep(id string) {
	f.r.TurnEnded(trace.Turn{ID: id, Call: "sess", Report: budget.Report{SpeechEnd: time.Now()}})
}

// has says whether the file has these turns, the newest first, and no others.
func (f replaced) has(ids ...string) func() bool {
	return func() bool {
		s, err := OpenReader(f.t.Context(), f.path)
		if err != nil {
			return false
		}
		defer s.Close()
		page, err := s.Turns(f.t.Context(), Filter{}, 0, 10)
		return err == nil && slices.EqualFunc(page.Turns, ids, func(r Row, id string) bool { return r.ID == id })
	}
}

// remove removes the file and what lies beside it.
func (f replaced) remove() {
	f.t.Helper()
	all, err := filepath.Glob(f.path + "*")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, file := range all {
		if err := os.RemoveAll(file); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A file that is removed or replaced while the service runs is opened anew, and what comes then is kept; what is no file of traces is said
// once, and waited for.
func TestFileIsReplaced(t *testing.T) {
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		f := recordTo(t, "a")
		f.remove()
		f.keep("b")
		eventually(t, f.has("b"))
		if err := os.RemoveAll(f.path); err != nil { // what lies beside it stays
			t.Fatal(err)
		}
		f.keep("c")
		eventually(t, f.has("c"))
		if n := strings.Count(f.log.String(), "removed or replaced"); n != 2 || strings.Contains(f.log.String(), "level=ERROR") {
			t.Errorf("the log says so %d times", n)
		}
	})
	for name, spoil := range map[string]func(path string) error{
		"a word":   func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o600) },
		"garbage":  func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbage "), 5000), 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run("by "+name, func(t *testing.T) {
			t.Parallel()
			f := recordTo(t, "before")
			f.remove()
			if err := spoil(f.path); err != nil {
				t.Fatal(err)
			}
			f.keep("spoilt")
			said := func() int { return strings.Count(f.log.String(), "traces cannot be written") }
			eventually(t, func() bool { return said() > 0 })
			time.Sleep(again + again/2)
			if n := said(); n != 1 {
				t.Errorf("the log says so %d times", n)
			}
			f.remove()
			eventually(t, f.has("spoilt"))
		})
	}
	// What is written over the file in its place may be mended from what lies beside it.
	for name, garbage := range map[string]string{"nothing": "", "a word": "garbage", "garbage": strings.Repeat("garbage ", 5000)} {
		t.Run("written over with "+name, func(t *testing.T) {
			t.Parallel()
			f := recordTo(t, "before")
			if err := os.WriteFile(f.path, []byte(garbage), 0o600); err != nil {
				t.Fatal(err)
			}
			f.keep("over")
			time.Sleep(again + again/2)
			f.remove()
			f.keep("again")
			eventually(t, func() bool { return f.has("again")() || f.has("again", "over")() })
		})
	}
}

// unclosed is a store that the recorder does not close.
type unclosed struct{ *Store }

func (unclosed) Close() error { return nil }

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has not come about for a minute")
		}
	}
}

// A process that is killed loses no more than the last second, and leaves a file that is sound.
func TestKilled(t *testing.T) {
	const variable = "RIPOSTE_TEST_RECORD_TO"
	if path := os.Getenv(variable); path != "" {
		r := &Recorder{Path: path}
		r.Start()
		m := sample.New(1, time.Now())
		for {
			for _, turn := range m.Turns(10) {
				r.TurnEnded(turn)
				fmt.Println("turn", turn.ID)
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "traces.db")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env = append(os.Environ(), variable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	type said struct {
		id string
		at time.Time
	}
	var all []said
	last, stalled := time.Now(), time.Duration(0)
	const enough = 100
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "turn "); ok {
			now := time.Now()
			if len(all) > 0 {
				stalled = max(stalled, now.Sub(last))
			}
			last = now
			all = append(all, said{id, now})
		}
		if len(all) > enough && time.Since(all[enough].at) > time.Second+10*stalled {
			break
		}
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it says that it was killed
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sane(t, s)
	due, lost := 0, 0
	for _, turn := range all {
		// Turns come every 10 ms. Where a busy machine held them up, it may have held up what writes them, which does more, for longer.
		if killed.Sub(turn.at) < time.Second+10*stalled {
			continue
		}
		due++
		if _, err := s.Turn(t.Context(), turn.id); err != nil {
			lost++
		}
	}
	if due < enough || lost > 0 {
		t.Errorf("of %d turns that were older than a second, %d are lost", due, lost)
	}
}
