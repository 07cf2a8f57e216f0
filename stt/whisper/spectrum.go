package whisper

import "riposte/audio/mel"

// spectrum is the spectrogram of sound that grows at its end. What does not change any more is computed once.
type spectrum struct {
	filters mel.Bank
	maker   *mel.Maker // Nil before the first frame.
	frames  []float32  // Of the frames that are complete, one after the other, the logarithms of the bands' power.
}

// floor is the logarithm of the least power that is told from silence.
const floor = -10

// window returns the spectrogram of samples, which begin as those of the call before did, as whisper.cpp makes it: n frames,
// filled up with silence, band by band, scaled to what the model was trained on.
func (s *spectrum) window(samples []float32, n int) []float32 {
	bands := len(s.filters)
	for i := len(s.frames) / max(1, bands); i*mel.Hop+mel.Window/2 < len(samples); i++ {
		s.frames = s.appendFrame(s.frames, samples, i)
	}
	frames := s.frames
	for i := len(s.frames) / max(1, bands); i*mel.Hop-mel.Window/2 < len(samples) && i < n; i++ {
		frames = s.appendFrame(frames, samples, i) // Not complete: it is not kept.
	}
	s.frames = frames[:len(s.frames)]
	have := min(n, len(frames)/max(1, bands))
	top := float32(floor)
	for _, v := range frames[:have*bands] {
		top = max(top, v)
	}
	least := max(top-8, floor)
	w := make([]float32, n*bands)
	for b := range bands {
		row := w[b*n:][:n]
		for i := range row {
			v := least
			if i < have {
				v = max(v, frames[i*bands+b])
			}
			row[i] = (v + 4) / 4
		}
	}
	return w
}

// drop forgets the first n samples, which have to be whole steps.
func (s *spectrum) drop(n int) {
	s.frames = append(s.frames[:0:0], s.frames[min(len(s.frames), n/mel.Hop*len(s.filters)):]...)
}

// appendFrame appends the bands of frame i. Before its beginning the sound is mirrored, behind its end there is silence.
func (s *spectrum) appendFrame(to, samples []float32, i int) []float32 {
	if s.maker == nil {
		s.maker = mel.NewMaker(s.filters)
	}
	start := i*mel.Hop - mel.Window/2
	return s.maker.AppendFrame(to, func(k int) float32 {
		k = max(start+k, -start-k)
		if k >= len(samples) {
			return 0
		}
		return samples[k]
	})
}
