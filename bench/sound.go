package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"riposte/audio"
	"riposte/audio/room"
)

// Sound compares what changes sound's rate here, and writes it by G.711, with other people's programs, by pure tones.
type Sound struct {
	Programs []Program // Ours needs not be among them.
}

// SoundResult is what Sound measured.
type SoundResult struct {
	Rates   []RateResult `json:"rates"`
	G711    []G711Result `json:"g711"`
	Missing []string     `json:"missing"` // Programs that are not on this machine.

	About
}

// RateResult is how well a program changes one rate to another. What can be carried is what lies below half of the lower rate, here its half.
type RateResult struct {
	Program   string  `json:"program"`
	In        int     `json:"in_hz"`
	Out       int     `json:"out_hz"`
	Ripple    float64 `json:"ripple_db"`    // Between the tone that comes out loudest and the one that comes out softest, from 300 Hz to 85 % of the half: 3,400 Hz at 8 kHz.
	Edge      float64 `json:"edge_db"`      // How loud a tone at 85 % of the half comes out, by that at 1 kHz,
	Half      float64 `json:"half_db"`      // and one just below the half, at 97.5 % of it: 3,900 Hz at 8 kHz.
	SNR       float64 `json:"snr_db"`       // A tone by all that comes out beside it, at the worst tone of the band.
	Rejection float64 `json:"rejection_db"` // A tone by what comes out of it on the half's other side, for those more than 15 % away from the half, at the worst,
	Near      float64 `json:"near_db"`      // and for those that are nearer.
}

// G711Result is how a program's G.711 compares with ours: how many samples and codes it turns into the same.
type G711Result struct {
	Program string   `json:"program"`
	Law     room.Law `json:"law"`
	Encoded int      `json:"encoded_same"` // Of 65,536 samples.
	Decoded int      `json:"decoded_same"` // Of 256 codes.
	Apart   int      `json:"most_apart"`   // By how much the value of a code may differ from that of ours, in steps of 16 bits, at the most.
	SNR     float64  `json:"snr_db"`       // A tone at -20 dBFS by what the program makes of it and back,
	OurSNR  float64  `json:"our_snr_db"`   // and what this one does.
}

// ours is this program.
const ours = "riposte"

// soundRates are those that occur on calls: by telephone, for the recogniser, of voices, and of WebRTC.
var soundRates = []int{8000, 16000, 24000, 48000}

// Run measures. A program that is not here is named in the result; one that fails is an error.
func (b *Sound) Run(ctx context.Context) (SoundResult, error) {
	r := SoundResult{Missing: []string{}, About: about(0)}
	programs := []Program{{Name: ours, resample: func(_ context.Context, p audio.PCM, in, out int) (audio.PCM, error) {
		return audio.Resample(p, in, out)
	}}}
	for _, p := range b.Programs {
		if p.missing() {
			r.Missing = append(r.Missing, p.Name)
			continue
		}
		programs = append(programs, p)
	}
	for _, in := range soundRates {
		for _, out := range soundRates {
			for _, p := range programs {
				if in == out {
					continue
				}
				rate, err := p.rate(ctx, in, out)
				if err != nil {
					return r, err
				}
				r.Rates = append(r.Rates, rate)
			}
		}
	}
	for _, law := range room.Laws {
		for _, p := range programs[1:] {
			g, err := p.g711(ctx, law)
			if err != nil {
				return r, err
			}
			r.G711 = append(r.G711, g)
		}
	}
	r.Machine = r.Machine.after()
	return r, nil
}

// Tones are sounded one after the other, each for as long as a long filter needs to settle, and are heard in their middle.
const (
	toneParts = 10 // In a second's third: each tone sounds for so many parts,
	toneFrom  = 3  // and is heard from this one
	toneTo    = 8  // to this one.
	tonePeak  = 0.5
)

