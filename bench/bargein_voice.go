package bench

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"riposte/audio"
	"riposte/tts"
)

// Overheard is a voice that keeps what it has spoken, and where the words of it lie, for whoever hears the same sound at the other
// end of a call and wants to know what it should have been. It is safe for use by many callers at once.
type Overheard struct {
	tts.Synthesizer

	mu    sync.Mutex
	spoke []*utterance
}

// utterance is one thing that the voice has spoken, or has begun to.
type utterance struct {
	text  string
	rate  int
	sound audio.PCM
	words []tts.Word
}

// Speak speaks as the voice does.
func (o *Overheard) Speak(ctx context.Context, text string, options tts.Options) iter.Seq2[audio.PCM, error] {
	u := &utterance{text: text, rate: o.Rate()}
	o.mu.Lock()
	o.spoke = append(o.spoke, u)
	o.mu.Unlock()
	wanted := options.Words
	options.Words = func(w tts.Word) {
		o.mu.Lock()
		u.words = append(u.words, w)
		o.mu.Unlock()
		if wanted != nil {
			wanted(w)
		}
	}
	return func(yield func(audio.PCM, error) bool) {
		for pcm, err := range o.Synthesizer.Speak(ctx, text, options) {
			o.mu.Lock()
			u.sound = append(u.sound, pcm...)
			o.mu.Unlock()
			if !yield(pcm, err) {
				return
			}
		}
	}
}

// rehearsed is how many utterances at the beginning are not forgotten: those that a service speaks for later use before its first
// call.
const rehearsed = 16

// forget forgets what was spoken in calls so far.
func (o *Overheard) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spoke = slices.Clone(o.spoke[:min(len(o.spoke), rehearsed)])
}

// count returns how many utterances were begun.
func (o *Overheard) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.spoke)
}

// since returns the texts of the utterances behind so many, of which there is any sound.
func (o *Overheard) since(n int) (texts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.spoke[min(n, len(o.spoke)):] {
		if len(u.sound) > 0 {
			texts = append(texts, u.text)
		}
	}
	return texts
}

// phrases returns the texts of the utterances at the beginning that are not forgotten.
func (o *Overheard) phrases() (texts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.spoke[:min(rehearsed, len(o.spoke))] {
		texts = append(texts, u.text)
	}
	return texts
}

// find looks for the sound of a text in what was received, as it was spoken once or several times. It returns where it begins, which is before
// the received sound where its silent beginning was left out, and how long it is.
func find(received audio.PCM, spoken []utterance) (from, length int, ok bool) {
	received = smooth(received)
	for _, u := range spoken {
		head, _ := audio.FirstAudible(u.sound, u.rate)
		n := min(len(u.sound)-head, u.rate/5)
		if n < u.rate/50 {
			continue
		}
		part, least, at := smooth(u.sound)[head:][:n], math.Inf(1), 0
		for k := 0; k+n <= len(received); k++ {
			if !roughly(received[k:][:n], part) {
				continue
			}
			if least < fits/4 && k > at+latest {
				break // it does not come twice
			}
			if d := distance(received[k:][:n], part); d < least {
				least, at = d, k
			}
		}
		if least <= fits {
			return at - head, len(u.sound), true
		}
	}
	return 0, 0, false
}

// as returns what was spoken of a text, each time that it was, at another rate. White space around it makes no difference.
func (o *Overheard) as(text string, rate int) (all []utterance, err error) {
	o.mu.Lock()
	for _, u := range o.spoke {
		if strings.TrimSpace(u.text) == strings.TrimSpace(text) && len(u.sound) > 0 {
			all = append(all, utterance{text: u.text, rate: u.rate, sound: slices.Clone(u.sound), words: slices.Clone(u.words)})
		}
	}
	o.mu.Unlock()
	for i := range all {
		u := &all[i]
		for k := range u.words {
			u.words[k].Heard = int(int64(u.words[k].Heard) * int64(rate) / int64(u.rate))
		}
		if u.sound, err = audio.Resample(u.sound, u.rate, rate); err != nil {
			return nil, err
		}
		u.rate = rate
	}
	return all, nil
}

const (
	// fits is the energy of a difference, by that of the sound, up to which two sounds are the same one. Resampled with another
	// phase the difference is some hundredths; of two utterances of one text it is around two.
	fits = 0.4
	// latest is how late, in samples, a clause's sound may begin behind its text, by the resampler's filter; and soonest is how much of
	// its beginning may have been left out, since it is silent.
	latest, soonest = 96, 9600
	// quietest is the level, in dBFS, below which a frame of a voice is too near to silence to be compared.
	quietest = -50
)

