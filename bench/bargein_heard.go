package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/caller"
	"riposte/stt/wer"
)

// told is an answer that was interrupted, as far as its words are concerned.
type told struct {
	text   string    // All of it that came.
	heard  string    // What the service says that the caller heard,
	played audio.PCM // and what was played.
	words  span      // What that holds, by the voice's account; see words.
	known  bool      // Whether the voice's account is there.
}

// span is a number of words that is not known exactly.
type span struct {
	least, exact, most int
	ends               []time.Duration // From the last sample played to where each word of the clauses played ends.
}

// closeBy is how near to the last sample played a word may end for either to be right: the two ends of a call need not agree on
// which of them came first by less than a frame.
const closeBy = 20 * time.Millisecond

// words returns how many words of the text of a's clauses were played to their end, by the count of samples that were played and by
// where the voice says that each word ends; of a word that ends as near to that as near, either is right. known is false if the sound of one of the clauses that were played is none of that voice.
func words(a caller.Answer, rate int, voice *Overheard, near time.Duration) (s span, known bool, err error) {
	before := 0
	for i, c := range a.Clauses {
		if c.From >= a.Played && i > 0 {
			break
		}
		end := len(a.Sound)
		if i+1 < len(a.Clauses) {
			end = a.Clauses[i+1].From
		}
		spoken, err := voice.as(c.Text, rate)
		if err != nil {
			return s, false, err
		}
		l := compare(a.Sound[c.From:end], spoken)
		if !l.any || len(l.best.words) == 0 {
			if len(strings.Fields(c.Text)) > 0 && a.Played > c.From {
				return s, false, nil
			}
			continue
		}
		n := span{before, before, before, s.ends}
		for _, w := range l.best.words {
			count := before + len(strings.Fields(c.Text[:min(w.End, len(c.Text))]))
			for len(n.ends) < count {
				n.ends = append(n.ends, time.Duration(c.From+l.late+w.Heard-a.Played)*time.Second/time.Duration(rate))
			}
			for _, k := range []struct {
				n    *int
				more time.Duration
			}{{&n.least, -near}, {&n.exact, 0}, {&n.most, near}} {
				if c.From+l.late+w.Heard <= a.Played+int(k.more)*rate/int(time.Second) {
					*k.n = max(*k.n, count)
				}
			}
		}
		s = n
		before += len(strings.Fields(c.Text))
	}
	return s, true, nil
}

// verdict is what an account of what was heard is worth.
type verdict int

const (
	unknown verdict = iota // Nobody knows where the words of the voice lie.
	right
	near  // It is wrong by a word that ended less than closeBy before or after the last sample played.
	wrong // It is wrong.
)

// off says by how much an account is wrong, for people: how many words too many or too few, and how far from the last sample played
// the last of them ends.
func (t told) off() string {
	n := len(strings.Fields(t.heard))
	d := n - t.words.exact
	k := n - 1 // the last one that should not be there
	if d < 0 {
		k = n // or the first that should
	}
	if d == 0 || k < 0 || k >= len(t.words.ends) {
		return "other words than were spoken"
	}
	return fmt.Sprintf("%+d words: one ends %+.0f ms from the last sample played", d, ms(t.words.ends[k]))
}

// verdict judges what the service says that was heard.
func (t told) verdict() verdict {
	all, heard := strings.Fields(t.text), strings.Fields(t.heard)
	switch {
	case !t.known:
		return unknown
	case len(heard) > len(all) || !slices.Equal(all[:len(heard)], heard):
		return wrong
	case len(heard) == t.words.exact:
		return right
	case len(heard) >= t.words.least && len(heard) <= t.words.most:
		return near
	}
	return wrong
}

// contradicts reports whether a recogniser that has heard the sound played understood more than a word more or less than the service
// says that was heard. A word that was cut off may be understood or not, so that one is no contradiction.
func (t told) contradicts(recognised string) bool {
	all := strings.Fields(t.text)
	heard := len(wer.Normalize(t.heard))
	least, low, high := -1, 0, 0 // the numbers of words that are as like as any to what was recognised
	for n := range len(all) + 1 {
		said := strings.Join(all[:n], " ")
		c := wer.WER(said, recognised)
		length := len(wer.Normalize(said))
		switch e := c.Errors(); {
		case least < 0 || e < least:
			least, low, high = e, length, length
		case e == least:
			high = length
		}
	}
	return heard < low-1 || heard > high+1
}
