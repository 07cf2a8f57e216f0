package pipeline

import (
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// challenge is the caller's voice while an answer is being given. The answer is held at its first sound. Words, or speech
// that goes on, take the word: then the answer ends. A cough, a "mm-hm" or the answer's own echo give it back: then the
// answer goes on where it was held, and nothing was said.
type challenge struct {
	voiced int // Samples of voice so far.
}

// verdict is what a challenge comes to.
type verdict int

const (
	undecided verdict = iota
	taken             // The caller has the word.
	given             // The answer goes on.
)

// deciphering is how much longer than Limits.Commit speech has to go on in which the recogniser finds no words, and humming how
// long a "mm-hm" may be: after that it is taken for words that were not understood. Being held, the answer is silent meanwhile.
const (
	deciphering = 900 * time.Millisecond
	humming     = 1200 * time.Millisecond
)

// shortWord is the least that a word takes. A recogniser that finds more words than that in a sound has invented them.
const shortWord = 80 * time.Millisecond

// judge weighs a challenge by what is known of it: the words so far, whether they are all that was said, and how long the
// voice has sounded in all. answer is what the caller may just have heard of the answer: words from there are its echo, and
// to a question of it even a "yes" is an answer.
func (c challenge) judge(words []string, final bool, answer string, commit time.Duration) verdict {
	voiced := audio.Duration(c.voiced, audio.SpeechRate)
	switch {
	case isEcho(words, answer):
		words = nil
	case strings.HasSuffix(strings.TrimSpace(answer), "?") && len(words) > 0:
		return taken
	}
	switch said := !isBackchannel(words); {
	case said && (final || voiced >= commit && len(words) == 1 || len(words) > 1 && voiced >= time.Duration(len(words))*shortWord):
		return taken
	case final:
		return given
	case len(words) == 0 && voiced >= commit+deciphering, voiced >= humming:
		return taken
	}
	return undecided
}

// backchannels are what listeners say to show that they listen. Who says nothing else does not want the word.
var backchannels = []string{
	"mm", "mmm", "mhm", "mmhm", "mmhmm", "hm", "hmm", "uh", "huh", "uhhuh", "um", "ah", "aha", "oh", "ooh", "wow", "yeah", "yep",
	"yup", "yes", "ok", "okay", "right", "sure", "really", "nice", "good", "great", "cool", "i", "see", "got", "it", "alright", "all",
}

// isBackchannel reports whether there is nothing in the words but what listeners say.
func isBackchannel(words []string) bool {
	return len(words) <= 4 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(backchannels, w) })
}

// echoed is how many words in a row are no accident.
const echoed = 3

// isEcho reports whether all of the words, and enough of them, come in a row in the answer's text. The first and the last of
// them may have been heard in part only.
func isEcho(said []string, answer string) bool {
	if len(said) < echoed {
		return false
	}
	text := words(answer)
	inner := said[1:]
	if len(inner) > echoed-1 {
		inner = inner[:len(inner)-1]
	}
	for i := range len(text) - len(inner) + 1 {
		if slices.Equal(text[i:i+len(inner)], inner) {
			return true
		}
	}
	return false
}

// heed goes along with a challenge, frame by frame, from the first voiced one on.
func (l *listener) heed(now time.Time) error {
	switch c := l.challenge; {
	case c == nil:
		if !l.settings.Detection.Interrupt || !l.ear.ends.Voiced() || !l.speaking() || l.item != "" {
			return nil
		}
		l.challenge = &challenge{}
		if l.floor.hold(now) {
			if l.settings.Holds {
				l.monitor.hold(now)
			}
			return l.Call.Send(l.ctx, transport.Held{})
		}
		return nil
	case !l.ear.ends.Talking() && !l.ear.ends.Voiced(): // a click
		return l.giveBack()
	case l.ear.ends.Voiced():
		c.voiced += audio.VADFrame
	}
	if l.item == "" {
		return nil // it is too short to be speech so far
	}
	switch l.weigh() {
	case taken:
		return l.takeWord(now)
	case given:
		return l.giveBack()
	}
	return nil
}

// weigh says what the challenge comes to by now.
func (l *listener) weigh() verdict {
	if !l.speaking() { // the answer has come to its end by itself
		return taken
	}
	said, final := l.soFar()
	return l.challenge.judge(said, final, l.aloud.recent(), l.limits.Commit)
}

// speaking reports whether an answer is being spoken, or is about to be.
func (l *listener) speaking() bool {
	return slices.ContainsFunc(l.live.answering(), func(t *turn) bool { return !t.settings.Written })
}

// soFar returns the words of what is being said as far as they are known, and whether they are all.
func (l *listener) soFar() (said []string, final bool) {
	if l.ending != nil && l.ending.pass.over() && l.ending.pass.err == nil {
		return words(l.ending.pass.transcript.Text), true
	}
	h, _ := l.hearing.known()
	return words(h.Text), false
}

// takeWord ends the answer: the caller has the word.
func (l *listener) takeWord(now time.Time) error {
	l.challenge = nil
	l.interrupt(now, l.limits)
	l.floor.release(time.Now()) // for the next answer; this one is dropped as it comes
	if l.goesOn() {
		l.pauses.Add(l.ear.at(l.ear.ends.Start() - l.lastEnd))
		maybe := l.ending != nil
		l.again()
		if maybe { // it is silent already, and nothing else would begin one
			l.ending = l.end()
		}
	}
	return l.started()
}

// giveBack lets the answer go on, and forgets what was said.
func (l *listener) giveBack() error {
	l.challenge = nil
	l.drop()
	l.ear.ends.Reset()
	return l.free()
}

// free lets an answer go on that is held.
func (l *listener) free() error {
	if _, _, held := l.floor.held(); !held {
		return nil
	}
	err := l.Call.Send(l.ctx, transport.Released{})
	l.floor.release(time.Now()) // after the caller's side knows, and so before any sound
	return err
}
