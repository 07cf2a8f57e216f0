package native

import "math"

// Whisper hears 80 mel bands of a spectrum of 201 bins: a 400-point Fourier transform at 16 kHz.
const (
	melBands = 80
	melBins  = 201
	melRate  = 16000
)

// melFilters returns the bank of triangular filters that Whisper was trained with, band by band: the mel scale of
// Slaney's Auditory Toolbox, each band scaled to the same energy.
func melFilters() []float32 {
	top := hertzToMel(melRate / 2)
	edges := make([]float64, melBands+2) // Hz: band i rises from edge i to i+1 and falls to i+2.
	for i := range edges {
		edges[i] = melToHertz(top * float64(i) / float64(melBands+1))
	}
	filters := make([]float32, melBands*melBins)
	for band := range melBands {
		low, mid, high := edges[band], edges[band+1], edges[band+2]
		for bin := range melBins {
			hertz := float64(bin) * melRate / 2 / (melBins - 1)
			weight := min((hertz-low)/(mid-low), (high-hertz)/(high-mid))
			if weight > 0 {
				// Rounded twice, as those were that the model was trained with.
				filters[band*melBins+bin] = float32(float64(float32(weight)) * (2 / (high - low)))
			}
		}
	}
	return filters
}

// The scale is linear up to 1 kHz, 200/3 Hz a mel, and above it logarithmic, 27 mels for a factor of 6.4.
const (
	melHertz     = 200.0 / 3
	melLogHertz  = 1000.0
	melLogMel    = melLogHertz / melHertz
	melLogFactor = 6.4
	melLogSteps  = 27.0
)

func hertzToMel(hertz float64) float64 {
	if hertz < melLogHertz {
		return hertz / melHertz
	}
	return melLogMel + math.Log(hertz/melLogHertz)/math.Log(melLogFactor)*melLogSteps
}

func melToHertz(mel float64) float64 {
	if mel < melLogMel {
		return mel * melHertz
	}
	return melLogHertz * math.Exp((mel-melLogMel)/melLogSteps*math.Log(melLogFactor))
}
