package phone

import (
	"time"

	"riposte/audio"
)

const (
	// window is the length in which sound is judged to be audible or not, as audio.Audible does.
	window = 10 * time.Millisecond
	// apart is how long nothing is to be heard between one answer and the next. No wire says where an answer ends.
	apart = time.Second
)

// spoken is an answer, by the samples of all that came: audible sound in which nothing is silent for long.
type spoken struct {
	from, to int  // The first audible sample, and the one behind the last.
	cut      bool // Sound was thrown away behind it, or within.
}

// ears tell what of the sound that comes is an answer. They are a step function.
type ears struct {
	rate    int
	answers []spoken
	part    audio.PCM // Of a window that is not full.
	ends    int64     // Where, as a position of the player, the last audible window is over.
}

// hear takes sound that begins with a sample of all that came, and is going to be played from a position on.
func (e *ears) hear(p audio.PCM, sample int, pos int64) {
	sample, pos = sample-len(e.part), pos-int64(len(e.part))
	p = append(e.part, p...)
	size := audio.Samples(window, e.rate)
	for ; len(p) >= size; p, sample, pos = p[size:], sample+size, pos+int64(size) {
		if _, ok := audio.FirstAudible(p[:size], e.rate); !ok {
			continue
		}
		if n := len(e.answers); n > 0 && !e.answers[n-1].cut && pos-e.ends < int64(audio.Samples(apart, e.rate)) {
			e.answers[n-1].to = sample + size
		} else {
			e.answers = append(e.answers, spoken{from: sample, to: sample + size})
		}
		e.ends = pos + int64(size)
	}
	e.part = append(audio.PCM(nil), p...)
}

// cut notes that all behind a sample was thrown away. It is of an answer where anything audible was.
func (e *ears) cut(sample int) {
	e.part = nil
	if n := len(e.answers); n > 0 && e.answers[n-1].to > sample {
		e.answers[n-1].cut = true
	}
}
