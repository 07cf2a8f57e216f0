package whisper

// level follows how loud a growing sound is, in frames of levelFrame.
type level struct {
	seen   int     // Samples that were looked at, whole frames.
	peak   float64 // The power of the loudest frame.
	voiced int     // The end of the last frame that may hold speech.
}

const (
	// voiceDepth is how much less power than the loudest frame one can have and still be heard: 40 dB.
	voiceDepth = 1e-4
	// surely is the power above which a frame may be speech, however loud another was: -55 dBFS.
	surely = 3.2e-6
)

// step looks at what is new at the end of samples.
func (l *level) step(samples []float32) {
	for ; l.seen+levelFrame <= len(samples); l.seen += levelFrame {
		p := power(samples[l.seen:][:levelFrame]) / levelFrame
		l.peak = max(l.peak, p)
		if p > silencePower && p > min(surely, l.peak*voiceDepth) {
			l.voiced = l.seen + levelFrame
		}
	}
}

// drop forgets the first n samples.
func (l *level) drop(n int) {
	l.seen, l.voiced = max(0, l.seen-n), max(0, l.voiced-n)
}
