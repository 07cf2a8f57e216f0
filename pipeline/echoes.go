package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"riposte/audio"
)

// echoes is what is known of a line's echo: of what is left of it where the signal's own verdict (package echo) has not been asked,
// or was wrong.
type echoes struct {
	known   bool          // The caller's microphone hears the answers,
	lag     time.Duration // so much later; 0 where that is not known.
	alike   int           // Noises in a row that came and went as an echo does.
	unheard time.Duration // How much of answers has been played without coming back.
}

const (
	enoughAlike   = 2                       // So many are no accident.
	enoughUnheard = 1500 * time.Millisecond // Answers have pauses, but no such long ones.

	dying = 150 * time.Millisecond // An echo dies away within that, and no lag is known better.
)

// found notes that something was the answer's echo, with a lag of 0 if it is not known.
func (e *echoes) found(lag time.Duration) { *e = echoes{known: true, lag: cmp.Or(lag, e.lag)} }

// latest returns how late an echo may come.
func (e *echoes) latest() time.Duration {
	if e.lag == 0 {
		return latestEcho
	}
	return e.lag + dying
}

// listenForEcho goes along with the line, frame by frame: an echo that is not heard any more is forgotten.
func (l *listener) listenForEcho(voiced bool) {
	e := &l.echoes
	switch {
	case !e.known || !l.mayEcho():
	case voiced:
		e.unheard = 0
	default:
		if e.unheard += audio.Duration(audio.VADFrame, audio.SpeechRate); e.unheard >= enoughUnheard {
			*e = echoes{}
		}
	}
}

// mayEcho reports whether what is heard now may be an echo: something was played when it would have left.
func (l *listener) mayEcho() bool {
	now := l.ear.clock.TimeOf(l.ear.ends.Position())
	_, to, ok := l.aloud.run(now.Add(-soonestEcho))
	return ok && now.Sub(to) < l.echoes.latest()
}

// beginsAsEcho reports whether what is being said began as much later than what was played as an echo does.
func (l *listener) beginsAsEcho() bool {
	began := l.ear.clock.TimeOf(l.ear.ends.Start())
	from, _, ok := l.aloud.run(began.Add(-soonestEcho))
	return ok && began.Sub(from) <= latestEcho
}

// endsAsEcho reports whether it ended so. On a line that is not known to echo, it has to have begun as much later as it ended: a
// sound begins with some silence.
func (l *listener) endsAsEcho(known bool) bool {
	ended, began := l.ear.clock.TimeOf(l.ear.voiced), l.ear.clock.TimeOf(l.ear.ends.Start())
	from, to, ok := l.aloud.run(ended)
	late := ended.Sub(to)
	if !ok || late < soonestEcho || late > l.echoes.latest() {
		return false
	}
	more := began.Sub(from) - late
	return known || more > -dying && more < 2*dying
}

// compare notes whether a noise without words, over an answer, came and went as its echo would: once is an accident.
func (l *listener) compare() {
	switch {
	case l.echoes.known:
	case !l.beginsAsEcho() || !l.endsAsEcho(false):
		l.echoes.alike = 0
	case l.echoes.alike+1 >= enoughAlike:
		l.echoes.found(0)
	default:
		l.echoes.alike++
	}
}

// overhear compares what is being said with what was played.
func (l *listener) overhear(heard []string) overheard {
	if len(heard) == 0 {
		return overheard{}
	}
	began := l.ear.clock.TimeOf(l.ear.ends.Start())
	least := 1
	if l.ear.echo != nil {
		least = sureEcho // the signal says that it is none
	}
	from := l.ear.clock.TimeOf(l.ear.from) // there may be words before the onset, if that is not the beginning of a voice
	return overhear(heard, l.aloud.between(from.Add(-latestEcho), time.Now()), from, began, least)
}

// strip returns a function that takes an answer's own words from both ends of what is being said.
func (l *listener) strip() func(string) string {
	began, owned, ended := l.ear.clock.TimeOf(l.ear.from), l.ear.clock.TimeOf(l.own), l.ear.clock.TimeOf(l.ear.voiced)
	before, after := l.aloud.between(began.Add(-latestEcho), owned), l.aloud.between(began.Add(-latestEcho), ended)
	return func(text string) string {
		heard := words(text)
		first := head(heard, before)
		last := len(heard) - tail(heard[first:], after, ended)
		return inner(text, first, last)
	}
}

// head returns how many words at the beginning of something that was heard are the echo of what was played.
func head(heard []string, said []played) (n int) {
	for ; n < len(heard); n++ {
		k := slices.IndexFunc(said, func(w played) bool { return soundsLike(heard[n], w.text) })
		if k < 0 {
			break
		}
		said = said[k+1:]
	}
	return n
}

// tail returns how many words at the end of something that was heard until a time are the echo of what was played last.
func tail(heard []string, said []played, ended time.Time) int {
	for k := len(said) - 1; k >= 0; k-- {
		if lag := ended.Sub(said[k].to); lag > latestEcho {
			break
		}
		n := 0
		for n < len(heard) && n <= k && heard[len(heard)-1-n] == said[k-n].text {
			n++
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// inner returns what stands in a text from its n-th word to before its m-th, with the marks behind them.
func inner(text string, n, m int) string {
	if n == 0 && m >= len(words(text)) {
		return text
	}
	count, from, to := -1, len(text), len(text)
	inside := false
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || inside && r == '\''
		if letter && !inside {
			count++
			if count == n {
				from = i
			}
			if count == m {
				to = i
			}
		}
		inside = letter
	}
	return strings.TrimSpace(text[min(from, to):to])
}