// likeness is how a received sound is made of utterances of one text.
type likeness struct {
	best utterance // That most of the sound is like; where the sound changes between them, the last one.
	late int       // How many samples later than in best its sound is in the received one; less than 0 where the beginning was left out.
	lost int       // Samples of best that are in none of the received sound's places,
	from int       // and where in best the first of them is.
	any  bool      // Whether the sound is like any of them.
}

// compare looks for the sound of a clause, as it was received, in what was spoken of its text. A voice that was interrupted to make
// room for other work speaks again, not quite the same, and its sound goes on with that where it was.
func compare(received audio.PCM, spoken []utterance) (l likeness) {
	received = smooth(received)
	sounds := make([]audio.PCM, len(spoken))
	late, ok := 0, false
	for i, u := range spoken {
		sounds[i] = smooth(u.sound)
		if !ok {
			late, ok = offset(received, sounds[i], u.rate)
		}
	}
	if !ok {
		return l
	}
	most, found := 0, make([][]bool, len(spoken))
	for i, u := range spoken {
		n := 0
		if found[i], n = follow(received, sounds[i], u.rate/50, late); n > 0 && n >= most {
			most, l.best, l.late, l.any = n, u, late, true
		}
	}
	if !l.any {
		return l
	}
	for i := range len(l.best.sound) / (l.best.rate / 50) {
		if !slices.ContainsFunc(found, func(f []bool) bool { return i < len(f) && f[i] }) {
			if l.lost == 0 {
				l.from = i * (l.best.rate / 50)
			}
			l.lost += l.best.rate / 50
		}
	}
	return l
}

// follow says which frames of a sound are in the received one, where the first comes late by some samples, and how many of those can be
// heard. Where frames are missing, those behind them come sooner.
func follow(received, sound audio.PCM, frame, late int) (found []bool, heard int) {
	const (
		sooner   = 25 // frames that may be missing in a row
		patience = 25 // frames after which those that come later are not looked for any more
		certain  = 3  // frames in a row that are no accident
	)
	missing := 0
	for i := 0; i+frame <= len(sound); i += frame {
		part := sound[i : i+frame]
		if part.Level() < quietest || i+late < 0 { // nobody hears it, or it was left out as silent
			found = append(found, true)
			continue
		}
		if i+late+frame > len(received) { // it was broken off
			found = append(found, false)
			continue
		}
		is := distance(received[i+late:][:frame], part) <= fits
		if !is && missing < patience && i+certain*frame <= len(sound) {
			for l := late - 1; l >= max(-i, late-sooner*frame) && !is; l-- {
				if i+l+certain*frame <= len(received) && roughly(received[i+l:][:certain*frame], sound[i:][:certain*frame]) &&
					distance(received[i+l:][:certain*frame], sound[i:][:certain*frame]) <= fits/2 {
					is, late = true, l
				}
			}
		}
		if missing++; is {
			missing = 0
			heard++
		}
		found = append(found, is)
	}
	return found, heard
}

// offset returns how much later than the utterance the received sound begins.
func offset(received, spoken audio.PCM, rate int) (late int, ok bool) {
	from, _ := audio.FirstAudible(spoken, rate)
	n := min(len(spoken)-from, len(received)-from-latest, rate/5)
	if n < rate/50 {
		return 0, false
	}
	part, least := spoken[from:][:n], math.Inf(1)
	for k := max(-from, -soonest); k < latest; k++ {
		at := received[from+k:][:n]
		if !roughly(at, part) {
			continue
		}
		if d := distance(at, part); d < least {
			late, least = k, d
		}
	}
	return late, least <= fits
}

// smooth takes the highest frequencies out of a sound, in which two resamplings of one sound may differ by the phase of their samples.
func smooth(p audio.PCM) audio.PCM {
	const over = 4 // samples
	out := make(audio.PCM, len(p))
	sum := 0
	for i, x := range p {
		sum += int(x)
		if i >= over {
			sum -= int(p[i-over])
		}
		out[i] = int16(sum / over)
	}
	return out
}

// roughly reports whether two sounds of one length may be like each other, by one sample in sixteen.
func roughly(a, b audio.PCM) bool {
	var difference, energy float64
	for i := 0; i < len(b); i += 16 {
		d := float64(a[i]) - float64(b[i])
		difference += d * d
		energy += float64(b[i]) * float64(b[i])
	}
	return difference <= 2*fits*energy
}

// distance returns the energy of the difference of two sounds of one length, by that of the second.
func distance(a, b audio.PCM) float64 {
	var difference, energy float64
	for i := range b {
		d := float64(a[i]) - float64(b[i])
		difference += d * d
		energy += float64(b[i]) * float64(b[i])
	}
	return difference / max(energy, 1)
}
