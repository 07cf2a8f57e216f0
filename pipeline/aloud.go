package pipeline

import (
	"strings"
	"sync"
	"time"
)

// aloud is what the caller's side has just played of answers, by word and time, for whoever has to tell those words from the
// caller's own. It is safe for use by several goroutines.
type aloud struct {
	mu      sync.Mutex
	clauses []*uttered // The newest last.
}

// uttered is a clause, and when its sound was played.
type uttered struct {
	text  string
	first bool // Of its answer.
	sound time.Duration
	words []word    // Where the voice says that words end.
	parts []stretch // Of the sound, in order.
}

// stretch is a part of a clause's sound that is played without a break.
type stretch struct {
	at           time.Time // When it begins to be played.
	from, length time.Duration
}

func (p stretch) end() time.Time { return p.at.Add(p.length) }

// played is a word that was played, and when it began and ended.
type played struct {
	text     string
	from, to time.Time
}

// mostUttered is how many clauses are kept: more than are played in longestEcho.
const mostUttered = 16

// begin notes that a new answer begins.
func (a *aloud) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(&uttered{first: true})
}

// say notes that a clause begins to be sent.
func (a *aloud) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.clauses); n > 0 && a.clauses[n-1].first && a.clauses[n-1].text == "" {
		a.clauses[n-1].text = text
		return
	}
	a.add(&uttered{text: text})
}

func (a *aloud) add(u *uttered) {
	a.clauses = append(a.clauses, u)
	if n := len(a.clauses) - mostUttered; n > 0 {
		a.clauses = append(a.clauses[:0], a.clauses[n:]...)
	}
}

// play notes that the next part of the newest clause's sound is played from a time on, and which words end in the clause.
func (a *aloud) play(at time.Time, length time.Duration, words []word) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.clauses)
	if n == 0 {
		return
	}
	u := a.clauses[n-1]
	u.words = append(u.words, words...)
	const together = frameLength // sound that follows within a frame's length is played without a break
	if k := len(u.parts) - 1; k >= 0 && at.Sub(u.parts[k].end()).Abs() < together {
		u.parts[k].length += length
	} else {
		u.parts = append(u.parts, stretch{at, u.sound, length})
	}
	u.sound += length
}

// cut notes that nothing more of what was sent is played.
func (a *aloud) cut(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.clauses {
		for i, p := range u.parts {
			if p.end().After(now) {
				u.parts[i].length = max(0, now.Sub(p.at))
			}
		}
	}
}

// pause notes that what was to be played from one time on is played from another on.
func (a *aloud) pause(from, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.clauses {
		var parts []stretch
		for _, p := range u.parts {
			done := min(p.length, max(0, from.Sub(p.at)))
			if done > 0 {
				parts = append(parts, stretch{p.at, p.from, done})
			}
			if rest := p.length - done; rest > 0 {
				parts = append(parts, stretch{p.at.Add(done + until.Sub(from)), p.from + done, rest})
			}
		}
		u.parts = parts
	}
}

// recent returns the newest two clauses of the present answer.
func (a *aloud) recent() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.clauses)
	switch {
	case n == 0:
		return ""
	case n == 1 || a.clauses[n-1].first:
		return a.clauses[n-1].text
	}
	return a.clauses[n-2].text + a.clauses[n-1].text
}

// between returns the words that were played, at least in part, between two times.
func (a *aloud) between(from, to time.Time) []played {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []played
	for i, u := range a.clauses {
		for _, w := range u.spoken(i < len(a.clauses)-1) {
			if w.from.Before(to) && w.to.After(from) {
				out = append(out, w)
			}
		}
	}
	return out
}

// run returns when that began, and when it ended or will end, which was being played at a time, or last before it. What follows
// within runGap belongs to it. ok is false where nothing was.
func (a *aloud) run(t time.Time) (from, to time.Time, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.clauses {
		for _, p := range u.parts {
			switch {
			case p.length <= 0 || !p.at.Before(t):
			case ok && p.at.Sub(to) < runGap:
				to = p.end()
			default:
				from, to, ok = p.at, p.end(), true
			}
		}
	}
	return from, to, ok
}

// runGap is less than any silence in which an echo dies away.
const runGap = 100 * time.Millisecond

// spoken returns the words of a clause that have begun to be played. whole says that its sound is known to its end.
func (u *uttered) spoken(whole bool) []played {
	if u.text == "" {
		return nil
	}
	var out []played
	sound := u.sound
	if !whole {
		sound = max(sound, time.Duration(len(u.text))*letterLasts)
	}
	began := time.Duration(0)
	end := 0
	for _, text := range strings.SplitAfter(u.text, " ") {
		end += len(text)
		ended := sound * time.Duration(end) / time.Duration(len(u.text))
		for _, w := range u.words {
			if w.end <= end && w.end > end-len(text) {
				ended = w.at
			}
		}
		from, ok := u.at(began)
		to, known := u.at(ended)
		if !known {
			to = from.Add(ended - began)
		}
		if ok {
			for _, w := range words(text) {
				out = append(out, played{w, from, to})
			}
		}
		began = ended
	}
	return out
}

// letterLasts is how long voices speak a letter, where nothing else is known: they speak some 16 a second.
const letterLasts = time.Second / 16

// at returns when a place of the clause's sound is played; ok is false where it is not known yet.
func (u *uttered) at(place time.Duration) (t time.Time, ok bool) {
	for _, p := range u.parts {
		if place >= p.from && place < p.from+p.length {
			return p.at.Add(place - p.from), true
		}
	}
	return time.Time{}, false
}
