package audio

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Rates below and above these do not occur in sound files or on calls.
const (
	minRate = 4000
	maxRate = 192000
)

// Resampler changes the rate of a call's sound. It remembers the sound across chunks, so that their borders cannot be
// heard, and it keeps count: all that it returns, Flush included, is n*out/in samples, rounded, of n. It is made for one
// stream and must not be used by two goroutines at once.
//
// The work is done by libspeexdsp at quality 4. Measured on 20 ms frames, delay from sound in to the same sound out, and
// rejection of everything more than 15 % beyond the lower rate's half:
//
//	               speex 4          speex 8          soxr LQ           soxr HQ
//	24000->16000   2.0 ms, 88 dB    5.0 ms, 100 dB   20 ms, 102 dB     37 ms, 102 dB
//	 8000->16000   4.0 ms           10 ms            61 ms             115 ms
//	16000-> 8000   4.0 ms, 88 dB    10 ms, 104 dB    61 ms, 109 dB     115 ms, 106 dB
//	22050->24000   1.5 ms           3.6 ms           0.9 ms            42 ms
//	44100->16000   2.0 ms, 90 dB    5.1 ms, 109 dB   22 ms, 113 dB     40 ms, 110 dB
//
// soxr collects blocks before it filters and would eat the whole share of the microphone; its quick recipe (QQ) has no
// delay but lets aliases through. Among speex's qualities, 4 is the lowest whose pass-band keeps all that a telephone
// carries (-1 dB at 3540 of 4000 Hz; quality 3 falls off at 3380 Hz), and 5 and more only buy rejection below what
// 16-bit sound can hold. One second of sound costs less than 3 ms of a core, most ratios less than 1 ms.
type Resampler struct {
	in, out int
	speex   *speexState // nil when the rates are equal.
	took    int64       // Samples that came in.
	gave    int64       // Samples that went out.
	silent  int         // Samples of digital silence that came in last.
}

// OpenResampler returns a Resampler from in to out hertz. The caller closes it. The error is ErrRate, or ErrNoResampler
// when libspeexdsp is missing. Equal rates need no library.
func OpenResampler(in, out int) (*Resampler, error) {
	for _, rate := range []int{in, out} {
		if rate < minRate || rate > maxRate {
			return nil, fmt.Errorf("resample %d -> %d Hz: %w", in, out, ErrRate)
		}
	}
	r := &Resampler{in: in, out: out}
	if in == out {
		return r, nil
	}
	s, err := openSpeex(in, out)
	if err != nil {
		return nil, fmt.Errorf("resample %d -> %d Hz: %w", in, out, err)
	}
	r.speex = s
	return r, nil
}

// Resample changes the rate of one whole piece of sound. The result is a copy, with equal rates too.
func Resample(p PCM, in, out int) (PCM, error) {
	r, err := OpenResampler(in, out)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return append(r.Write(p), r.Flush()...), nil
}

// Write takes the next chunk, of any length, and returns the sound that is ready, which may be none. The result belongs
// to the caller and never shares memory with p.
func (r *Resampler) Write(p PCM) PCM { return r.Append(nil, p) }

// Append is Write for whoever has memory: it appends the sound that is ready to out and returns the result.
func (r *Resampler) Append(out, p PCM) PCM {
	r.took += int64(len(p))
	if r.speex == nil {
		r.gave += int64(len(p))
		return append(out, p...)
	}
	return r.pass(out, p)
}

// Flush ends the stream: it returns the tail that the filter still holds and makes the Resampler ready for another one.
func (r *Resampler) Flush() PCM {
	if r.speex == nil {
		return nil
	}
	due := (r.took*int64(r.out)+int64(r.in)/2)/int64(r.in) - r.gave
	r.silent = math.MinInt // the filter is to run
	tail := r.pass(nil, make(PCM, r.speex.latency))
	if int64(len(tail)) > due {
		tail = tail[:due]
	}
	r.took, r.gave, r.silent = 0, 0, 0
	r.speex.restart()
	return tail
}

// Delay returns how much later than the sound that went in the same sound comes out.
func (r *Resampler) Delay() time.Duration {
	if r.speex == nil {
		return 0
	}
	return Duration(r.speex.latency, r.in)
}

// String names the step, for logs.
func (r *Resampler) String() string {
	return fmt.Sprintf("Resample(%d->%d)", r.in, r.out)
}

// Close frees what the Resampler holds outside of Go's memory. A second call does nothing; Write and Flush return
// nothing after it.
func (r *Resampler) Close() error {
	if r.speex != nil {
		r.speex.close()
	}
	return nil
}

// pass sends p through the filter and appends what comes out.
func (r *Resampler) pass(out, p PCM) PCM {
	from := len(out)
	if r.idle(p) {
		out = append(out, make(PCM, len(p)*r.out/r.in)...)
		r.gave += int64(len(out) - from)
		return out
	}
	// One sample more than the ratio gives, for the phase, and one for rounding.
	out = slices.Grow(out, len(p)*r.out/r.in+2)
	out = out[:cap(out)]
	n := from
	for len(p) > 0 {
		took, wrote := r.speex.process(p, out[n:])
		n += wrote
		if took == 0 && wrote == 0 {
			break
		}
		p = p[took:]
	}
	r.gave += int64(n - from)
	return out[:n]
}

// idle takes note of p and reports whether the filter can be left alone: it holds nothing but digital silence, gets no more than that, and
// would stand where it stands now.
func (r *Resampler) idle(p PCM) bool {
	end := len(p)
	for end > 0 && p[end-1] == 0 {
		end--
	}
	if end > 0 {
		r.silent = len(p) - end
		return false
	}
	before := r.silent
	r.silent = min(before+len(p), 1<<30)
	return r.speex.handle != 0 && before > 2*r.speex.latency+1 && len(p)*r.out%r.in == 0 // the filter is twice as long as it is late
}
