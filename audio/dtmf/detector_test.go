package dtmf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
)

// feed gives p to a new detector in pieces of random lengths and returns the digits.
func feed(rnd *rand.Rand, rate int, p audio.PCM) []Digit {
	d := &Detector{Rate: rate}
	var all []Digit
	for piece := range audiotest.Pieces(rnd, p, rate/20) {
		all = append(all, d.Take(piece)...)
	}
	return append(all, d.Flush()...)
}

func text(digits []Digit) string {
	var b strings.Builder
	for _, d := range digits {
		b.WriteRune(d.Rune)
	}
	return b.String()
}

// burst is a key's sound that is not as it should be.
type burst struct {
	rate       int
	lowOff     float64 // How far the tones are off, as a share.
	highOff    float64
	low, high  float64 // Levels in dBFS.
	on, before time.Duration
}

// sound returns a digit that begins at once and ends at once, between silences.
func (b burst) sound(rnd *rand.Rand, digit rune) audio.PCM {
	low, high, err := tones(digit)
	if err != nil {
		panic(err)
	}
	p := make(audio.PCM, audio.Samples(b.before, b.rate))
	lowPhase, highPhase := rnd.Float64(), rnd.Float64()
	for i := range audio.Samples(b.on, b.rate) {
		t := float64(i) / float64(b.rate)
		p = append(p, int16(math.Round(peak(b.low)*math.Sin(2*math.Pi*(low*(1+b.lowOff)*t+lowPhase))+
			peak(b.high)*math.Sin(2*math.Pi*(high*(1+b.highOff)*t+highPhase)))))
	}
	return append(p, make(audio.PCM, audio.Samples(40*time.Millisecond, b.rate))...)
}

func plain() burst {
	return burst{rate: 8000, low: -15, high: -15, on: 40 * time.Millisecond, before: 10 * time.Millisecond}
}

// Everything that Q.24 says is a digit, or none, in every key and many phases, under noise where it does not say.
func TestQ24(t *testing.T) {
	for _, c := range []struct {
		name   string
		b      func(b *burst, rnd *rand.Rand)
		snr    float64 // In dB; 0 is no noise.
		passes func(share float64) bool
	}{
		{"40 ms", func(*burst, *rand.Rand) {}, 0, all},
		{"40 ms under noise of -15 dB", func(*burst, *rand.Rand) {}, 15, all},
		{"100 ms under noise of -12 dB", func(b *burst, _ *rand.Rand) { b.on = 100 * time.Millisecond }, 12, all},
		{"23 ms", func(b *burst, _ *rand.Rand) { b.on = 23 * time.Millisecond }, 0, none},
		{"23 ms under noise", func(b *burst, _ *rand.Rand) { b.on = 23 * time.Millisecond }, 15, none},
		{"off by up to 1.5 %", func(b *burst, rnd *rand.Rand) {
			b.lowOff, b.highOff = 0.03*rnd.Float64()-0.015, 0.03*rnd.Float64()-0.015
		}, 0, all},
		{"off by 1.5 % under noise", func(b *burst, rnd *rand.Rand) { b.lowOff, b.highOff = sign(rnd)*0.015, sign(rnd)*0.015 }, 15, all},
		{"low tone off by 3.5 %", func(b *burst, rnd *rand.Rand) { b.lowOff, b.on = sign(rnd)*0.035, 100*time.Millisecond }, 0, none},
		{"high tone off by 3.5 %", func(b *burst, rnd *rand.Rand) { b.highOff, b.on = sign(rnd)*0.035, 100*time.Millisecond }, 0, none},
		{"low tone off by 3.5 % under noise", func(b *burst, rnd *rand.Rand) { b.lowOff, b.on = sign(rnd)*0.035, 100*time.Millisecond }, 15, none},
		{"low tone 8 dB louder", func(b *burst, _ *rand.Rand) { b.high -= 8 }, 0, all},
		{"low tone 8 dB louder under noise", func(b *burst, _ *rand.Rand) { b.high -= 8 }, 15, nearlyAll},
		{"high tone 4 dB louder", func(b *burst, _ *rand.Rand) { b.low -= 4 }, 0, all},
		{"high tone 4 dB louder under noise", func(b *burst, _ *rand.Rand) { b.low -= 4 }, 15, nearlyAll},
		{"low tone 12 dB louder", func(b *burst, _ *rand.Rand) { b.high -= 12 }, 0, none},
		{"high tone 8 dB louder", func(b *burst, _ *rand.Rand) { b.low -= 8 }, 0, none},
		{"0 dBm0 together, the loudest that is not clipped", func(b *burst, _ *rand.Rand) { b.low, b.high = -9.1, -9.1 }, 0, all},
		{"-25 dBm0, the softest", func(b *burst, _ *rand.Rand) { b.low, b.high = -31, -31 }, 0, all},
		{"-25 dBm0 under noise", func(b *burst, _ *rand.Rand) { b.low, b.high = -31, -31 }, 15, all},
		{"-52 dBm0", func(b *burst, _ *rand.Rand) { b.low, b.high = -58, -58 }, 0, none},
	} {
		for _, rate := range []int{8000, 16000, 48000} {
			times := 80_000 / rate // As much sound of each rate.
			t.Run(fmt.Sprintf("%s at %d Hz", c.name, rate), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(1, uint64(rate)))
				found, asked, wrong := 0, 0, 0
				for range times {
					for _, digit := range keys {
						b := plain()
						b.rate, b.before = rate, time.Duration(rnd.IntN(20_000))*time.Microsecond
						c.b(&b, rnd)
						p := b.sound(rnd, digit)
						if c.snr != 0 {
							p = audiotest.Mix(p, audiotest.Noise(rnd, len(p), 10*math.Log10(decibels(b.low)+decibels(b.high))-c.snr))
						}
						asked++
						switch got := text(feed(rnd, rate, p)); got {
						case string(digit):
							found++
						case "":
						default:
							wrong++
							t.Logf("%c was heard as %q", digit, got)
						}
					}
				}
				if share := float64(found) / float64(asked); wrong > 0 || !c.passes(share) {
					t.Errorf("%d of %d were heard, %d wrongly", found, asked, wrong)
				}
			})
		}
	}
}

