package pipeline

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/audio/answering"
	"riposte/audio/audiotest"
	"riposte/budget/trace"
	"riposte/transport"
)

const (
	hello     = "Good morning, this is the library."
	voicemail = "This is the library. Your books are due, please call us back."
)

// callee is a call that was placed, and whoever has answered it.
type callee struct {
	*line
	over chan struct{} // Closed when the session has ended,
	end  time.Time     // which was then.

	mu    sync.Mutex
	told  []answering.Event
	turns []trace.Turn
}

// dial runs a session over a call that was placed, whose other end is played by answer, and returns how it ended.
func dial(t *testing.T, change func(*Session), answer func(*callee)) (c *callee, why error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := quick()
		c = &callee{line: newLine(t), over: make(chan struct{})}
		s := newSession(c.line, e)
		s.VAD, s.STT, s.Greeting = voices{}, e, Greeting{Text: hello}
		s.Silence = Silence{After: 3 * time.Second, Prompts: []string{"Are you there?"}}
		s.Answering = &Answering{Detector: answering.Detector{Waits: 700 * ms}, Message: voicemail, Told: func(who answering.Event) { c.told = append(c.told, who) }}
		s.Trace = func(t trace.Turn) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.turns = append(c.turns, t)
		}
		if change != nil {
			change(s)
		}
		go func() { why = s.Run(t.Context()); c.end = time.Now(); close(c.over) }()
		answer(c)
		close(c.hang)
		<-c.over
	})
	return c, why
}

// voices is a VAD to which everything is speech that is loud enough and no single tone: a tone's peak is 3 dB above its level.
type voices struct{ levelVAD }

func (v voices) Speech(frame audio.PCM) (float32, error) {
	peak := slices.MaxFunc(frame, func(a, b int16) int { return cmp.Compare(max(a, -a), max(b, -b)) })
	if (audio.PCM{peak}).Level() < frame.Level()+5 {
		return 0, nil
	}
	return v.levelVAD.Speech(frame)
}

// says says sound in real time, until all is said or the call has ended, and returns when that was.
func (c *callee) says(parts ...audio.PCM) time.Time {
	for frame := range slices.Chunk(slices.Concat(parts...), audio.Samples(frameLength, rate)) {
		time.Sleep(frameLength)
		select {
		case c.in <- transport.Sound{PCM: frame, Rate: rate, At: time.Now()}:
		case <-c.over:
			return time.Now()
		}
	}
	return time.Now()
}

// The sounds of who answers.
func talk(seconds float64) audio.PCM {
	return audiotest.Noise(rand.New(rand.NewPCG(1, 1)), int(seconds*rate), -25)
}

func hush(seconds float64) audio.PCM {
	return audiotest.Noise(rand.New(rand.NewPCG(2, 2)), int(seconds*rate), -65)
}

func beep(seconds float64) audio.PCM { return audiotest.Tone(int(seconds*rate), rate, 850, -18) }

// said returns what was said to its end, and when the first and the last sound of it came.
func (c *callee) said(text string) (first, last time.Time, ok bool) {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	sound := map[string]time.Duration{}
	began := map[string]time.Time{}
	for _, s := range c.out {
		switch out := s.Outbound.(type) {
		case transport.Voice:
			if sound[out.Response.ID] == 0 {
				began[out.Response.ID] = s.at
			}
			sound[out.Response.ID] += out.PCM.Duration(rate)
		case transport.ResponseDone:
			whole := time.Duration(len(text)) * letter
			if out.Status == transport.Completed && strings.TrimSpace(out.Text) == text && sound[out.Response.ID] > whole-3*letter {
				return began[out.Response.ID], began[out.Response.ID].Add(sound[out.Response.ID]), true
			}
		}
	}
	return first, last, false
}

// A person is greeted once the first words are said, within the budget; they are no turn, and what is said next is one.
func TestPersonAnswers(t *testing.T) {
	var end time.Time
	c, why := dial(t, nil, func(c *callee) {
		end = c.says(hush(0.5), talk(0.5))
		c.in <- transport.Key{Digit: '5'} // while it is being picked up
		c.says(hush(4))
		c.says(talk(1), hush(6))
	})
	first, _, ok := c.said(hello)
	if gap := first.Sub(end); !ok || gap < 700*ms || gap > 890*ms {
		t.Errorf("the greeting came after %v, whole: %v", gap, ok)
	}
	if !errors.Is(why, transport.ErrHungUp) || !slices.Equal(c.told, []answering.Event{answering.Human}) {
		t.Errorf("%v: %v", c.told, why)
	}
	if n := len(told[transport.Committed](c.line)); n != 1 {
		t.Errorf("%d turns, want what was said after the greeting", n)
	}
}

// Where nobody speaks the greeting is said all the same, after what has to be said before it, and then who says nothing is asked.
func TestNobodyAnswers(t *testing.T) {
	began := time.Time{}
	c, _ := dial(t, func(s *Session) { s.Notice = "This call is recorded." }, func(c *callee) {
		began = time.Now()
		c.says(hush(13))
	})
	notice, end, ok := c.said("This call is recorded.")
	if wait := notice.Sub(began); !ok || wait < 4*time.Second || wait > 4300*ms {
		t.Errorf("the notice came after %v, whole: %v", wait, ok)
	}
	if first, _, ok := c.said(hello); !ok || first.Before(end) {
		t.Errorf("the greeting came %v after the notice, whole: %v", first.Sub(end), ok)
	}
	if _, _, ok := c.said("Are you there?"); !ok || !slices.Equal(c.told, []answering.Event{answering.Nobody}) {
		t.Errorf("%v; asked: %v", c.told, ok)
	}
}

