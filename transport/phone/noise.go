package phone

import (
	"sync"
	"time"

	"riposte/audio"
)

// fill is what is sent where there is nothing to be heard, in each format that calls have. They share it.
type fill struct {
	mu  sync.Mutex
	all map[Format][]byte
}

// fillLength is after how long it is the same again: nobody hears that of soft noise.
const fillLength = 4 * time.Second

// of returns it: whole frames.
func (f *fill) of(format Format, level float64) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.all[format]; ok {
		return b
	}
	b := format.silence(format.Bytes())
	if level != 0 {
		noise := audio.ComfortNoise{Rate: format.Rate, Level: level}
		b = format.Append(nil, noise.Next(format.Rate/50*int(fillLength/FrameLength)))
	}
	if f.all == nil {
		f.all = map[Format][]byte{}
	}
	f.all[format] = b
	return b
}
