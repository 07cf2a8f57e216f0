// Package echo keeps an agent from hearing itself. A speakerphone sends the agent's voice back into the caller's sound,
// later, softer and with the room's reverberation; a VAD finds speech in it, and the agent would interrupt itself. What was
// played is known sample by sample, so three small parts undo that, each for one question:
//
//	locator  how late does it come back?          correlation of near and far sound at every lag
//	filter   what does it sound like by then?     an adaptive filter behind that lag, subtracted from the near sound
//	judge    is what remains more than an echo?   the level of what remains against that of the far sound, by band
//
// The filter alone is not enough: it takes a second or two of speech until it removes 15 dB, the agent's first word comes
// before, and a lag that changes between answers spoils it again. So the judge never trusts it further than it has proved
// itself: it learns, band by band, how loud the remains of an echo are against the far sound, from 0 dB at the start of a
// call downwards, and calls the near sound the caller's only where it is clearly louder than that. The locator makes this
// quick: it needs a tenth of a second of echo, after which the judge compares each syllable with the one that caused it
// and no longer with the loudest of the last half second.
//
// The work is done in hops of 16 ms. Nothing is delayed: what comes out belongs to the moment of what went in. While no
// answer is heard, and for as long as no echo was ever found, as with a headset, sound passes unchanged, bit for bit.
package echo

import (
	"cmp"
	"math"

	"riposte/audio"
)

const (
	hop   = 256     // Samples of one step: 16 ms.
	block = 2 * hop // Samples of one transform.
	bins  = hop + 1 // Frequencies of one transform, 31.25 Hz apart.

	partitions = 14             // Hops of reverberation that the filter removes: 224 ms.
	lasting    = reach + reverb // Hops after which nothing is left of an answer.
)

// threshold is the default of Threshold, in dB. Measured on 88 clips of speech, see TestReport: of 50 answers with an echo of -6
// dB none was interrupted from 4 dB on, while 4 of them were held for a moment at 4 dB, 2 at 5 and none at 6. Each dB lets
// a caller be heard some 20 ms later.
const threshold = 5.0

// audible is the level of a hop, in dBFS, from which the far sound can cause an echo.
const audible = -55

// Frame is a piece of the caller's sound as a VAD takes it.
type Frame struct {
	// Sound is audio.VADFrame samples of the caller's sound without the agent's voice, as far as that could be removed:
	// what the VAD and the recogniser should hear.
	Sound audio.PCM
	// Own reports that a voice in the frame is the agent's own, for all that is known: it is no reason to stop speaking.
	Own bool
	// Excess is by how much the frame is louder than an echo of the agent's voice can be, in dB, averaged over the bands of
	// speech. Own is the verdict on it. It is 0 while no answer is heard.
	Excess float64
}

// Canceller takes the agent's voice out of one caller's sound and says what is left. It is a step function: it knows
// neither clocks nor goroutines. It must not be used by two goroutines at once. New makes one.
type Canceller struct {
	// Threshold is the excess from which a frame is not Own any more. It defaults to 5 dB.
	Threshold float64

	locator *locator // nil until something is heard while an answer is.
	filter  *filter  // nil until there is an echo to be removed.
	judge   *judge

	far  *far
	near []float64 // The last block.
	left []float64 // The last block of what remains of near.

	lag       int  // How late the filter expects the echo, in samples.
	known     bool // Whether lag was ever found.
	found     int  // The lag that was found last.
	sightings int  // How often it was found in this answer.
	strange   int  // Hops of this answer in which something was audible.
	before    int  // The lag of the last search,
	loud      bool // and whether something was audible since.

	quiet int // Hops since the far sound was audible.
	since int // Hops since the answer began.

	nearPower, leftPower float64 // Smoothed, to see whether the filter helps.

	nearIn, farIn audio.PCM // What is not a whole frame yet.
}

// New returns a Canceller for one call.
func New() *Canceller {
	return &Canceller{
		judge: newJudge(), far: newFar(), near: make([]float64, block), left: make([]float64, block),
		quiet: lasting + 1,
	}
}

// Step takes the next sound of the caller, of any length, and what the far side was playing meanwhile, both at
// audio.SpeechRate. The echo may come up to half a second later than far says, but not earlier; where far is shorter than
// near, nothing was played. It returns the whole frames that are ready, which may be none and which belong to the caller.
func (c *Canceller) Step(near, far audio.PCM) []Frame {
	far = far[:min(len(near), len(far))]
	c.nearIn = append(c.nearIn, near...)
	c.farIn = append(append(c.farIn, far...), make(audio.PCM, len(near)-len(far))...)
	var frames []Frame
	at := 0
	for ; len(c.nearIn)-at >= audio.VADFrame; at += audio.VADFrame {
		frames = append(frames, c.frame(c.nearIn[at:][:audio.VADFrame], c.farIn[at:][:audio.VADFrame]))
	}
	c.nearIn, c.farIn = append(c.nearIn[:0], c.nearIn[at:]...), append(c.farIn[:0], c.farIn[at:]...)
	return frames
}

// frame works through one frame.
func (c *Canceller) frame(near, far audio.PCM) Frame {
	f := Frame{Sound: make(audio.PCM, 0, audio.VADFrame)}
	for i := 0; i < audio.VADFrame; i += hop {
		f.Sound = append(f.Sound, c.hop(near[i:i+hop], far[i:i+hop])...)
		if c.heard() {
			f.Excess += c.judge.excess * hop / audio.VADFrame
		}
	}
	f.Own = c.heard() && f.Excess < cmp.Or(c.Threshold, threshold)
	return f
}

