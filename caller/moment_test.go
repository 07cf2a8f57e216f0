package caller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"riposte/audio"
)

// asked returns what a session.update asks to be included.
func asked(update object) (names []string) {
	include, _ := update["session"].(object)["include"].([]any)
	for _, name := range include {
		names = append(names, name.(string))
	}
	return names
}

func over(m Moment) bool { return len(m.Answers) > 0 && m.Answers[0].Over() }

func TestCallPausesWhenItIsAskedTo(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		p.commit("item_1", "hello")
		p.begin("resp_1")
		p.say("resp_1", "one ", loud(500*ms, 24000, -20))
		p.say("resp_1", "two", loud(500*ms, 24000, -20))
		p.after(300 * ms)
		p.send(object{"type": "riposte.hold"})
		p.after(450 * ms)
		p.send(object{"type": "riposte.release"})
		p.done("resp_1", "completed")
	}}
	s.greet = func(p *peer, n int, e object) {
		if n == 1 && !slices.Equal(asked(e), []string{"riposte.turn", "riposte.hold"}) {
			t.Errorf("it asked for %v", asked(e))
		}
		p.send(object{"type": "session.updated", "session": e["session"]})
	}
	s.converse(t, func(t *testing.T, c *Caller) {
		c.Holds = true
		call := dial(t, c)
		defer call.Close()
		spoke := speech(400*ms, 24000)
		spoke.Onset = 2400
		from, to, err := call.Talk(spoke)
		if err != nil {
			t.Fatal(err)
		}
		if got := to.Sub(from); got != 300*ms {
			t.Errorf("it is said in %v, want 300ms", got)
		}
		m, err := call.Until(t.Context(), 10*time.Second, over)
		if err != nil {
			t.Fatal(err)
		}
		begins := to.Add(200 * ms)
		a := m.Answers[0]
		if !a.Begins.Equal(begins) || !a.Ends.Equal(begins.Add(1450*ms)) || a.Starved != 0 || a.Cut() || a.Played != 24000 {
			t.Errorf("played %d from %v to %v, starved %v, cut %v", a.Played, a.Begins.Sub(begins), a.Ends.Sub(begins), a.Starved, a.Cut())
		}
		if late := m.Now.Sub(a.Ends); late < 0 || late > 20*ms {
			t.Errorf("it was told %v after the answer's end", late)
		}
		if want := []Hold{{From: begins.Add(300 * ms), Until: begins.Add(750 * ms)}}; !slices.Equal(m.Holds, want) {
			t.Errorf("holds = %v, want %v", m.Holds, want)
		}
		if want := []Clause{{"one ", 0}, {"two", 12000}}; !slices.Equal(a.Clauses, want) || a.Text() != "one two" {
			t.Errorf("clauses = %v", a.Clauses)
		}
		if len(m.Said) != 1 || m.Said[0].Transcript != "hello" || !m.Said[0].At.Equal(begins) {
			t.Errorf("said = %v", m.Said)
		}
	})
}

func TestCallKnowsWhatItPlayedWhenItIsInterrupted(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		if n > 0 {
			return
		}
		p.commit("item_1", "hello")
		p.begin("resp_1")
		p.say("resp_1", "one ", loud(500*ms, 24000, -20))
		p.after(600 * ms)
		p.say("resp_1", "two", loud(900*ms, 24000, -20)) // late, and ahead of its time
		p.after(300 * ms)
		p.send(object{"type": "riposte.hold"})
		p.after(200 * ms)
		p.send(object{"type": "input_audio_buffer.speech_started"})
		p.done("resp_1", "cancelled")
		p.send(accounted("resp_1", "hello", "one", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		c.Holds = true
		call := dial(t, c)
		defer call.Close()
		_, to, err := call.Talk(speech(400*ms, 24000))
		if err != nil {
			t.Fatal(err)
		}
		m, err := call.Until(t.Context(), 10*time.Second, func(m Moment) bool { return over(m) && m.Answers[0].Report != nil })
		if err != nil {
			t.Fatal(err)
		}
		begins := to.Add(200 * ms)
		a := m.Answers[0]
		if a.Played != 24*(500+300) || a.Dropped != 24*600 || a.Starved != 100*ms || !a.Cut() || a.Heard != "one" || a.Status != "cancelled" {
			t.Errorf("answer = %d played, %d dropped, %v starved, cut %v, heard %q, %s", a.Played, a.Dropped, a.Starved, a.Cut(), a.Heard, a.Status)
		}
		if got := a.Ends.Sub(begins); got != 900*ms {
			t.Errorf("it was silent after %v, want 900ms", got)
		}
		if want := []Hold{{begins.Add(900 * ms), begins.Add(1100 * ms), true}}; !slices.Equal(m.Holds, want) {
			t.Errorf("holds = %v, want %v", m.Holds, want)
		}
		if len(m.Onsets) != 2 || !m.Onsets[1].Equal(begins.Add(1100*ms)) {
			t.Errorf("onsets = %v", m.Onsets)
		}
	})
}

// walls are a room that throws back a hundredth of what was played a frame ago, which the server is deaf to.
type walls struct{ before audio.PCM }

func (h *walls) Hear(played audio.PCM) audio.PCM {
	out := make(audio.PCM, len(played))
	for i, x := range h.before {
		out[i] = x / 100
	}
	h.before = slices.Clone(played)
	return out
}

func TestRoomBringsBackWhatIsPlayed(t *testing.T) {
	var p0 *peer
	s := server{turn: func(p *peer, n int) {
		if p0 = p; n == 0 {
			p.answer(105*ms, "item_1", "hello", "resp_1", "hi") // not at the beginning of a frame
		}
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		c.Room = func(rate int) Room {
			if rate != 24000 {
				t.Errorf("a room at %d Hz", rate)
			}
			return &walls{}
		}
		var sent, played audio.PCM
		c.Tap = func(s, p audio.PCM) { sent, played = append(sent, s...), append(played, p...) }
		call := dial(t, c)
		defer call.Close()
		_, to, err := call.Talk(speech(400*ms, 24000))
		if err != nil {
			t.Fatal(err)
		}
		m, err := call.Until(t.Context(), 10*time.Second, over)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * ms)
		call.Close()
		if !slices.Equal(p0.sound, sent[:len(p0.sound)]) {
			t.Error("what was sent is not what the tap saw")
		}
		a := m.Answers[0]
		// The call's first frame ends when it is sent.
		at := audio.Samples(a.Begins.Sub(p0.frames[0])+20*ms, 24000)
		if got := a.Begins.Sub(to); got != 405*ms {
			t.Errorf("the answer begins after %v, want 405ms", got)
		}
		voice := a.Sound[2400:] // behind the silence at its beginning
		if !slices.Equal(played[at:][:len(voice)], voice) {
			t.Error("the answer was not played where it should have been")
		}
		for i, x := range voice {
			if got := sent[at+480+i]; got != x/100 {
				t.Fatalf("sample %d comes back as %d, want %d", i, got, x/100)
			}
		}
	})
}

func TestUntilGivesUp(t *testing.T) {
	s := server{turn: func(p *peer, n int) {}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		never := func(Moment) bool { return false }
		begin := time.Now()
		_, err := call.Until(t.Context(), 300*ms, never)
		wants(t, err, ErrNoAnswer)
		if got := time.Since(begin); got != 300*ms {
			t.Errorf("it gave up after %v", got)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(100*ms, func() { cancel(why) })
		_, err = call.Until(ctx, time.Minute, never)
		wants(t, err, why)
		call.Close()
		_, err = call.Until(t.Context(), time.Minute, never)
		wants(t, err, ErrClosed)
	})
}
