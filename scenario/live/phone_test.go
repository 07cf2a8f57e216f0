package live

import (
	"testing"
	"time"

	"riposte/audio"
)

const tenth = 100 * time.Millisecond

// sound returns a tenth of a second of the given size.
func sound(size int16) audio.PCM {
	pcm := make(audio.PCM, audio.Samples(tenth, Rate))
	for i := range pcm {
		pcm[i] = size
	}
	return pcm
}

// A loudspeaker plays one piece behind the other, keeps what it has in hand while it pauses, and throws it away when it is told to.
func TestPhone(t *testing.T) {
	now := time.Now()
	var p phone
	for i := range 3 {
		if from := p.take(chunk{answer: "a", pcm: sound(int16(i + 1))}, now); !from.Equal(now.Add(time.Duration(i) * tenth)) {
			t.Errorf("piece %d is played after %v", i, from.Sub(now))
		}
	}
	if p.most != 2*tenth {
		t.Errorf("at most %v in hand", p.most)
	}
	p.pause(now.Add(150 * time.Millisecond))
	if from := p.take(chunk{answer: "a", pcm: sound(4)}, now.Add(2*tenth)); !from.IsZero() {
		t.Errorf("a piece is played at %v while it pauses", from)
	}
	if pcm, all := p.played("a", now.Add(10*tenth)); len(pcm) != audio.Samples(150*time.Millisecond, Rate) || all {
		t.Errorf("%v was played while it paused", pcm.Duration(Rate))
	}
	p.resume(now.Add(10 * tenth))
	pcm, all := p.played("a", now.Add(20*tenth))
	if !all || len(pcm) != 4*len(sound(0)) {
		t.Fatalf("%v was played, all %v", pcm.Duration(Rate), all)
	}
	for i, s := range pcm {
		if want := int16(1 + i/len(sound(0))); s != want {
			t.Fatalf("sample %d is %d, want %d: some were lost, or came twice", i, s, want)
		}
	}
	p.take(chunk{answer: "b", pcm: sound(5)}, now.Add(30*tenth))
	p.empty(now.Add(30*tenth + 20*time.Millisecond))
	if pcm, all := p.played("b", now.Add(40*tenth)); len(pcm) != audio.Samples(20*time.Millisecond, Rate) || all {
		t.Errorf("%v was played of what was thrown away", pcm.Duration(Rate))
	}
	heard := p.between(now.Add(50*time.Millisecond), now.Add(250*time.Millisecond))
	if heard[0] != 1 || heard[len(sound(0))-1] != 2 || heard[len(heard)-1] != 0 {
		t.Errorf("between were played %d, %d and %d", heard[0], heard[len(sound(0))-1], heard[len(heard)-1])
	}
}

// What is said is captured from the next frame on, behind what is still being said, and not before its time.
func TestMicrophone(t *testing.T) {
	start := time.Now()
	m := microphone{start: start}
	m.next()
	from, to := m.say(sound(1), start)
	if from.Sub(start) != frame || to.Sub(start) != 6*frame {
		t.Errorf("said from %v to %v", from.Sub(start), to.Sub(start))
	}
	from, to = m.say(sound(2), start.Add(10*frame))
	if from.Sub(start) != 10*frame || to.Sub(start) != 15*frame {
		t.Errorf("said from %v to %v", from.Sub(start), to.Sub(start))
	}
	var got []int16
	for k := 1; k < 16; k++ {
		p, due := m.next()
		if want := start.Add(time.Duration(k+1) * frame); !due.Equal(want) {
			t.Errorf("frame %d is due after %v", k, due.Sub(start))
		}
		got = append(got, p[0])
	}
	for i, want := range []int16{1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2, 2, 0} {
		if got[i] != want {
			t.Fatalf("the frames hold %d", got)
		}
	}
}