func all(share float64) bool       { return share == 1 }
func nearlyAll(share float64) bool { return share > 0.98 }
func none(share float64) bool      { return share == 0 }

func sign(rnd *rand.Rand) float64 { return float64(2*rnd.IntN(2) - 1) }

// Keys one after the other, by the laws of telephone lines, and where each was.
func TestSequence(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for name, line := range map[string]func(audio.PCM) audio.PCM{
		"linear": func(p audio.PCM) audio.PCM { return p },
		"mu-law": func(p audio.PCM) audio.PCM { return audio.FromMuLaw(p.AppendMuLaw(nil)) },
		"A-law":  func(p audio.PCM) audio.PCM { return audio.FromALaw(p.AppendALaw(nil)) },
	} {
		for _, k := range []Keypad{
			{}, {On: 40 * time.Millisecond, Pause: 40 * time.Millisecond}, {On: 50 * time.Millisecond, Pause: 40 * time.Millisecond, Low: -33, High: -31},
			{Low: -9.1, High: -9.1}, {On: time.Second}, {Rate: 16000}, {Rate: 24000}, {Rate: 48000, On: 45 * time.Millisecond},
		} {
			k.Rate = max(k.Rate, 8000)
			const dialled = "159D*0#A1122233C4B8876"
			p, err := k.Sound(dialled)
			if err != nil {
				t.Fatal(err)
			}
			lead := rnd.IntN(k.Rate / 10)
			p = line(append(make(audio.PCM, lead), p...))
			p = audiotest.Mix(p, audiotest.Noise(rnd, len(p), max(-70, p[lead:lead+k.Rate/50].Level()-20)))
			got := feed(rnd, k.Rate, p)
			if text(got) != dialled {
				t.Errorf("%s, %+v: heard %q", name, k, text(got))
				continue
			}
			on, pause := max(k.On, 40*time.Millisecond), max(k.Pause, 40*time.Millisecond)
			if k.On == 0 {
				on = 100 * time.Millisecond
			}
			if k.Pause == 0 {
				pause = 100 * time.Millisecond
			}
			for i, d := range got {
				at := audio.Duration(lead, k.Rate) + time.Duration(i)*(on+pause)
				if d.At < at-5*time.Millisecond || d.At > at+5*time.Millisecond || d.Length < on-10*time.Millisecond || d.Length > on+10*time.Millisecond {
					t.Errorf("%s, %+v: %d. was at %v for %v, and not at %v for %v", name, k, i+1, d.At, d.Length, at, on)
				}
			}
		}
	}
}

