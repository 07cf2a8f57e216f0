// Package mel makes the log-mel spectrograms that Whisper's encoder, and the networks that grew out of it, hear with: 80
// bands, 100 frames a second.
package mel

import "math"

const (
	// Bands is the number of mel bands.
	Bands = 80
	// Bins is the number of frequencies of a spectrum: a 400-point Fourier transform.
	Bins = Window/2 + 1
	// Window is the length in samples of what one frame looks at, 25 ms.
	Window = 400
	// Hop is the distance in samples from frame to frame, 10 ms.
	Hop = 160
	// Rate is the rate of the sound in hertz.
	Rate = 16000
)

// Filters returns the bank of triangular filters that Whisper was trained with, band by band, Bins values each: the mel
// scale of Slaney's Auditory Toolbox, each band scaled to the same energy.
func Filters() []float32 {
	top := fromHertz(Rate / 2)
	edges := make([]float64, Bands+2) // Hz: band i rises from edge i to i+1 and falls to i+2.
	for i := range edges {
		edges[i] = toHertz(top * float64(i) / float64(Bands+1))
	}
	filters := make([]float32, Bands*Bins)
	for band := range Bands {
		low, mid, high := edges[band], edges[band+1], edges[band+2]
		for bin := range Bins {
			hertz := float64(bin) * Rate / 2 / (Bins - 1)
			weight := min((hertz-low)/(mid-low), (high-hertz)/(high-mid))
			if weight > 0 {
				// Rounded twice, as those were that the model was trained with.
				filters[band*Bins+bin] = float32(float64(float32(weight)) * (2 / (high - low)))
			}
		}
	}
	return filters
}

// The scale is linear up to 1 kHz, 200/3 Hz a mel, and above it logarithmic, 27 mels for a factor of 6.4.
const (
	hertzPerMel = 200.0 / 3
	logHertz    = 1000.0
	logMel      = logHertz / hertzPerMel
	logFactor   = 6.4
	logSteps    = 27.0
)

func fromHertz(hertz float64) float64 {
	if hertz < logHertz {
		return hertz / hertzPerMel
	}
	return logMel + math.Log(hertz/logHertz)/math.Log(logFactor)*logSteps
}

func toHertz(mel float64) float64 {
	if mel < logMel {
		return mel * hertzPerMel
	}
	return logHertz * math.Exp((mel-logMel)/logSteps*math.Log(logFactor))
}