// rate measures one change of rates.
func (p Program) rate(ctx context.Context, in, out int) (RateResult, error) {
	r := RateResult{Program: p.Name, In: in, Out: out, SNR: math.Inf(1), Rejection: math.Inf(1), Near: math.Inf(1)}
	lower := float64(min(in, out))
	half := lower / 2
	freqs := []float64{1000, 0.85 * half, 0.975 * half}
	for f := 300.0; f <= 0.975*half; f += half / 40 {
		freqs = append(freqs, f)
	}
	if in > out { // What lies on the half's other side must not be heard on this one.
		for f := half * 1.025; f < min(2*half, float64(in)/2); f += half / 40 {
			freqs = append(freqs, f)
		}
	}
	n := in / 3 / toneParts * toneParts
	var sound audio.PCM
	for _, f := range freqs {
		for i := range n {
			sound = append(sound, int16(math.Round(32767*tonePeak*math.Sin(2*math.Pi*f*float64(i)/float64(in)))))
		}
	}
	got, err := p.resample(ctx, sound, in, out)
	if err != nil {
		return r, fmt.Errorf("%s, %d to %d Hz: %w", p.Name, in, out, err)
	}
	if want := len(sound) * out / in; len(got) < want-want/100 || len(got) > want+want/100 {
		return r, fmt.Errorf("%s made %d samples of %d, %d to %d Hz", p.Name, len(got), len(sound), in, out)
	}
	got = append(got, make(audio.PCM, out/100)...)
	var levels []float64
	kilohertz := 0.0
	for i, f := range freqs {
		each := n * out / in
		heard := got[i*each+each*toneFrom/toneParts : i*each+each*toneTo/toneParts]
		reach := math.Abs(f/half - 1)
		if f > half {
			r.reject(reach, -heard.Level()+20*math.Log10(tonePeak/math.Sqrt2))
			continue
		}
		power, beside := fit(heard, f/float64(out))
		level := 10*math.Log10(2*power) - 20*math.Log10(tonePeak)
		switch i {
		case 0:
			kilohertz = level
		case 1:
			r.Edge = level - kilohertz
		case 2:
			r.Half = level - kilohertz
		}
		if f <= 0.85*half {
			levels = append(levels, level)
			r.SNR = min(r.SNR, 10*math.Log10(power/mean(beside)))
		}
		if out > in {
			image, _ := fit(beside, (float64(in)-f)/float64(out))
			r.reject(reach, 10*math.Log10(power/max(image, 1e-12)))
		}
	}
	r.Ripple = slices.Max(levels) - slices.Min(levels)
	return r, nil
}

func abs(n int) int { return max(n, -n) }

// reject notes by how much a tone is rejected that lies so far from the half, as a share of it.
func (r *RateResult) reject(reach, db float64) {
	if db = min(db, 120); reach >= 0.15 { // 16 bits hold no more.
		r.Rejection = min(r.Rejection, db)
	} else {
		r.Near = min(r.Near, db)
	}
}

// fit returns the power of the tone in p that makes f periods a sample, where 1 is a full-scale square wave's, and p without it.
func fit[S ~[]E, E int16 | float64](p S, f float64) (power float64, beside []float64) {
	// Least squares of a sine and a cosine: they are not quite at right angles over a span that is no whole number of periods.
	var ss, sc, cc, xs, xc float64
	for i, x := range p {
		sin, cos := math.Sincos(2 * math.Pi * f * float64(i))
		ss, sc, cc = ss+sin*sin, sc+sin*cos, cc+cos*cos
		xs, xc = xs+float64(x)*sin, xc+float64(x)*cos
	}
	d := ss*cc - sc*sc
	a, b := (xs*cc-xc*sc)/d, (xc*ss-xs*sc)/d
	beside = make([]float64, len(p))
	for i, x := range p {
		sin, cos := math.Sincos(2 * math.Pi * f * float64(i))
		beside[i] = float64(x) - a*sin - b*cos
	}
	return (a*xs + b*xc) / float64(len(p)) / (32768 * 32768), beside
}

// mean returns the power of p, of which there is always some.
func mean(p []float64) float64 {
	sum := 0.0
	for _, x := range p {
		sum += x * x
	}
	return max(sum/float64(len(p))/(32768*32768), 1e-12)
}

// g711 compares a program's G.711 with ours.
func (p Program) g711(ctx context.Context, law room.Law) (G711Result, error) {
	r := G711Result{Program: p.Name, Law: law}
	encode, decode := audio.PCM.AppendMuLaw, audio.FromMuLaw
	if law == room.ALaw {
		encode, decode = audio.PCM.AppendALaw, audio.FromALaw
	}
	samples, codes := make(audio.PCM, 1<<16), make([]byte, 256)
	for i := range samples {
		samples[i] = int16(i - 1<<15)
	}
	for i := range codes {
		codes[i] = byte(i)
	}
	coded, err := p.encode(ctx, law, samples)
	if err != nil {
		return r, err
	}
	decoded, err := p.decode(ctx, law, codes)
	if err != nil {
		return r, err
	}
	if len(coded) != len(samples) || len(decoded) != len(codes) {
		return r, fmt.Errorf("%s made %d codes of %d samples by %s, and %d samples of %d codes", p.Name, len(coded), len(samples), law, len(decoded), len(codes))
	}
	values := decode(codes)
	for i, c := range encode(samples, nil) {
		if c == coded[i] {
			r.Encoded++
		}
		r.Apart = max(r.Apart, abs(int(values[c])-int(values[coded[i]])))
	}
	for i, s := range values {
		if s == decoded[i] {
			r.Decoded++
		}
	}
	const freq = 1004.0 / audio.G711Rate
	tone := make(audio.PCM, audio.G711Rate)
	for i := range tone {
		tone[i] = int16(math.Round(32768 * 0.1 * math.Sqrt2 * math.Sin(2*math.Pi*freq*float64(i))))
	}
	theirs := make(audio.PCM, len(tone))
	for i, x := range tone {
		theirs[i] = decoded[coded[int(x)+1<<15]]
	}
	snr := func(p audio.PCM) float64 {
		power, beside := fit(p, freq)
		return 10 * math.Log10(power/mean(beside))
	}
	r.SNR, r.OurSNR = snr(theirs), snr(decode(encode(tone, nil)))
	return r, nil
}