// A line that fails for 10 ms does not make two digits of one; 40 ms are a pause.
func TestInterruption(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		gap  time.Duration
		want string
	}{{10 * time.Millisecond, "5"}, {40 * time.Millisecond, "55"}} {
		for range 50 {
			p, _ := Keypad{On: 200 * time.Millisecond}.Sound("5")
			from := 400 + rnd.IntN(400)
			clear(p[from : from+audio.Samples(c.gap, 8000)])
			if got := text(feed(rnd, 8000, p)); got != c.want {
				t.Errorf("a gap of %v at %d: heard %q", c.gap, from, got)
			}
		}
	}
}

// A digit is known before it ends.
func TestSounding(t *testing.T) {
	p, err := Keypad{On: 400 * time.Millisecond}.Sound("7")
	if err != nil {
		t.Fatal(err)
	}
	d := &Detector{}
	for at := 0; at < len(p); at += 160 {
		ended := d.Take(p[at : at+160])
		now := time.Duration(at+160) * time.Second / 8000
		sounding := d.Sounding() == '7'
		if now >= 60*time.Millisecond && now <= 400*time.Millisecond && !sounding || now >= 460*time.Millisecond && sounding || len(ended) > 0 && now < 400*time.Millisecond {
			t.Errorf("after %v it sounds: %v, and ended: %v", now, sounding, ended)
		}
	}
}

// No key is heard in speech, be it loud, soft, noisy or by telephone, and none in music. RIPOSTE_TEST_CORPUS makes it all of a folder's.
func TestTalkOff(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	clips := audiotest.Corpus(t)
	var heard time.Duration
	for _, c := range clips {
		for _, rate := range []int{8000, 16000} {
			p := c.At(t, rate)
			if len(p) == 0 || math.IsInf(p.Level(), -1) {
				continue
			}
			law := audio.FromMuLaw(audiotest.Level(p, -20).AppendMuLaw(nil))
			for name, p := range map[string]audio.PCM{
				"as it is": p, "loud": audiotest.Level(p, -8), "soft": audiotest.Level(p, -36), "by mu-law": law,
				"with noise as loud": audiotest.Mix(p, audiotest.Noise(rnd, len(p), p.Level())),
				"over music":         audiotest.Mix(law, audiotest.Level(clips[rnd.IntN(len(clips))].At(t, rate), -20)),
			} {
				heard += p.Duration(rate)
				if got := feed(rnd, rate, p); len(got) > 0 {
					t.Errorf("%s, %s, at %d Hz: %v", c.Name, name, rate, got)
				}
			}
		}
	}
	t.Logf("%d clips, %v in all", len(clips), heard.Round(time.Second))
}

// Keys are heard while somebody speaks softly.
func TestOverSpeech(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	heard, asked := 0, 0
	for _, c := range audiotest.Project(t) {
		p, err := Keypad{}.Sound("0123456789*#")
		if err != nil {
			t.Fatal(err)
		}
		p = audiotest.Mix(p, audiotest.Level(c.At(t, 8000), -30))
		asked += 12
		heard += len(feed(rnd, 8000, p))
	}
	if asked-heard > asked/20 {
		t.Errorf("%d of %d keys were heard over soft speech", heard, asked)
	}
}

func FuzzTake(f *testing.F) {
	p, _ := Keypad{}.Sound("15#")
	f.Add(p.AppendBytes(nil), 160)
	f.Add([]byte{255, 127, 0, 128}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		p := audio.FromBytes(b)
		whole, parts := &Detector{}, &Detector{}
		want := append(whole.Take(p), whole.Flush()...)
		var got []Digit
		for len(p) > 0 {
			k := min(len(p), max(1, n))
			got = append(got, parts.Take(p[:k])...)
			p = p[k:]
		}
		if got = append(got, parts.Flush()...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("in pieces of %d: %v, whole: %v", n, got, want)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	for _, rate := range []int{8000, 16000, 48000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			frame, d := audiotest.Tone(rate/50, rate, 700, -10), &Detector{Rate: rate}
			for b.Loop() {
				d.Take(frame)
			}
		})
	}
}
