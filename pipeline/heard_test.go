package pipeline

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/transport"
	"riposte/tts"
)

// uneven is a voice that draws some words out, so that letters say nothing about time, and knows where its words are.
func uneven(_ context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		samples, end := 0, 0
		var sound []audio.PCM
		for _, w := range strings.SplitAfter(text, " ") {
			pcm := make(audio.PCM, audio.Samples(drawn(w), rate))
			for i := range pcm {
				pcm[i] = 5000
			}
			samples += len(pcm)
			sound = append(sound, pcm)
			if said := strings.TrimSpace(w); said != "" && o.Words != nil {
				o.Words(tts.Word{End: end + len(strings.TrimRight(w, " ")), Heard: samples})
			}
			end += len(w)
		}
		for _, pcm := range sound {
			if !yield(pcm, nil) {
				return
			}
		}
	}
}

// drawn is how long the uneven voice says a word: as long as its first letter is late in the alphabet.
func drawn(word string) time.Duration {
	if strings.TrimSpace(word) == "" {
		return 0
	}
	return 60*ms + time.Duration(word[0]|0x20-'a')*30*ms
}

// Whenever the caller interrupts, the conversation holds the words that had sounded to their end, and no other.
func TestHeardToTheWord(t *testing.T) {
	said := "Any zebra can yawn, but very few apples ever zoom. A calm zoo was all you could ask for, with yaks and ants. Buy a zither and wait."
	r := rand.New(rand.NewPCG(7, 7))
	for n := range 100 {
		after := 1000*ms + time.Duration(r.IntN(9000))*ms
		holds := n%2 == 0
		e := quick()
		e.says, e.hears = said, []string{"tell me", "no wait stop it"}
		session(t, e, func(s *Session) {
			s.TTS = tts.SynthesizerFunc{Hz: rate, Fn: uneven}
			s.Settings.Holds = holds
			s.STT = e
		}, func(l *line) {
			l.speak(800*ms, after)
			l.speak(1200*ms, 3000*ms)
			r := told[transport.TurnReport](l)
			if len(r) == 0 || r[0].Answer == "" && r[0].Continued {
				return // nothing was heard yet, or everything
			}
			want := l.words(said, r[0].Response, holds)
			if got := strings.Fields(r[0].Answer); !slices.Equal(got, want) {
				t.Errorf("interrupted after %v (holding: %v): %q is said to be heard, the caller heard %q", after, holds, got, want)
			}
		})
	}
}

// words returns what of a text, spoken by the uneven voice, a caller has heard to the end who plays what comes at once,
// empties the buffer when told that speech has started and, if it holds, pauses when told to.
func (l *line) words(text, response string, holds bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var heard, queued time.Duration
	var last time.Time
	held := false
	play := func(now time.Time) {
		if d := min(now.Sub(last), queued); !held && d > 0 {
			heard, queued = heard+d, queued-d
		}
		last = now
	}
	begun := false
	for _, s := range l.out {
		switch o := s.Outbound.(type) {
		case transport.Voice:
			if o.Response.ID != response {
				continue
			}
			if !begun {
				begun, last = true, s.at
			}
			play(s.at)
			queued += o.PCM.Duration(rate)
		case transport.Held:
			play(s.at)
			held = holds
		case transport.Released:
			play(s.at)
			held = false
		case transport.SpeechStarted:
			if begun {
				play(s.at)
				queued = 0
			}
		}
	}
	if queued > 0 { // it was not interrupted: all of it is played
		heard += queued
	}
	var words []string
	var at time.Duration
	var piece strings.Builder
	for _, w := range strings.SplitAfter(text, " ") {
		at += drawn(w)
		if at > heard+5*ms { // as much may be rounded
			break
		}
		words = append(words, strings.TrimSpace(w))
		piece.WriteString(w)
		if strings.ContainsAny(w, ".?!") { // the pause between sentences that are spoken one by one
			at += sentencePause
		}
	}
	return words
}
