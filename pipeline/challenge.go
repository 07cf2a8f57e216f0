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
//
// On a line that has been found to echo (echoes.go), sound alone says nothing. There the answer is held when words are heard that
// are not its own.
type challenge struct {
	sounded int   // Samples of voice so far,
	beyond  int   // and of those that can be no echo.
	loose   bool  // The line echoes, and the answer goes on until there are words.
	own     int64 // On the call's tape: up to here nothing but the answer's own words were heard.

	said  []string  // What was compared with the answer last,
	heard overheard // and what came of it.
}

// verdict is what a challenge comes to.
type verdict int

const (
	undecided verdict = iota
	doubtful          // The answer is to be held, if it is not.
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

// claim is what is known of a challenge.
type claim struct {
	words    []string      // That were heard, and on a line that may echo are not the answer's own,
	final    bool          // and whether they are all.
	sounded  time.Duration // How long the voice has sounded in all.
	question bool          // The caller may just have heard a question: then even a "yes" is an answer.

	// These say what there is of an echo.
	echoing bool          // There may be one at all.
	own     int           // So many words came before those that are the answer's own.
	stable  int           // So many of the words are not expected to change any more.
	beyond  time.Duration // How long the voice has sounded where it can be no echo.
	echoed  bool          // It has ended, and perhaps begun, as an echo of what was played would.
}

// said reports whether somebody wants to say something.
func (c claim) said() bool { return !isBackchannel(c.words) || c.question && len(c.words) > 0 }

// judge weighs a challenge by what is known of it.
func (c claim) judge(commit time.Duration) verdict {
	if c.echoing {
		return c.judgeEcho(commit)
	}
	n := len(c.words)
	switch {
	case c.question && n > 0:
		return taken
	case c.said() && (c.final || c.sounded >= commit && n == 1 || n > 1 && c.sounded >= time.Duration(n)*shortWord):
		return taken
	case c.final:
		return given
	case n == 0 && c.sounded >= commit+deciphering, c.sounded >= humming:
		return taken
	}
	return undecided
}

// judgeEcho weighs a challenge that may be an echo, which recognisers mishear most of all where it has just begun. So words are
// believed when there is a voice as well where no echo can be, or when they are many.
func (c claim) judgeEcho(commit time.Duration) verdict {
	n := len(c.words)
	many := n >= sureWords || n >= sureWords-1 && c.own >= sureEcho
	switch {
	case n == 0 && c.own > 0 && (c.final || c.own >= sureEcho):
		return given
	case c.said() && (c.beyond >= commit || c.beyond >= beyondEcho && (c.final || n > 1)):
		return taken
	case c.final && (!c.said() || !urgent(c.words) && (c.echoed || !many)):
		return given
	case c.final:
		return taken
	case c.said() && c.own >= sureEcho && n >= sureWords && c.stable > 1:
		return taken
	case c.said() && (urgent(c.words) || c.stable > 0):
		return doubtful
	case n == 0 && c.beyond >= commit+deciphering, c.beyond >= humming:
		return taken
	}
	return undecided
}

const (
	sureEcho   = 2                      // So many words of the answer, at their time, are its echo, whatever follows,
	sureWords  = 3                      // and so many that are not are the caller's,
	beyondEcho = 150 * time.Millisecond // or so much voice where no echo can be.
)

// urgent reports whether a word is among them with which people interrupt.
func urgent(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(interruptions, w) })
}

var interruptions = strings.Fields("stop wait no hey hello hold sorry excuse please cancel help")

// backchannels are what listeners say to show that they listen. Who says nothing else does not want the word.
var backchannels = []string{
	"mm", "mmm", "mhm", "mmhm", "mmhmm", "hm", "hmm", "uh", "huh", "uhhuh", "um", "ah", "aha", "oh", "ooh", "wow", "yeah", "yep",
	"yup", "yes", "ok", "okay", "right", "sure", "really", "nice", "good", "great", "cool", "i", "see", "got", "it", "alright", "all",
}

// isBackchannel reports whether there is nothing in the words but what listeners say.
func isBackchannel(words []string) bool {
	return len(words) <= 4 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(backchannels, w) })
}

// heed goes along with a challenge, frame by frame, from the first voiced one on.
func (l *listener) heed(now time.Time) error {
	voiced, stirring := l.ear.ends.Voiced(), l.ear.ends.Stirring()
	l.listenForEcho(voiced)
	switch c := l.challenge; {
	case c == nil && l.echoes.known:
		if l.challengeable() && voiced && (l.speaking() || l.mayEcho()) {
			l.challenge = &challenge{loose: true}
		}
		return nil
	case c == nil:
		if !l.challengeable() || !stirring || !l.speaking() {
			return nil
		}
		l.challenge = &challenge{}
		return l.hold(now)
	case !l.ear.ends.Talking() && !stirring: // a click
		return l.giveBack()
	case voiced:
		c.sounded += audio.VADFrame
		if !l.mayEcho() {
			c.beyond += audio.VADFrame
		}
	}
	if l.item == "" {
		return nil // it is too short to be speech so far
	}
	switch l.weigh() {
	case doubtful:
		return l.hold(now)
	case taken:
		return l.takeWord(now)
	case given:
		return l.giveBack()
	}
	return nil
}

