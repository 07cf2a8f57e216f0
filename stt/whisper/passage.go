package whisper

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"riposte/audio"
	"riposte/stt"
)

// passage is what is said in a piece of a recording.
type passage struct {
	samples  int
	language string
	noSpeech float32
	words    []spokenWord
}

// spokenWord is a word, the tokens that it is made of, and where in the piece it lies, in steps of 20 ms.
type spokenWord struct {
	text     string // With the white space before it.
	tokens   []token
	last     int // The place of its last token among all.
	from, to int
}

func (p passage) empty() bool { return len(p.words) == 0 }

// with returns p and what comes behind it, from so many samples on.
func (p passage) with(q passage, at int) passage {
	for _, w := range q.words {
		w.from, w.to = w.from+at/levelFrame, w.to+at/levelFrame
		p.words = append(p.words, w)
	}
	p.samples = at + q.samples
	if p.language == "" {
		p.language = q.language
	}
	return p
}

// unspaced are the languages that put no space between words: there a token is a word.
var unspaced = map[string]bool{"zh": true, "yue": true, "ja": true, "th": true, "lo": true, "my": true, "km": true, "bo": true}

// spoken makes words of tokens. One begins with white space, or anywhere in a language that has none between words; marks belong to the
// word before them, and characters of which each has a part stay together.
func spoken(tokens []token, language string) []spokenWord {
	var all []spokenWord
	for i, t := range tokens {
		n := len(all) - 1
		joins := n >= 0 && (!utf8.ValidString(all[n].text) || !letters(t.text) || !unspaced[language])
		if n < 0 || strings.HasPrefix(t.text, " ") && utf8.ValidString(all[n].text) || !joins {
			all = append(all, spokenWord{text: t.text, tokens: []token{t}, last: i})
			continue
		}
		all[n].text += t.text
		all[n].tokens = append(all[n].tokens, t)
		all[n].last = i
	}
	return all
}

// letters reports whether a text has more in it than marks. What is no whole character may be one.
func letters(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == utf8.RuneError })
}

// kept leaves out the words that are not in a text, which has all others in their order: sounds that were described, and what is no
// character.
func kept(all []spokenWord, text []string) []spokenWord {
	left := strings.Join(text, "")
	return slices.DeleteFunc(all, func(w spokenWord) bool {
		bare := strings.Join(strings.Fields(strings.ToValidUTF8(w.text, "")), "")
		rest, ok := strings.CutPrefix(left, bare)
		if !ok || bare == "" {
			return true
		}
		left = rest
		return false
	})
}

// least is how many steps a word takes at the least: nobody says a letter in less than 10 ms, or any word in less than 40.
func (w spokenWord) least() int {
	return max(2, min(8, 1+utf8.RuneCountInString(strings.TrimSpace(w.text))/2))
}

// place finds where the words lie. ends has, for each token of the piece, the log-probabilities of ending at each of so many steps: the
// words end, one after the other, where all of that together is likeliest. A word begins behind the one before it, or where the silence
// between them ends.
func (p *passage) place(ends []float32, steps int, samples []float32) {
	n := len(p.words)
	if n == 0 {
		return
	}
	least, sum := make([]int, n), 0
	for i, w := range p.words {
		least[i] = w.least()
		sum += least[i]
	}
	if sum >= steps { // faster than anybody speaks
		clear(least)
	}
	best := make([]float32, steps) // Of the words so far, where the last ends at each step or before it.
	where := make([][]int32, n)    // Where each word then ends.
	for i, w := range p.words {
		row := ends[w.last*steps : (w.last+1)*steps]
		next := make([]float32, steps)
		where[i] = make([]int32, steps)
		for k := range steps {
			next[k], where[i][k] = impossible, int32(k)
			if k >= least[i] {
				next[k] = row[k] + best[k-least[i]]
			}
			if k > 0 && next[k-1] >= next[k] {
				next[k], where[i][k] = next[k-1], where[i][k-1]
			}
		}
		best = next
	}
	at := steps - 1
	for i := n - 1; i >= 0; i-- {
		p.words[i].to = int(where[i][at])
		at = max(0, p.words[i].to-least[i])
	}
	p.begin(samples)
}

// impossible is the log-probability of what cannot be.
const impossible = -1e9

// begin finds where the words begin, and lets none end in silence.
func (p *passage) begin(samples []float32) {
	var levels []float64
	for frame := range slices.Chunk(samples, levelFrame) {
		levels = append(levels, power(frame)/float64(len(frame)))
	}
	loud := slices.Sorted(slices.Values(levels))[len(levels)*95/100]
	quiet := func(step int) bool { return step >= 0 && step < len(levels) && levels[step] < loud*pauseDepth }
	before := 0
	for i := range p.words {
		w := &p.words[i]
		w.from = before
		for w.from < w.to-1 && quiet(w.from) {
			w.from++
		}
		for w.to > w.from+1 && quiet(w.to-1) {
			w.to--
		}
		before = w.to
	}
}

// longestSegment is how long a segment is at most that could end at a mark before: what is read below a film.
const longestSegment = 7 * time.Second

// segments returns the sentences of the passage, in a recording of which it begins at a sample.
func (p passage) segments(at int, withWords bool) []stt.Segment {
	var all []stt.Segment
	begin := audio.Duration(at, audio.SpeechRate)
	when := func(step int) time.Duration {
		return begin + audio.Duration(min(step*levelFrame, p.samples), audio.SpeechRate)
	}
	from := 0
	for i, w := range p.words {
		long := when(w.to)-when(p.words[from].from) > longestSegment
		if i < len(p.words)-1 && !closes(w.text, ".?!。？！…") && !(long && closes(w.text, ",;:，；、：")) {
			continue
		}
		s := stt.Segment{From: when(p.words[from].from), To: when(w.to), Language: p.language, NoSpeech: p.noSpeech}
		var sum float32
		for _, w := range p.words[from : i+1] {
			text := strings.ToValidUTF8(w.text, "")
			s.Text += text
			for _, t := range w.tokens {
				s.Tokens, s.Pieces = append(s.Tokens, int(t.id)), append(s.Pieces, stt.Token{Text: t.text, LogProb: t.logProb})
				sum += t.logProb
			}
			if withWords {
				s.Words = append(s.Words, stt.Word{Text: strings.TrimSpace(text), From: when(w.from), To: when(w.to)})
			}
		}
		s.Text, s.LogProb = strings.Join(strings.Fields(s.Text), " "), sum/float32(len(s.Tokens))
		all = append(all, s)
		from = i + 1
	}
	return all
}

// closes reports whether a word ends with one of these marks.
func closes(word, marks string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `"')]”’»`))
	return strings.ContainsRune(marks, last)
}