// A machine's greeting is nobody's turn, and is not answered. Once it records it is told the message, whole, within 300 ms; then the call ends. It
// ends at once where there is nobody to tell it to.
func TestMachineAnswers(t *testing.T) {
	type machine struct {
		name    string
		change  func(*Session)
		says    []audio.PCM // Until it records, or the call ends;
		then    []audio.PCM // and after that.
		nothing bool        // It is told nothing.
		before  answering.Event
	}
	by := func(who transport.Answerer) func(*Session) { return func(s *Session) { s.Answering.By = who } }
	all := []machine{
		{name: "greeting and beep", says: []audio.PCM{hush(0.8), talk(3), hush(0.5), talk(2), hush(1), beep(0.4)}},
		{name: "no beep", says: []audio.PCM{talk(4), hush(1), talk(1), hush(2.5)}},
		{name: "talks on", says: []audio.PCM{talk(3), hush(0.5), beep(0.4)}, then: []audio.PCM{talk(2), hush(1)}},
		{name: "beeps twice", says: []audio.PCM{talk(3), hush(0.5), beep(0.2), hush(0.5), beep(0.3)}},
		{name: "beeps later", says: []audio.PCM{talk(3), hush(0.5), beep(0.2)}, then: []audio.PCM{hush(3.2), beep(0.3)}},
		{name: "short greeting", says: []audio.PCM{talk(0.5), hush(1.2), beep(0.4)}, before: answering.Human},
		{name: "beep alone, late", says: []audio.PCM{hush(5), beep(0.4)}, before: answering.Nobody},
		{name: "known to record", change: by(transport.Recorder), says: []audio.PCM{hush(0.02)}},
		{name: "known", change: by(transport.Machine), says: []audio.PCM{talk(0.5), hush(1.5), talk(0.5), hush(0.5), beep(0.4)}},
		{name: "known, at its end", change: by(transport.Machine), says: []audio.PCM{hush(2.5)}},
		{name: "fax", change: by(transport.Fax), nothing: true},
		{name: "no message", change: func(s *Session) { s.Answering.Message = "" }, says: []audio.PCM{talk(2.2)}, nothing: true},
		{name: "no end", change: func(s *Session) { s.Answering.Patience = 10 * time.Second }, says: []audio.PCM{talk(12.2)}, then: []audio.PCM{talk(1)}, nothing: true},
	}
	for name, p := range prompts(t) {
		all = append(all, machine{name: name, says: []audio.PCM{hush(0.5), p, hush(0.7), beep(0.5)}})
	}
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			var records time.Time
			c, why := dial(t, m.change, func(c *callee) {
				records = c.says(m.says...)
				c.says(append(m.then, hush(30))...)
			})
			want := []answering.Event{answering.Machine}
			if m.before != answering.None {
				want = []answering.Event{m.before, answering.Machine}
			}
			if !errors.Is(why, transport.ErrMachine) || !slices.Equal(c.told, want) {
				t.Errorf("%v: %v", c.told, why)
			}
			if n := len(told[transport.Committed](c.line)); n > 0 {
				t.Errorf("%d turns", n)
			}
			if m.nothing {
				if n := len(told[transport.Voice](c.line)); n > 0 || c.end.Sub(records).Abs() > 200*ms {
					t.Errorf("%d frames were said, and the call ended after %v", n, c.end.Sub(records))
				}
				return
			}
			first, last, ok := c.said(voicemail)
			if gap := first.Sub(records); !ok || gap < -40*ms || gap > 300*ms {
				t.Errorf("the message began after %v, whole: %v", gap, ok)
			}
			if c.end.Before(last) || c.end.After(last.Add(100*ms)) {
				t.Errorf("the call ended %v after the message", c.end.Sub(last))
			}
			if turn := c.turns[len(c.turns)-1]; turn.Origin != trace.Message || turn.Status != "completed" {
				t.Errorf("the last turn is of origin %q, %s", turn.Origin, turn.Status)
			}
		})
	}
}

// prompts returns what machines say: prompts of switchboards that ask for a message where there is a folder of speech, and otherwise some sentences.
func prompts(t *testing.T) map[string]audio.PCM {
	all := map[string]audio.PCM{}
	for _, c := range audiotest.Corpus(t) {
		switch {
		case strings.HasPrefix(c.Name, "ast_en_vm-") && !strings.Contains(c.Kind, "short"):
			all[c.Name] = c.At(t, rate)
		case c.Kind == "" && strings.HasPrefix(c.Name, "lj_"):
			all["sentences"] = append(all["sentences"], c.At(t, rate)...)
		}
	}
	return all
}

// Who is known to be a person is greeted at once.
func TestKnownPersonAnswers(t *testing.T) {
	var began time.Time
	c, why := dial(t, func(s *Session) { s.Answering.By = transport.Human }, func(c *callee) {
		began = time.Now()
		c.says(hush(4))
	})
	if first, _, ok := c.said(hello); !ok || first.Sub(began) > 300*ms || !errors.Is(why, transport.ErrHungUp) || !slices.Equal(c.told, []answering.Event{answering.Human}) {
		t.Errorf("greeted after %v, whole: %v; %v: %v", first.Sub(began), ok, c.told, why)
	}
}