// challengeable reports whether what is heard now may be the beginning of a challenge.
func (l *listener) challengeable() bool { return l.settings.Detection.Interrupt && l.item == "" }

// hold holds the answer that is challenged, if it is not held yet.
func (l *listener) hold(now time.Time) error {
	if !l.floor.hold(now) {
		return nil
	}
	if l.settings.Holds {
		l.monitor.hold(now)
	}
	return l.Call.Send(l.ctx, transport.Held{})
}

// weigh says what the challenge comes to by now.
func (l *listener) weigh() verdict {
	c := l.challenge
	speaking := l.speaking()
	if !speaking && !c.loose {
		return taken // the answer has come to its end by itself
	}
	said, stable, final, speech := l.soFar()
	if !slices.Equal(said, c.said) {
		c.said, c.heard = said, l.overhear(said)
	}
	heard := c.heard
	if !c.loose && heard.own == 1 && (len(heard.fresh) > 0 || final && !l.endsAsEcho(false)) {
		heard = overheard{fresh: said} // one word of the answer's anybody may say
	}
	switch sure := c.loose || heard.own >= sureEcho; {
	case !sure:
		c.own = 0
	case heard.own > 0 && len(heard.fresh) == 0:
		c.own = l.ear.from + int64(audio.Samples(speech, audio.SpeechRate))
	}
	k := claim{
		words: heard.fresh, final: final, own: heard.own, stable: max(0, len(heard.fresh)+stable-len(said)),
		echoing: c.loose || heard.own > 0, echoed: l.endsAsEcho(c.loose),
		sounded: audio.Duration(c.sounded, audio.SpeechRate), beyond: audio.Duration(c.beyond, audio.SpeechRate),
		question: strings.HasSuffix(strings.TrimSpace(l.aloud.recent()), "?"),
	}
	v := k.judge(l.limits.Commit)
	switch {
	case c.loose && v == given && !final && l.ear.at(c.own-l.ear.from) < longestEcho, c.loose && v == doubtful && !speaking:
		return undecided // nothing is held
	case v == given && heard.own > 0:
		l.echoes.found(heard.lag)
	case v == given && len(said) == 0:
		l.compare()
	}
	return v
}

// conclude says what the challenge comes to when nothing more is said.
func (l *listener) conclude() verdict {
	switch v := l.weigh(); {
	case v != undecided && v != doubtful:
		return v
	case l.challenge.loose:
		return given
	case l.ear.echo == nil && l.beginsAsEcho() && l.endsAsEcho(false):
		l.compare()
		return given
	}
	return taken // nobody could say what it was, so it may have been a turn
}

// longestEcho is how much of an echo is heard as one: what is known to be one need not be heard again and again with what follows.
const longestEcho = 6 * time.Second

// speaking reports whether an answer is being spoken, or is about to be.
func (l *listener) speaking() bool {
	return slices.ContainsFunc(l.live.answering(), func(t *turn) bool { return !t.settings.Written })
}

// soFar returns the words of what is being said as far as they are known, how many of them are stable, whether they are all, and in
// how much sound they were heard.
func (l *listener) soFar() (said []string, stable int, final bool, speech time.Duration) {
	if l.ending != nil && l.ending.pass.over() && l.ending.pass.err == nil {
		said = words(l.ending.pass.transcript.Text)
		return said, len(said), true, l.ending.pass.transcript.Speech
	}
	h, _ := l.hearing.known()
	return words(h.Text), len(words(h.Text[:h.Stable])), false, h.Speech
}

// takeWord ends the answer: the caller has the word.
func (l *listener) takeWord(now time.Time) error {
	c := l.challenge
	l.challenge = nil
	l.interrupt(now, l.limits)
	l.floor.release(time.Now()) // for the next answer; this one is dropped as it comes
	switch {
	case c.own > l.ear.from: // what was heard first is not the caller's, but for a word that was not known yet
		l.ear.from = max(l.ear.from, c.own-int64(audio.Samples(longWord, audio.SpeechRate)))
		l.spoke, l.own = c.own, c.own
		l.hearAgain()
	case l.goesOn():
		l.pauses.Add(l.ear.at(l.ear.ends.Start() - l.lastEnd))
		l.hearAgain()
	}
	return l.started()
}

// hearAgain hears what is being said anew, from the ear's from on.
func (l *listener) hearAgain() {
	maybe := l.ending != nil
	l.again()
	if maybe { // it is silent already, and nothing else would begin one
		l.ending = l.end()
	}
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
