package whisper

import (
	"strings"

	"riposte/audio"
	"riposte/stt"
)

const (
	// fullWindow is the whole of Whisper's hearing in encoder positions, 50 to the second: 30 s.
	fullWindow = 1500
	// minWindow is the smallest window that the models bear: below it short speech is heard over and over again.
	minWindow = 512
	// windowMargin is how far, in positions, the window reaches beyond the speech: 1.3 s, for the model to hear it end.
	windowMargin = 64
	// windowStep is what windows are rounded up to: in between, the matrices do not fit the vector registers, and the
	// encoder takes up to three times as long.
	windowStep = 32
	// longest is what one window can hold.
	longest = 30 * audio.SpeechRate
	// shortest is what speech is filled up to with silence: Whisper wants a second, and an end.
	shortest = audio.SpeechRate * 11 / 10
	// brief is the length of speech that is not heard again when the model goes in circles: the first turn of the circle is
	// all that was said, and a second try would take three times as long, just where an answer is expected at once.
	brief = 3 * audio.SpeechRate
	// maxTokens is less than whisper's own limit, half the text context less a few, at which it throws the text away.
	maxTokens = 216
)

// request says how one decode is to be done.
type request struct {
	threads  int
	window   int    // In encoder positions.
	tokens   int    // Where to stop, ended or not.
	language string // Empty to find out.
	prompt   string
}

// token is a piece of a word. Its text may be a part of a UTF-8 sequence.
type token struct {
	id      int32
	logProb float32
	text    string
}

// heard is what one decode brought.
type heard struct {
	tokens   []token
	language string
	ended    bool // The model came to the end of the text by itself.
	period   int  // The length of the loop in which it was caught, in tokens, or 0.
}

// saying is a piece of speech, heard.
type saying struct {
	text, language string
}

// decoder is an ear without its life.
type decoder interface {
	decode(samples []float32, r request) (heard, error)
}

// listener hears one piece of speech of any length with one ear.
type listener struct {
	ear     decoder
	threads int
}

// listen returns what is said in samples. Speech that one window cannot hold is cut where it is quietest and heard part by
// part; the language of the first part with words is that of all.
func (l *listener) listen(samples []float32, o stt.Options) (saying, error) {
	var s saying
	var words []string
	for len(samples) > 0 {
		n := len(samples)
		if n > longest {
			n = quietest(samples, 25*audio.SpeechRate, 29*audio.SpeechRate)
		}
		part, err := l.part(samples[:n], o)
		if err != nil {
			return saying{}, err
		}
		if s.language == "" || (s.text == "" && part.text != "") {
			s.language = part.language
		}
		if part.text != "" {
			words = append(words, part.text)
			s.text = part.text
			o.Language = part.language
		}
		samples = samples[n:]
	}
	s.text = strings.Join(words, " ")
	return s, nil
}

// part hears what one window can hold. It begins with a window that fits; when the model goes in circles or does not come
// to an end in it, the whole window is the second try, except for brief speech, of which the first turn is taken.
func (l *listener) part(samples []float32, o stt.Options) (saying, error) {
	if silent(samples) {
		return saying{language: o.Language}, nil
	}
	if n := shortest - len(samples); n > 0 {
		samples = append(samples[:len(samples):len(samples)], make([]float32, n)...)
	}
	r := request{threads: l.threads, window: fit(len(samples)), tokens: tokenLimit(len(samples)), language: o.Language, prompt: o.Prompt}
	h, err := l.ear.decode(samples, r)
	if err == nil && h.astray() && r.window < fullWindow && !(h.period > 0 && len(samples) < brief) {
		r.window = fullWindow
		h, err = l.ear.decode(samples, r)
	}
	switch {
	case err != nil:
		return saying{}, err
	case h.period > 0:
		h.tokens = h.tokens[:unlooped(h.tokens, h.period)]
	case !h.ended && len(samples) > 10*audio.SpeechRate:
		return l.halves(samples, o)
	}
	if !h.speech() {
		return saying{language: h.language}, nil
	}
	return saying{text: words(h.tokens), language: h.language}, nil
}

// halves hears speech with more words in it than one decode may have.
func (l *listener) halves(samples []float32, o stt.Options) (saying, error) {
	n := quietest(samples, len(samples)/3, len(samples)*2/3)
	a, err := l.part(samples[:n], o)
	if err != nil {
		return saying{}, err
	}
	b, err := l.part(samples[n:], o)
	if err != nil {
		return saying{}, err
	}
	return saying{text: strings.TrimSpace(a.text + " " + b.text), language: a.language}, nil
}

// fit returns the window for n samples.
func fit(n int) int {
	w := max(minWindow, 50*n/audio.SpeechRate+windowMargin)
	return min(fullWindow, (w+windowStep-1)/windowStep*windowStep)
}

// tokenLimit returns how many tokens n samples may have: the fastest speakers make 7 a second of English and 12 of other
// languages.
func tokenLimit(n int) int {
	return min(maxTokens, 16+12*n/audio.SpeechRate)
}

// astray reports whether the decode did not come to its end as speech does.
func (h heard) astray() bool {
	return h.period > 0 || !h.ended
}

// unlooped returns how many of the tokens there are up to the end of the first turn of the loop at their end.
func unlooped(t []token, period int) int {
	n := len(t)
	for n > period && t[n-1].id == t[n-1-period].id {
		n--
	}
	return n
}
