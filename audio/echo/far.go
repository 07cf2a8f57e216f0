package echo

import "riposte/audio"

// history is how many hops of far sound are looked back on: a block of them as far back as the judge asks for it, which is further
// than the filter does.
const history = reach + 2 + reverb + 1

// far is what was played, a hop at a time.
type far struct {
	sound audio.PCM // The last history hops lie before end, and older ones before these.
	end   int
	block []float64 // The last one that was asked for.
}

// newFar returns one that was silent.
func newFar() *far {
	const spare = 16 // Hops, so that sound is moved only now and then.
	return &far{sound: make(audio.PCM, (history+spare)*hop), end: history * hop, block: make([]float64, block)}
}

// push takes the next hop.
func (f *far) push(p audio.PCM) {
	if f.end == len(f.sound) {
		f.end = copy(f.sound, f.sound[f.end-(history-1)*hop:])
	}
	f.end += copy(f.sound[f.end:], p)
}

// behind returns the block of far sound up to late samples ago, scaled to -1..1. It holds until the next call.
func (f *far) behind(late int) []float64 {
	for i, x := range f.sound[f.end-late-block:][:block] {
		f.block[i] = float64(x) / 32768
	}
	return f.block
}

// silence reports whether p is digital silence.
func silence(p []float64) bool {
	for _, x := range p {
		if x != 0 {
			return false
		}
	}
	return true
}
