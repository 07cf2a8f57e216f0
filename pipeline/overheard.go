package pipeline

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agnivade/levenshtein"
)

// overheard is how much of what was heard while an answer was played is the answer's own, which a loudspeaker sends back to the
// microphone. Words and times have to fit: an echo says what was played, in its order, and says it a moment later. Who repeats
// the agent's words has to hear them first, and so says them too late for an echo.
type overheard struct {
	own   int           // Words that are,
	fresh []string      // and those behind them, which are the caller's.
	lag   time.Duration // How much later they came; 0 where that is not certain.
}

// An echo comes back within these times: the room's, the network's both ways, and what the caller's side keeps against its
// jitter. Nobody repeats a word within less than half a second of its beginning.
const (
	soonestEcho = 20 * time.Millisecond
	latestEcho  = 500 * time.Millisecond
)

// The most words in a row that may be missing from an echo, or heard wrongly in it.
const (
	echoMissed   = 4
	echoMisheard = 3
)

// overhear compares the words of something that is heard from a time on, and in which a voice began at another, with what was
// played. least is how many words have to be the same until anything counts as an echo.
func overhear(heard []string, said []played, from, began time.Time, least int) overheard {
	none := overheard{fresh: heard}
	if len(heard) == 0 || len(said) == 0 {
		return none
	}
	// chains[j][k] is what is the same up to heard word j, which is said word k.
	chains := make([][]chain, len(heard))
	var best chain
	for j := range heard {
		chains[j] = make([]chain, len(said))
		for k := range said {
			if !soundsLike(heard[j], said[k].text) {
				continue
			}
			c := &chains[j][k]
			if j <= echoMisheard {
				*c = said[k].begins(from, began, j)
			}
			for i := j - 1; i >= max(0, j-1-echoMisheard) && !urgent(heard[i+1:j]); i-- {
				for m := k - 1; m >= max(0, k-1-echoMissed); m-- {
					if b := chains[i][m]; b.same > 0 && b.same >= c.same {
						*c = chain{same: b.same + 1, least: b.least, lag: b.lag}
					}
				}
			}
			if c.until = j + 1; c.same > best.same {
				best = *c
			}
		}
	}
	if best.same < max(least, best.least) || best.until > 2*best.same {
		return none
	}
	return overheard{own: best.same, fresh: heard[best.until:], lag: best.lag}
}

// chain is a row of words that were heard as they were said.
type chain struct {
	same  int // So many words are the same,
	least int // and so many have to be until the row is an echo.
	until int // It ends with the word before this one.
	lag   time.Duration
}

// begins returns the chain that begins with w, if w may be the n-th word of what is heard. The voice may have begun in the middle of a
// word, or with words that were not recognised; but then one word is no proof.
func (w played) begins(from, began time.Time, n int) chain {
	switch lag := began.Sub(w.from); {
	case n == 0 && lag >= soonestEcho && lag <= latestEcho:
		return chain{same: 1, least: 1, lag: lag}
	case lag < soonestEcho-time.Duration(n+1)*longWord: // it was said later than that word was heard
	case n == 0 && from.Sub(w.to) <= latestEcho, n > 0 && from.Sub(w.from) <= latestEcho-time.Duration(n)*shortWord*3/2:
		return chain{same: 1, least: 2}
	}
	return chain{}
}

// longWord is how long a word may be said, as shortWord is the least.
const longWord = 500 * time.Millisecond

// soundsLike reports whether a recogniser may hear one word as the other. Of numbers in digits it cannot be seen how they are said.
func soundsLike(heard, said string) bool {
	if heard == said || inDigits(heard) && isNumber(said) || isNumber(heard) && inDigits(said) {
		return true
	}
	return levenshtein.ComputeDistance(heard, said) <= min(len(heard), len(said))/3 || heard == "no" && said == "know" || heard == "wait" && said == "weight"
}

func inDigits(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// isNumber reports whether a word is a number, or part of one.
func isNumber(word string) bool { return inDigits(word) || slices.Contains(numberWords, word) }

var numberWords = strings.Fields(`oh zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
	seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million first second third fourth
	fifth half quarter point`)
