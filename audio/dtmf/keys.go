package dtmf

import (
	"cmp"
	"math"
	"time"

	"riposte/audio"
)

// Keypad makes the sounds of keys. The zero value is ready for telephone sound.
type Keypad struct {
	Rate  int           // Hertz, at least 8000. It defaults to 8000.
	Low   float64       // Level of the low tone, in dBFS. It defaults to -12, some -6 dBm0.
	High  float64       // Level of the high tone, in dBFS. It defaults to -10: lines weaken high tones more.
	On    time.Duration // How long a key sounds. It defaults to 100 ms.
	Pause time.Duration // The silence after a key. It defaults to 100 ms.
}

// edge is how long a key's sound takes to swell and to die away: what begins at once clicks, which is heard as a tone of its own.
const edge = 3 * time.Millisecond

// Sound returns the sound of keys, one after the other, each with its pause. A "w" or "," among them is half a second of silence. The
// error is an ErrDigit.
func (k Keypad) Sound(digits string) (audio.PCM, error) {
	rate := cmp.Or(k.Rate, audio.G711Rate)
	var p audio.PCM
	for _, digit := range digits {
		if digit == 'w' || digit == ',' {
			p = append(p, make(audio.PCM, rate/2)...)
			continue
		}
		low, high, err := tones(digit)
		if err != nil {
			return nil, err
		}
		p = k.append(p, rate, low, high)
		p = append(p, make(audio.PCM, audio.Samples(cmp.Or(k.Pause, 100*time.Millisecond), rate))...)
	}
	return p, nil
}

// append appends two tones to p.
func (k Keypad) append(p audio.PCM, rate int, low, high float64) audio.PCM {
	n, swell := audio.Samples(cmp.Or(k.On, 100*time.Millisecond), rate), audio.Samples(edge, rate)
	l, h := peak(cmp.Or(k.Low, -12)), peak(cmp.Or(k.High, -10))
	for i := range n {
		t := 2 * math.Pi * float64(i) / float64(rate)
		x := l*math.Sin(low*t) + h*math.Sin(high*t)
		if to := min(i, n-1-i); to < swell {
			x *= 0.5 - 0.5*math.Cos(math.Pi*(float64(to)+0.5)/float64(swell))
		}
		p = append(p, int16(math.Round(max(-32768, min(32767, x)))))
	}
	return p
}

// peak returns the largest sample of a sine whose level is db dBFS.
func peak(db float64) float64 { return 32768 * math.Sqrt2 * math.Pow(10, db/20) }
