package pipeline

import (
	"sync"
	"time"

	"riposte/audio"
)

// lexicon holds all the words that sound in a call, on either side. The sound of a word names the word: each of its samples
// has the same size, which no other word's samples have. So the fake recogniser hears just those words whose sound it was
// given, wherever that was cut, and of what the caller's side played it is known which words were played. It is safe for use
// by several goroutines.
type lexicon struct {
	mu     sync.Mutex
	spoken []spoken // Word n of them has samples of the size wordless + 1 + n.
}

// spoken is a word that was said once: the same word said again is another one.
type spoken struct {
	text    string
	samples int
}

// wordless is the size of samples that are voice but no word, such as a cough.
const wordless = 2000

// word returns the sound of a word.
func (x *lexicon) word(text string, lasts time.Duration) audio.PCM {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := audio.Samples(lasts, rate)
	x.spoken = append(x.spoken, spoken{text, n})
	return tone(n, wordless+len(x.spoken))
}

// tone returns n samples of the given size, as a square wave of 1 kHz.
func tone(n, size int) audio.PCM {
	pcm := make(audio.PCM, n)
	for i := range pcm {
		pcm[i] = int16(size)
		if i/8%2 == 1 {
			pcm[i] = -pcm[i]
		}
	}
	return pcm
}

// tally counts how much of each word has been heard.
type tally struct {
	*lexicon
	order   []int // Words, by when they were first heard.
	samples map[int]int
}

func (x *lexicon) tally() *tally { return &tally{lexicon: x, samples: map[int]int{}} }

// add hears more.
func (t *tally) add(pcm audio.PCM) {
	for _, s := range pcm {
		n := max(int(s), -int(s)) - wordless - 1
		if n < 0 {
			continue
		}
		if t.samples[n] == 0 {
			t.order = append(t.order, n)
		}
		t.samples[n]++
	}
}

// words returns those words of which at least the given share was heard.
func (t *tally) words(share float64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, n := range t.order {
		if w := t.spoken[n]; float64(t.samples[n]) >= share*float64(w.samples) {
			out = append(out, w.text)
		}
	}
	return out
}
