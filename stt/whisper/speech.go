package whisper

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"riposte/audio"
	"riposte/audio/mel"
)

// levelFrame is the stretch over which levels are taken: 20 ms.
const levelFrame = audio.SpeechRate / 50

// silenceLevel is the level in dBFS below which nothing can be understood: a whisper across a room into a telephone is at
// about -55, the rounding of 16-bit samples at -98.
const silenceLevel = -66

// silencePower is the same as the mean square of samples.
var silencePower = math.Pow(10, silenceLevel/10.)

// silent reports whether no 20 ms of samples are loud enough to be speech.
func silent(samples []float32) bool {
	for len(samples) > 0 {
		n := min(levelFrame, len(samples))
		if power(samples[:n])/float64(n) > silencePower {
			return false
		}
		samples = samples[n:]
	}
	return true
}

// quietest returns where between from and to the 100 ms around are the quietest: the place to cut.
func quietest(samples []float32, from, to int) int {
	const half = audio.SpeechRate / 20
	best, least := from, math.Inf(1)
	for at := from; at <= to; at += audio.SpeechRate / 100 {
		if p := power(samples[max(0, at-half):min(len(samples), at+half)]); p < least {
			best, least = at, p
		}
	}
	return best
}

// cut returns how much at the beginning of samples is to be heard by itself: all, as long as that is no more than easy
// samples; else up to the middle of the longest pause that leaves a second, since sentences are further apart than words; or,
// when there is no pause for as long as one window holds, up to where it is quietest. What is left out begins at a step of
// the spectrogram.
func cut(samples []float32, easy int) int {
	const pause, least, left = 15, 3 * audio.SpeechRate, audio.SpeechRate // 300 ms of frames
	if len(samples) <= easy {
		return len(samples)
	}
	var levels []float64
	for frame := range slices.Chunk(samples, levelFrame) {
		levels = append(levels, power(frame)/float64(len(frame)))
	}
	loud := slices.Sorted(slices.Values(levels))[len(levels)*95/100]
	quiet, most, at := 0, pause, 0
	for i, p := range levels {
		if p < loud*pauseDepth {
			quiet++
			continue
		}
		middle := (i - quiet/2) * levelFrame / mel.Hop * mel.Hop
		if quiet >= most && middle >= least && middle <= longest-left && len(samples)-i*levelFrame >= left {
			most, at = quiet, middle
		}
		quiet = 0
	}
	switch {
	case at > 0:
		return at
	case len(samples) > longest:
		return quietest(samples, 25*audio.SpeechRate, 29*audio.SpeechRate) / mel.Hop * mel.Hop
	}
	return len(samples)
}

// pauseDepth is how much less power than the loud parts of speech a pause has: 25 dB.
const pauseDepth = 0.00316

func power(samples []float32) float64 {
	var sum float64
	for _, x := range samples {
		sum += float64(x) * float64(x)
	}
	return sum
}

// doubt is the mean log-probability below which the model reads words into noise: those of speech, even of speech that it
// gets wrong, are above -1, those of noise around -2.
const doubt = -1.3

// Where the model itself says that nobody speaks, with more than this probability, less doubt is enough.
const (
	silence     = 0.6
	lesserDoubt = -1
)

// speech reports whether the words were spoken.
func (h heard) speech() bool {
	p := h.logProb()
	return p >= doubt && (p >= lesserDoubt || h.noSpeech <= silence)
}

// logProb returns the mean log-probability of the tokens, 0 when there are none.
func (h heard) logProb() float64 {
	if len(h.tokens) == 0 {
		return 0
	}
	var sum float64
	for _, t := range h.tokens {
		sum += float64(t.logProb)
	}
	return sum / float64(len(h.tokens))
}

// words joins the tokens and leaves out what stands for sounds: [applause], (drumming), *sighs*, ♪ a tune ♪. What is left
// without a letter or a digit is not words.
func words(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	s := strings.ToValidUTF8(b.String(), "")
	for _, pair := range []string{"[]", "()", "{}", "**", "♪♪", "♫♫"} {
		r := []rune(pair)
		s = without(s, string(r[0]), string(r[1]))
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return strings.Join(strings.Fields(s), " ")
}

// lastWord returns which token is the last with a letter, a part of one or a digit, -1 if none has any.
func lastWord(tokens []token) int {
	for i, t := range slices.Backward(tokens) {
		if strings.ContainsFunc(t.text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == utf8.RuneError }) {
			return i
		}
	}
	return -1
}

// without leaves out everything from each open to the next shut, or to the end.
func without(s, open, shut string) string {
	for {
		before, rest, found := strings.Cut(s, open)
		if !found {
			return s
		}
		_, after, _ := strings.Cut(rest, shut)
		s = before + " " + after
	}
}
