package caller

import (
	"testing"
	"time"
)

// radio is a ledger to which sound comes beside the events.
type radio struct {
	*testing.T
	ledger
	zero time.Time
	last time.Duration
}

func newRadio(t *testing.T) *radio {
	zero := time.Unix(1000, 0)
	return &radio{T: t, ledger: newLedger(PCM, zero, true), zero: zero}
}

func (r *radio) tell(at time.Duration, kind, id string) {
	r.Helper()
	e := serverEvent{Type: kind, ResponseID: id}
	if kind == "response.created" || kind == "response.done" {
		e.Response = &serverResponse{ID: id, Status: "completed"}
	}
	if err := r.take(e, r.zero.Add(at)); err != nil {
		r.Fatal(err)
	}
}

// play plays sound from one time to another; paused says that the server left out silence before it.
func (r *radio) play(from, to time.Duration, level float64, paused bool) {
	r.Helper()
	apart := from - r.last
	for at := from; at < to; at += 20 * ms {
		if err := r.sounds(sound{pcm: loud(20*ms, 24000, level), at: r.zero.Add(at), apart: apart, paused: paused && apart > 0}, r.zero.Add(at)); err != nil {
			r.Fatal(err)
		}
		apart = 0
	}
	r.last = to
}

// wants says what has become of an answer.
func (r *radio) wants(now time.Duration, i int, begins, sounds, starved time.Duration, over bool) {
	r.Helper()
	m := r.moment(r.zero.Add(now))
	a := m.Answers[i]
	if a.Begins.Sub(r.zero) != begins || a.Sound.Duration(24000) != sounds || a.Starved != starved || a.Over() != over || a.Cut() {
		r.Errorf("answer %d begins at %v, has %v of sound, starved %v, over %v, cut %v; want %v, %v, %v, %v",
			i, a.Begins.Sub(r.zero), a.Sound.Duration(24000), a.Starved, a.Over(), a.Cut(), begins, sounds, starved, over)
	}
}

// Sound is of the answer that the events say, be they early or late, by seconds even.
func TestStream(t *testing.T) {
	for _, late := range []time.Duration{-50 * ms, 10 * ms, 700 * ms, 4 * time.Second} {
		r := newRadio(t)
		for i, id := range []string{"a", "b"} {
			at := time.Duration(1+8*i) * time.Second
			r.tell(at-200*ms, "response.created", id)
			if late < 0 {
				r.tell(at+late, "output_audio_buffer.started", id)
			}
			r.play(at, at+600*ms, -20, false)
			r.play(at+800*ms, at+1400*ms, -20, true) // 200 ms of silence are left out
			r.tell(at+1400*ms, "response.done", id)
			if late >= 0 {
				r.tell(max(at+1400*ms, at+late), "output_audio_buffer.started", id)
			}
			r.wants(at+5*time.Second, i, at, 1400*ms, 0, false)
			r.tell(at+5*time.Second, "output_audio_buffer.stopped", id)
			r.wants(at+5*time.Second+underway+ms, i, at, 1400*ms, 0, true)
		}
	}
}

// What is not there in time is missing, and not a part of the answer; and a hold is neither.
func TestStreamStarves(t *testing.T) {
	r := newRadio(t)
	r.tell(0, "response.created", "a")
	r.tell(0, "output_audio_buffer.started", "a")
	r.play(0, 400*ms, -20, false)
	r.play(700*ms, 1000*ms, -20, false)
	r.wants(1100*ms, 0, 0, 700*ms, 300*ms, false)
	r.tell(1000*ms, "riposte.hold", "")
	r.tell(1500*ms, "riposte.release", "")
	r.play(1500*ms, 1600*ms, -20, false)
	r.wants(1700*ms, 0, 0, 800*ms, 300*ms, false)
	if m := r.moment(r.zero.Add(2 * time.Second)); len(m.Holds) != 1 || m.Holds[0].Taken || m.Holds[0].Until.Sub(m.Holds[0].From) != 500*ms {
		t.Errorf("held %+v", m.Holds)
	}
}

// A server that sends silence all the time is not taken to say it, and nobody hears an answer begin before it does.
func TestStreamOfSilence(t *testing.T) {
	r := newRadio(t)
	r.play(0, 9*time.Second, -80, false)
	if !r.ledger.last.IsZero() {
		t.Error("silence is taken for something done towards an answer")
	}
	r.tell(9*time.Second, "response.created", "a")
	r.play(9*time.Second, 9500*ms, -20, false)
	r.tell(9500*ms, "output_audio_buffer.started", "a")
	if a := r.moment(r.zero.Add(10 * time.Second)).Answers[0]; a.Begins.Sub(r.zero) != 9*time.Second || a.Sound.Duration(24000) > 3*time.Second {
		t.Errorf("it begins at %v and has %v of sound", a.Begins.Sub(r.zero), a.Sound.Duration(24000))
	}
}
