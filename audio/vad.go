package audio

import "time"

// VADFrame is the number of samples, at SpeechRate, that a VAD scores at a time: 32 ms.
const VADFrame = 512

// Eager is the silence after which a turn may be over, for those who begin to work on that chance: three frames. Such work takes
// longer than the wait that is left, so it cannot begin too soon; in the middle of a sentence silence this long is rare.
const Eager = 3 * VADFrame * time.Second / SpeechRate

// VAD tells speech from everything else, for one caller. Frames come in order, none left out.
type VAD interface {
	// Speech returns the probability, 0 to 1, that the frame of VADFrame samples holds speech.
	Speech(frame PCM) (float32, error)
	// Close frees what the VAD holds. No other method may be called after it.
	Close() error
}
