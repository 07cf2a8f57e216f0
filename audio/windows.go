package audio

import "iter"

// Windows cuts a stream of sound into windows of Length samples, each Hop samples after the one before, however the stream comes in pieces.
// It is made for one stream and must not be used by two goroutines at once.
type Windows struct {
	Length, Hop int // In samples; Hop is at most Length.

	waiting  PCM   // The end of what has come, which the next window begins with.
	position int64 // Of its first sample.
}

// Take takes the next sound, of any length, and returns the windows that it completes, each with the position of its first sample in the stream.
// All of them have to be taken; each holds until the next one.
func (w *Windows) Take(p PCM) iter.Seq2[int64, PCM] {
	return func(yield func(int64, PCM) bool) {
		w.waiting = append(w.waiting, p...)
		at := 0
		for ; at+w.Length <= len(w.waiting); at += w.Hop {
			if !yield(w.position+int64(at), w.waiting[at:at+w.Length]) {
				break
			}
		}
		w.waiting = append(w.waiting[:0], w.waiting[at:]...)
		w.position += int64(at)
	}
}

// Reset begins another stream.
func (w *Windows) Reset() { w.waiting, w.position = w.waiting[:0], 0 }
