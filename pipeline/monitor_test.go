package pipeline

import (
	"slices"
	"testing"
	"time"

	"riposte/audio"
)

// ramp returns d of samples that count up from first.
func ramp(first int, d time.Duration) audio.PCM {
	p := make(audio.PCM, audio.Samples(d, audio.SpeechRate))
	for i := range p {
		p[i] = int16(first + i)
	}
	return p
}

// watch is a monitor that has been told of 100 ms of sound, at its own rate, that is played from 1000 ms on.
func watch(t *testing.T) *monitor {
	t.Helper()
	m := &monitor{}
	for i := range 5 {
		d := time.Duration(i) * 20 * ms
		if err := m.play(ramp(1+audio.Samples(d, audio.SpeechRate), 20*ms), audio.SpeechRate, clock(1000*ms+d)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// clock returns a time.
func clock(at time.Duration) time.Time { return time.Unix(1000, 0).Add(at) }

// wantPlayed reports where the monitor takes something else for played than wanted.
func wantPlayed(t *testing.T, m *monitor, from time.Duration, parts ...audio.PCM) {
	t.Helper()
	want := slices.Concat(parts...)
	got, _ := m.played(clock(from), len(want))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v behind %v it is %d, want %d", audio.Duration(i, audio.SpeechRate), from, got[i], want[i])
			return
		}
	}
}

func silent(d time.Duration) audio.PCM { return make(audio.PCM, audio.Samples(d, audio.SpeechRate)) }

func TestMonitorKnowsWhatIsPlayed(t *testing.T) {
	m := watch(t)
	wantPlayed(t, m, 950*ms, silent(50*ms), ramp(1, 100*ms), silent(50*ms))
	if _, broken := m.played(clock(1001*ms), 1000); broken {
		t.Error("it was played without a break")
	}
	// 30 ms in which there was nothing to play.
	if err := m.play(ramp(5000, 20*ms), audio.SpeechRate, clock(1130*ms)); err != nil {
		t.Fatal(err)
	}
	wantPlayed(t, m, 1090*ms, ramp(1441, 10*ms), silent(30*ms), ramp(5000, 20*ms))
	for at, want := range map[time.Duration]bool{1100 * ms: false, 1120 * ms: true, 1140 * ms: false} {
		if _, broken := m.played(clock(at), 320); broken != want {
			t.Errorf("from %v on a break is there: %v, want %v", at, broken, want)
		}
	}
	// A millisecond is no break.
	if err := m.play(ramp(6000, 20*ms), audio.SpeechRate, clock(1151*ms)); err != nil {
		t.Fatal(err)
	}
	wantPlayed(t, m, 1140*ms, ramp(5160, 10*ms), ramp(6000, 20*ms))
	m.cut(clock(1160 * ms))
	wantPlayed(t, m, 1150*ms, ramp(6000, 10*ms), silent(50*ms))
}

// Who follows what is played is given it without a seam, though the times that are asked for jump about.
func TestMonitorIsFollowed(t *testing.T) {
	m := watch(t)
	var got audio.PCM
	for i, jump := range []time.Duration{0, 3 * ms, -7 * ms, 12 * ms, 0} {
		pcm, _ := m.follow(clock(1000*ms+time.Duration(i)*20*ms+jump), 320)
		got = append(got, pcm...)
	}
	if want := ramp(1, 100*ms); !slices.Equal(got, want) {
		t.Errorf("sound that is asked for at uncertain times has a seam")
	}
	if pcm, _ := m.follow(clock(1050*ms), 320); pcm[0] != 801 {
		t.Errorf("what is asked for at another time begins with %d, want 801", pcm[0])
	}
}

// While the caller's side pauses nothing is played, though it is not known yet for how long.
func TestMonitorOfAPause(t *testing.T) {
	m := watch(t)
	m.hold(clock(1050 * ms))
	m.hold(clock(1060 * ms)) // it does already
	wantPlayed(t, m, 1040*ms, ramp(641, 10*ms), silent(50*ms))
	m.pause(clock(1050*ms), clock(1350*ms))
	wantPlayed(t, m, 1040*ms, ramp(641, 10*ms), silent(300*ms), ramp(801, 50*ms), silent(50*ms))
	if _, broken := m.played(clock(1340*ms), 320); !broken {
		t.Error("behind a pause it is known exactly when playing goes on")
	}
	if _, broken := m.played(clock(1050*ms), 320); broken {
		t.Error("there is a break before it goes on")
	}
}

// An interruption ends what is played where it was held.
func TestMonitorOfAPauseThatEndsTheAnswer(t *testing.T) {
	m := watch(t)
	m.hold(clock(1050 * ms))
	m.cut(clock(1500 * ms))
	m.pause(clock(1050*ms), clock(1500*ms)) // there is nothing left of it
	wantPlayed(t, m, 1040*ms, ramp(641, 10*ms), silent(600*ms))
	if err := m.play(ramp(7000, 20*ms), audio.SpeechRate, clock(2000*ms)); err != nil {
		t.Fatal(err)
	}
	wantPlayed(t, m, 1990*ms, silent(10*ms), ramp(7000, 20*ms))
}

func TestFloorKeepsItsPast(t *testing.T) {
	var f floor
	if past, since := f.note(); len(past) > 0 || !since.IsZero() {
		t.Errorf("nobody has held it: %v, %v", past, since)
	}
	f.hold(clock(0))
	f.hold(clock(5 * ms))
	if past, since := f.note(); len(past) > 0 || !since.Equal(clock(0)) {
		t.Errorf("while it is held: %v, %v", past, since)
	}
	f.release(clock(20 * ms))
	f.release(clock(30 * ms))
	f.hold(clock(40 * ms))
	past, since := f.note()
	if want := []held{{clock(0), clock(20 * ms)}}; !slices.Equal(past, want) || !since.Equal(clock(40*ms)) {
		t.Errorf("%v, %v, want %v and 40 ms", past, since, want)
	}
	if past, _ := f.note(); len(past) > 0 {
		t.Errorf("the past is told twice: %v", past)
	}
}