// Break notes that what was played was interrupted, be it for a millisecond, and goes on with the next Step: from there on its echo
// may come a little sooner or later than before. The lag is to be found anew, as at the beginning of an answer.
func (c *Canceller) Break() { c.begin() }

// heard returns whether anything of an answer may be heard.
func (c *Canceller) heard() bool { return c.quiet <= lasting }

// hop works through one hop and returns what remains of near.
func (c *Canceller) hop(near, far audio.PCM) audio.PCM {
	c.far.push(far)
	shift(c.near, near)
	c.listen(far.Level())
	if !c.heard() {
		shift(c.left, near)
		c.judge.rest(c.near)
		return near
	}
	c.since++
	c.locate()
	out := c.cancel(near)
	shift(c.left, out)
	located, left := c.sightings >= settled, c.left
	if !c.known {
		left = c.near // nothing was ever taken out
	}
	c.judge.step(c.near, left, c.far, sight{
		lag: c.start(), located: located, learn: located || !c.known && c.since > reach, foreign: !c.known && c.strange >= foreign,
	})
	if c.judge.audible {
		c.strange++
		c.loud = true
	}
	return out
}

// listen finds where answers begin. The lag is to be found anew in each: the far side may have begun to play it sooner or
// later than the one before.
func (c *Canceller) listen(far float64) {
	if far < audible {
		c.quiet++
		return
	}
	if !c.heard() {
		c.begin()
		c.align(c.lag)
	}
	c.quiet = 0
}

// begin forgets what was found in the answer so far.
func (c *Canceller) begin() {
	c.since, c.sightings, c.strange, c.before, c.loud = 0, 0, 0, -1, false
	if c.locator != nil {
		c.locator.reset()
	}
}

const (
	sure     = 10.0       // Strength of a correlation that can be no accident, and
	likely   = 7.0        // one that cannot if it is found twice.
	alone    = 1.25       // By how much it exceeds any other.
	early    = 4 * 16     // Samples by which the filter begins before the lag.
	tolerant = hop + 4*16 // Samples by which the strongest reflection may come later than lag.
	still    = 2          // Samples by which a lag may differ from the last one that was found and be the same: clocks drift.
	settled  = 4          // How often a lag has to be found until the judge relies on it.
	foreign  = 16         // Audible hops after which what was not found is no echo: the locator needs half of them.
)

// locate looks for the echo: often until it is found, then now and then; and only where something was to be heard, which it may be.
func (c *Canceller) locate() {
	if c.locator == nil {
		if silence(c.near[hop:]) {
			return
		}
		c.locator = newLocator()
		c.locator.missed = c.since - 1
	}
	c.locator.step(c.near[hop:], c.far)
	pause := 2
	if c.sightings >= settled {
		pause = 8
	}
	if c.since%pause != 0 || !c.loud {
		return
	}
	c.loud = false
	lag, strength, other := c.locator.find()
	again := max(lag-c.before, c.before-lag) <= 16
	c.before = lag
	if strength < likely || strength < sure && !again || strength < alone*other {
		return
	}
	c.sightings++
	if moved := lag - c.found; c.known && (moved < -still || moved > still) {
		c.judge.distrust() // the filter has to follow
	}
	c.found = lag
	if late := lag - c.lag; c.known && late >= -early/2 && late <= tolerant {
		return
	}
	c.known, c.sightings = true, 1
	c.judge.distrust()
	c.align(lag)
}

// align lets the filter expect the echo at another lag. What it knows of the room it keeps.
func (c *Canceller) align(lag int) {
	c.lag = lag
	if !c.known {
		return
	}
	if c.filter == nil {
		c.filter = newFilter(partitions)
	}
	for k := partitions - 1; k > 0; k-- {
		c.filter.push(c.far.behind(c.start() + k*hop))
	}
}

// start returns how late the filter's first coefficient is.
func (c *Canceller) start() int { return max(0, c.lag-early) }

// cancel returns near without the echo, or near itself where the filter has nothing to say or makes it louder.
func (c *Canceller) cancel(near audio.PCM) audio.PCM {
	if !c.known {
		return near
	}
	c.filter.push(c.far.behind(c.start()))
	left := c.filter.step(c.near[hop:])
	const keep = 0.8
	c.nearPower = keep*c.nearPower + energy(c.near[hop:])
	c.leftPower = keep*c.leftPower + energy(left)
	if c.leftPower > c.nearPower {
		return near
	}
	out := make(audio.PCM, hop)
	for i, x := range left {
		out[i] = int16(max(-32768, min(32767, math.Round(x*32768))))
	}
	return out
}

// shift appends p, scaled to -1..1, to s and drops as much of its beginning.
func shift(s []float64, p audio.PCM) {
	copy(s, s[len(p):])
	for i, x := range p {
		s[len(s)-len(p)+i] = float64(x) / 32768
	}
}

// energy returns the sum of the squares of s.
func energy(s []float64) (sum float64) {
	for _, x := range s {
		sum += x * x
	}
	return sum
}

// Rest returns the sound of the caller that does not fill a frame yet, as it came, and forgets it: for those who need all that
// was said at once.
func (c *Canceller) Rest() audio.PCM {
	rest := append(audio.PCM(nil), c.nearIn...)
	c.nearIn, c.farIn = c.nearIn[:0], c.farIn[:0]
	return rest
}
