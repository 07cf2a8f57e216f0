package webrtc

import (
	"fmt"
	"testing"
	"time"

	"riposte/audio"
	"riposte/transport/realtime"
)

// stream is a pace whose packets are noted: when each left, in ms, and its time, in ms.
type stream struct {
	p    *pace
	sent []string
	said []realtime.Playback
	now  time.Time
}

func (s *stream) run(until int) {
	for {
		at, ok := s.p.nextAt()
		if !ok || at.After(moment(until)) {
			break
		}
		if s.now.Before(at) {
			s.now = at
		}
		s.take(s.now)
	}
	s.now = moment(until)
}

func (s *stream) take(now time.Time) {
	out, ok := s.p.next(now)
	if !ok {
		return
	}
	if out.said.State != "" {
		s.said = append(s.said, out.said)
	}
	if out.pcm == nil {
		return
	}
	note := fmt.Sprintf("%d:%d", now.Sub(epoch).Milliseconds(), out.ts/48)
	if out.spurt {
		note += "!"
	}
	s.sent = append(s.sent, note)
}

func moment(at int) time.Time { return epoch.Add(time.Duration(at) * ms) }

// push gives sound of an answer, at a time in ms.
func (s *stream) push(response string, at, length int) {
	s.run(at)
	s.p.push(response, make(audio.PCM, length*realtime.PCMRate/1000), moment(at))
	s.run(at)
}

func (s *stream) end(at int) {
	s.run(at)
	s.p.end(moment(at))
	s.run(at)
}

func TestPace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		always bool
		play   func(s *stream)
		sent   string
		said   string
	}{
		{"one after the other", false, func(s *stream) {
			s.push("a", 7, 60)
			s.push("a", 27, 20)
			s.push("a", 47, 20)
			s.end(50)
			s.run(1000)
		}, "[7:0! 27:20 47:40 67:60 87:80 107:100]", "[{a started} {a stopped}]"},
		{"in odd parts", false, func(s *stream) {
			s.push("a", 0, 50)
			s.push("a", 10, 5)
			s.end(20)
			s.run(1000)
		}, "[0:0! 20:20 40:40 60:60]", "[{a started} {a stopped}]"},
		{"again after a pause", false, func(s *stream) {
			s.push("a", 0, 20)
			s.end(0)
			s.push("b", 1000, 40)
			s.end(1000)
			s.run(2000)
		}, "[0:0! 20:20 1000:1000! 1020:1020 1040:1040]", "[{a started} {a stopped} {b started} {b stopped}]"},
		{"a little late", false, func(s *stream) {
			s.push("a", 0, 20)
			s.push("a", 25, 20)
			s.push("a", 45, 20)
		}, "[0:0! 25:20 45:40]", "[{a started}]"},
		{"very late", false, func(s *stream) {
			s.push("a", 0, 20)
			s.push("a", 50, 40)
			s.run(100)
		}, "[0:0! 50:50! 70:70]", "[{a started}]"},
		{"nobody asked in time", false, func(s *stream) {
			s.push("a", 0, 20)
			s.p.push("a", make(audio.PCM, 3*slotSamples), moment(10))
			for range 3 {
				s.take(moment(90))
			}
		}, "[0:0! 90:20 90:40 90:60]", "[{a started}]"},
		{"cut", false, func(s *stream) {
			s.push("a", 0, 80)
			s.run(20)
			if said, ok := s.p.cut(); !ok || said != (realtime.Playback{Response: "a", State: realtime.PlaybackCleared}) {
				t.Errorf("cut: %v, %v", said, ok)
			}
			s.run(1000)
		}, "[0:0! 20:20]", "[{a started}]"},
		{"cut after it has ended", false, func(s *stream) {
			s.push("a", 0, 80)
			s.end(0)
			if said, ok := s.p.cut(); !ok || said.Response != "a" {
				t.Errorf("cut: %v, %v", said, ok)
			}
			s.run(1000)
		}, "[0:0!]", "[{a started}]"},
		{"cut before it has begun", false, func(s *stream) {
			s.push("a", 0, 10)
			if said, ok := s.p.cut(); ok {
				t.Errorf("cut: %v", said)
			}
			s.end(0)
			s.run(1000)
		}, "[]", "[]"},
		{"held and released", false, func(s *stream) {
			s.push("a", 0, 60)
			s.p.hold()
			s.run(300)
			s.p.release(moment(300))
			s.run(1000)
		}, "[0:0! 300:300! 320:320]", "[{a started}]"},
		{"silence is sent", true, func(s *stream) {
			s.push("a", 0, 20)
			s.run(50)
			s.push("a", 55, 20)
			s.run(80)
			s.p.hold()
			s.run(100)
		}, "[0:0! 20:20 40:40 60:60 80:80 100:100]", "[{a started}]"},
		{"nothing at all", false, func(s *stream) { s.end(0); s.run(1000) }, "[]", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &stream{p: &pace{Always: tt.always}}
			tt.play(s)
			if got := fmt.Sprint(s.sent); got != tt.sent {
				t.Errorf("sent %s, want %s", got, tt.sent)
			}
			if got := fmt.Sprint(s.said); got != tt.said {
				t.Errorf("said %s, want %s", got, tt.said)
			}
		})
	}
}
