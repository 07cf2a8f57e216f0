package whisper

import (
	"errors"
	"math"
	"strings"

	"riposte/audio"
	"riposte/stt"
)

const (
	// FullWindow is the whole of Whisper's hearing in encoder positions, 50 to the second: 30 s.
	FullWindow = 1500
	// minWindow is the smallest window that hears as well as the whole one: see spread.
	minWindow = 192
	// windowMargin is how far, in positions, the window reaches beyond the speech: 1.3 s of silence.
	windowMargin = 64
	// near is how much of that silence, in positions, is heard where it is: the model hears speech end in it.
	near = 8
	// wider is how many positions more a second try gets. It takes a quarter of what the whole window does.
	wider = 320
	// windowStep is what windows are rounded up to: in between, the matrices do not fit the vector registers, and the
	// encoder takes up to three times as long.
	windowStep = 32
	// longest is what one window can hold.
	longest = 30 * audio.SpeechRate
	// comfortable is what is heard in one go before it is cut at its pauses: so the closing pass never has much to do.
	comfortable = 12 * audio.SpeechRate
	// brief is the length of speech that is not heard again when the model goes in circles: the first turn of the circle is
	// all that was said, and a second try would take three times as long, just where an answer is expected at once.
	brief = 3 * audio.SpeechRate
	// maxTokens is less than half the text context, the rest of which is left to the prompt.
	maxTokens = 216
	// maxPrompt is how much of a prompt, in tokens, a model is given: half the text context, less the token in front.
	maxPrompt = 223
)

// request says how one decode is to be done.
type request struct {
	threads  int
	window   int       // In encoder positions.
	mel      []float32 // The spectrogram, of two frames for each position, band by band.
	places   []int32   // For each position, where in the whole window it is heard; nil for where it is.
	weights  []float32 // For each position, the logarithm of how many it stands for.
	tokens   int       // Where to stop, ended or not.
	language string    // Empty to find out.
	english  bool      // The text is to be English, whatever the language.
	prompt   string
	draft    []int32 // Tokens that the text may turn out to be. They change nothing but the time that it takes.
}

// token is a piece of a word. Its text may be a part of a UTF-8 sequence.
type token struct {
	id      int32
	logProb float32
	text    string
}

// heard is what one decode brought.
type heard struct {
	tokens    []token
	language  string
	ended     bool    // The model came to the end of the text by itself.
	period    int     // The length of the loop in which it was caught, in tokens, or 0.
	confirmed int     // So many tokens were those of the draft.
	noSpeech  float32 // The probability that nobody speaks, as the model sees it.
	closed    float32 // The probability that a mark behind the last word ends the sentence; 0 if it is not known.
}

// saying is a piece of speech, heard.
type saying struct {
	text, language string
	tokens         []int32
	pieces         []stt.Token // The same, as they are shown.
	closed         float32     // The probability that the text ends with a whole sentence; 0 if it is not known.
}

// decoder is an ear without its life.
type decoder interface {
	decode(r request) (heard, error)
}

// listener hears one piece of speech of any length with one ear.
type listener struct {
	ear     decoder
	threads int
	least   int       // The smallest window, in encoder positions.
	sound   *spectrum // Of the speech, as far as it is known.
}

// part hears what one window can hold. draft is what the text may be.
func (l *listener) part(samples []float32, o stt.Options, draft []int32) (saying, error) {
	_, h, err := l.settle(samples, request{language: o.Language, prompt: o.Prompt, draft: draft})
	if errors.Is(err, errCrowded) {
		return l.halves(samples, o)
	}
	if err != nil {
		return saying{}, err
	}
	s := saying{language: h.language}
	if h.speech() {
		s.text, s.closed = words(h.tokens), h.closed
		for _, t := range h.tokens {
			s.tokens = append(s.tokens, t.id)
			s.pieces = append(s.pieces, stt.Token{Text: t.text, LogProb: t.logProb})
		}
	}
	return s, nil
}

// errCrowded reports more words than one decode may have.
var errCrowded = errors.New("too many words")

// settle hears what one window can hold, as r asks. It begins with a window that fits; when the model goes in circles or does not come
// to an end in it, a wider window is the second try and the whole one the third, except for brief speech, of which the first turn is taken.
// It returns what was asked of the ear last, and what that brought.
func (l *listener) settle(samples []float32, r request) (request, heard, error) {
	if silent(samples) {
		return r, heard{language: r.language}, nil
	}
	r.window, r.tokens = l.fit(len(samples)), tokenLimit(len(samples))
	h, err := l.decode(samples, r)
	for err == nil && h.astray() && r.window < FullWindow && !(h.period > 0 && len(samples) < brief) {
		if r.window == l.fit(len(samples)) {
			r.window = min(FullWindow, r.window+wider)
		} else {
			r.window = FullWindow
		}
		h, err = l.decode(samples, r)
	}
	switch {
	case err != nil:
		return r, heard{}, err
	case h.period > 0:
		h.tokens = h.tokens[:unlooped(h.tokens, h.period)]
	case !h.ended && len(samples) > 10*audio.SpeechRate:
		return r, heard{}, errCrowded
	}
	return r, h, nil
}

// decode hears samples once.
func (l *listener) decode(samples []float32, r request) (heard, error) {
	r.threads, r.mel = l.threads, l.sound.window(samples, 2*r.window)
	r.places, r.weights = spread(50*len(samples)/audio.SpeechRate+1+near, r.window)
	return l.ear.decode(r)
}

// spread lets the silence at the end of a window, from position from on, stand for all the silence up to the end of the whole
// window, which the model is used to: the positions are spread over it, and each weighs as much as all that it stands for.
// Without that, speech in small windows is heard over and over again, or its end is not heard at all.
func spread(from, window int) (places []int32, weights []float32) {
	if from >= window || window == FullWindow {
		return nil, nil
	}
	places, weights = make([]int32, window), make([]float32, window)
	each := float64(FullWindow-from) / float64(window-from)
	for i := range places {
		places[i] = int32(i)
		if i >= from {
			places[i] = int32(float64(from) + (float64(i-from)+0.5)*each)
			weights[i] = float32(math.Log(each))
		}
	}
	return places, weights
}

// halves hears speech with more words in it than one decode may have.
func (l *listener) halves(samples []float32, o stt.Options) (saying, error) {
	n := quietest(samples, len(samples)/3, len(samples)*2/3)
	first := listener{ear: l.ear, threads: l.threads, least: l.least, sound: &spectrum{filters: l.sound.filters}}
	a, err := first.part(samples[:n], o, nil)
	if err != nil {
		return saying{}, err
	}
	second := listener{ear: l.ear, threads: l.threads, least: l.least, sound: &spectrum{filters: l.sound.filters}}
	b, err := second.part(samples[n:], o, nil)
	if err != nil {
		return saying{}, err
	}
	return saying{text: strings.TrimSpace(a.text + " " + b.text), language: a.language, pieces: append(a.pieces, b.pieces...), closed: b.closed}, nil
}

// fit returns the window for n samples.
func (l *listener) fit(n int) int {
	w := max(l.least, 50*n/audio.SpeechRate+windowMargin)
	return min(FullWindow, (w+windowStep-1)/windowStep*windowStep)
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
