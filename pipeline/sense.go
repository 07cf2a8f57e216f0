package pipeline

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"riposte/audio"
)

// This file is how the pipeline notices that an engine brings what makes no sense. It is no judge of words: it only knows what nobody
// says and no voice sounds like.

var (
	errGarbage = errors.New("the recogniser's words are no text")              // Not UTF-8, or more of them than anybody speaks.
	errCircle  = errors.New("the model says the same again and again")         // And nothing else.
	errSilence = errors.New("the voice made nothing but silence")              // It spoke, and could not be heard.
	errNoise   = errors.New("the voice made noise that is louder than speech") // It would hurt.
)

// sensible reports whether a recogniser's text may be what was said in some sound: not where it is no text, or of more words than
// anybody speaks in that time, which is what a recogniser brings that is caught in a loop. The fastest talkers say 7 words a second.
// The sound's length may be 0 for unknown.
func sensible(text string, speech time.Duration) bool {
	const few, fastest = 4, 8 // words, and words a second
	if !utf8.ValidString(text) {
		return false
	}
	return speech == 0 || float64(len(words(text))) <= few+fastest*speech.Seconds()
}

// circles notices that a model goes round in a circle.
type circles struct {
	text string // The end of what it has said,
	more bool   // and whether there was something before that.
}

const (
	// widest is how many words a circle has at most, and rounds how often it is gone round before it counts, so that there are
	// at least circled words: who says something three times may mean it.
	widest, rounds, circled = 8, 3, 9
	// circleText is how much text, in bytes, is looked at: as many words as the widest circle needs.
	circleText = 400
)

// push takes in what the model says next. It reports whether what it said last is a circle, and whether it has said nothing else.
func (c *circles) push(text string) (circle, whole bool) {
	c.text += text
	if n := len(c.text) - circleText; n > 0 {
		c.text, c.more = c.text[n:], true
	}
	// A word that may go on does not count yet.
	said := words(c.text[:strings.LastIndexAny(c.text, " \n")+1])
	for period := 1; period <= widest; period++ {
		same := 0 // so many words at the end are those that came a round before
		for i := len(said) - 1; i >= period && said[i] == said[i-period]; i-- {
			same++
		}
		if n := same + period; n >= max(rounds*period, circled) {
			return true, !c.more && n == len(said)
		}
	}
	return false, false
}

// sanity watches the sound of one clause.
type sanity struct {
	rate  int
	heard bool          // Something was audible.
	quiet time.Duration // How much there was before that.
}

const (
	// loudest is the level, in dBFS, that no voice has for a whole chunk. Full-scale noise has -4.8, shouting that is held down to its
	// peaks some -10.
	loudest = -6
	// longestQuiet is how much silence a voice may begin a clause with. They begin with up to a fifth of a second.
	longestQuiet = time.Second
)

// check takes in the next sound. The error says why it is no speech.
func (s *sanity) check(pcm audio.PCM) error {
	for part := range slices.Chunk(pcm, max(1, s.rate/10)) {
		if part.Duration(s.rate) >= frameLength && part.Level() > loudest {
			return errNoise
		}
	}
	if s.heard {
		return nil
	}
	if _, s.heard = audio.FirstAudible(pcm, s.rate); s.heard {
		return nil
	}
	if s.quiet += pcm.Duration(s.rate); s.quiet > longestQuiet {
		return errSilence
	}
	return nil
}
