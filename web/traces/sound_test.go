package traces

import (
	"encoding/binary"
	"math"
	"net/http"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

// recorded gives a turn a sound: the caller talks for two seconds and is then silent, and the answer has 100 ms of silence before it.
func recorded(t trace.Turn) trace.Turn {
	const rate = 16000
	tone := func(n, silence int, hertz float64) []int16 {
		out := make([]int16, n)
		for i := silence; i < n; i++ {
			at := float64(i) / rate // syllables, some louder than others
			swell := math.Pow(math.Sin(at*math.Pi*4.3), 2)*(0.6+0.4*math.Sin(at*5)) + 0.05
			out[i] = int16(9000 * swell * math.Sin(2*math.Pi*hertz*float64(i)/rate))
		}
		return out
	}
	answer := tone(rate*2, rate/10, 320)
	caller := append(tone(2*rate, 0, 170), make([]int16, rate)...)
	t.Sound = &trace.Sound{Rate: rate, Caller: caller, Answer: answer, Offset: 2*time.Second + t.Report.Marks[budget.FirstAudible] - 100*time.Millisecond}
	return t
}

func TestSound(t *testing.T) {
	turn := recorded(sample.New(1, noon).Turns(1)[0])
	p := shown(t, kept(t, []trace.Turn{turn}))
	w := get(p, "/traces/api/sound?id="+turn.ID)
	b := w.Body.Bytes()
	if w.Code != 200 || w.Header().Get("Content-Type") != "audio/wav" || string(b[:4]) != "RIFF" || int(binary.LittleEndian.Uint32(b[40:])) != len(b)-44 {
		t.Fatalf("%d %v, %d bytes", w.Code, w.Header(), len(b))
	}
	late := offset(turn.Sound)
	for i := range frames(turn.Sound) {
		var left, right int16
		if i < len(turn.Sound.Caller) {
			left = turn.Sound.Caller[i]
		}
		if i >= late {
			right = turn.Sound.Answer[i-late]
		}
		at := b[44+4*i:]
		if l, r := int16(binary.LittleEndian.Uint16(at)), int16(binary.LittleEndian.Uint16(at[2:])); l != left || r != right {
			t.Fatalf("sample %d is %d and %d, want %d and %d", i, l, r, left, right)
		}
	}
	part := get(p, "/traces/api/sound?id="+turn.ID, "Range", "bytes=44-47")
	if part.Code != http.StatusPartialContent || part.Body.Len() != 4 {
		t.Errorf("a part: %d, %d bytes", part.Code, part.Body.Len())
	}
}

// The recording lies where the marks say: the caller's last voiced sample at 0, the answer's first audible one at its mark.
func TestSoundLiesAtTheMarks(t *testing.T) {
	turn := recorded(sample.New(1, noon).Turns(1)[0])
	near := func(name string, got time.Duration) {
		t.Helper()
		if d := got + 2*time.Second; d.Abs() > 15*time.Millisecond {
			t.Errorf("%s: it begins at %v, want -2s", name, got)
		}
	}
	near("by the answer", begins(turn.Sound, turn.Report))
	turn.Sound.Answer = nil
	near("by the caller", begins(turn.Sound, turn.Report))
	turn.Sound.Begins = -2*time.Second + 9*time.Millisecond
	if got := begins(turn.Sound, turn.Report); got != turn.Sound.Begins {
		t.Errorf("it begins at %v where the turn says %v", got, turn.Sound.Begins)
	}
	object := turnObjectOf(turn, turn.Sound)
	if object.Sound.Length != 3000 || object.Sound.Rate != 16000 || !object.Recorded {
		t.Errorf("the sound is %+v", object.Sound)
	}
}
