package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/scenario"
	"riposte/scenario/live"
	"riposte/stt/wer"
	"riposte/tts"
)

// Mouth speaks for the caller of a script: with a clip of a corpus whose transcript has just these words, or else with a voice that
// is made higher or lower than it is, so that nobody takes it for the one that answers. What Ear does not understand is said again,
// at another pitch. It must not be used by two goroutines at once.
type Mouth struct {
	Clips []Clip
	Voice tts.Synthesizer
	Name  string                                           // Of the voice.
	Ear   func(context.Context, audio.PCM) (string, error) // What hears the words of a sound at live.Rate. Nil takes what comes first.

	said map[string]live.Sound
}

// pitches are the takes, by how much higher than it is the voice is made.
var pitches = []float64{1.15, 1.25, 1.05, 0.9}

var _ live.Mouth = (*Mouth)(nil)

// Say speaks words, with the pauses between them.
func (m *Mouth) Say(ctx context.Context, s scenario.Speech, word time.Duration) (live.Sound, error) {
	text, plain := written(s)
	if c, ok := m.clip(text); ok && plain && word == 0 {
		pcm, err := c.said()
		return live.Sound{PCM: pcm, Of: "clip " + clipName(c)}, err
	}
	key := fmt.Sprint(s, word)
	if sound, ok := m.said[key]; ok {
		return sound, nil
	}
	sound, err := m.take(ctx, text, s, word)
	if err != nil {
		return live.Sound{}, fmt.Errorf("say %q: %w", text, err)
	}
	if m.said == nil {
		m.said = map[string]live.Sound{}
	}
	m.said[key] = sound
	return sound, nil
}

// take has the voice say it until it is understood, or no other pitch is left: then the first take is as good as any.
func (m *Mouth) take(ctx context.Context, text string, s scenario.Speech, word time.Duration) (first live.Sound, err error) {
	for i, pitch := range pitches {
		pcm, err := m.speak(ctx, text, s, word, pitch)
		if err != nil {
			return live.Sound{}, err
		}
		sound := live.Sound{PCM: pcm, Of: fmt.Sprintf("voice %s, %.2f times as high", m.Name, pitch)}
		if i == 0 {
			first = sound
		}
		if m.Ear == nil {
			break
		}
		heard, err := m.Ear(ctx, pcm)
		if err != nil {
			return live.Sound{}, err
		}
		if slices.Equal(wer.Normalize(heard), wer.Normalize(text)) {
			return sound, nil
		}
	}
	return first, nil
}

// written returns the words of what is said, and whether there are no pauses in it.
func written(s scenario.Speech) (text string, plain bool) {
	var words []string
	plain = true
	for _, u := range s {
		if u.Word == "" {
			plain = false
			continue
		}
		words = append(words, u.Word)
	}
	return strings.Join(words, " "), plain
}

// clip returns the clip in which the words are said.
func (m *Mouth) clip(text string) (Clip, bool) {
	want := wer.Normalize(text)
	i := slices.IndexFunc(m.Clips, func(c Clip) bool { return c.Transcript != "" && slices.Equal(want, wer.Normalize(c.Transcript)) })
	if i < 0 {
		return Clip{}, false
	}
	return m.Clips[i], true
}

func clipName(c Clip) string { return strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)) }

// said returns what is said in a clip, without the silence around it, at live.Rate.
func (c Clip) said() (audio.PCM, error) {
	pcm, rate, err := c.Sound()
	if err != nil {
		return nil, err
	}
	pcm = pcm[min(len(pcm), audio.Samples(c.SpeechStart, rate)):]
	return audio.Resample(pcm, rate, live.Rate)
}

// The bounds of how fast a voice may speak.
const slowest, fastest = 0.5, 2.5

// speak has the voice say it. The whole is spoken at once, and cut where the pauses belong, so that it sounds as if it went on.
func (m *Mouth) speak(ctx context.Context, text string, s scenario.Speech, word time.Duration, pitch float64) (audio.PCM, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptWait)
	defer cancel()
	speed := float32(1 / pitch) // so much slower that it is as fast as ever when it is played so much higher
	pcm, ends, err := m.voice(ctx, text, speed)
	if err != nil {
		return nil, err
	}
	rate := int(float64(m.Voice.Rate()) * pitch)
	if said := len(strings.Fields(text)); word > 0 && said > 0 {
		factor := float64(pcm.Duration(rate)) / float64(time.Duration(said)*word)
		if pcm, ends, err = m.voice(ctx, text, float32(max(slowest, min(fastest, float64(speed)*factor)))); err != nil {
			return nil, err
		}
	}
	return audio.Resample(pause(pcm, ends, s, rate), rate, live.Rate)
}

// voice speaks a text and says behind which sample each of its words ends. Silence around it is left out.
func (m *Mouth) voice(ctx context.Context, text string, speed float32) (pcm audio.PCM, ends []int, err error) {
	o := tts.Options{Speed: speed, Words: func(w tts.Word) { ends = append(ends, w.Heard) }}
	for part, err := range m.Voice.Speak(ctx, text, o) {
		if err != nil {
			return nil, nil, err
		}
		pcm = append(pcm, part...)
	}
	from, to, ok := audio.Audible(pcm, m.Voice.Rate())
	if !ok {
		return nil, nil, errors.New("the voice says nothing")
	}
	for i := range ends {
		ends[i] -= from
	}
	return pcm[from:to], ends, nil
}

// fade is how long sound takes to cease and to begin at a pause.
const fade = 10 * time.Millisecond

// pause puts the pauses of what is said between its words.
func pause(pcm audio.PCM, ends []int, s scenario.Speech, rate int) (out audio.PCM) {
	word, from := 0, 0
	part := func(to int) {
		p := slices.Clone(pcm[from:to])
		soften(p, audio.Samples(fade, rate))
		out, from = append(out, p...), to
	}
	for _, u := range s {
		switch {
		case u.Word != "":
			word++
		case word > 0 && word <= len(ends):
			if to := min(len(pcm), max(from, ends[word-1])); to > from {
				part(to)
			}
			fallthrough
		default:
			out = append(out, make(audio.PCM, audio.Samples(u.Pause, rate))...)
		}
	}
	if from < len(pcm) {
		part(len(pcm))
	}
	return out
}

// soften lets sound begin and cease within n samples.
func soften(pcm audio.PCM, n int) {
	n = min(n, len(pcm)/2)
	for i := range n {
		pcm[i] = int16(int(pcm[i]) * i / n)
		pcm[len(pcm)-1-i] = int16(int(pcm[len(pcm)-1-i]) * i / n)
	}
}

// Cough is the loudest piece of that length of the first clip in which somebody speaks, played backwards: a voice, and no word.
func (m *Mouth) Cough(_ context.Context, d time.Duration) (live.Sound, error) {
	i := slices.IndexFunc(m.Clips, func(c Clip) bool { return c.Transcript != "" && slices.Contains(c.Kinds, "read") })
	if i < 0 {
		return live.Sound{}, fmt.Errorf("%w: it has no clip of the kind read to make a cough of", ErrCorpus)
	}
	pcm, err := m.Clips[i].said()
	if err != nil {
		return live.Sound{}, err
	}
	n := min(len(pcm), audio.Samples(d, live.Rate))
	at := loudest(pcm, n)
	cough := slices.Clone(pcm[at : at+n])
	slices.Reverse(cough)
	soften(cough, audio.Samples(fade, live.Rate)/2)
	return live.Sound{PCM: cough, Of: fmt.Sprintf("clip %s, %v of it backwards", clipName(m.Clips[i]), d)}, nil
}

// loudest returns where the loudest n samples begin, within a hundredth of a second.
func loudest(pcm audio.PCM, n int) (at int) {
	best := -1.0
	for i := 0; i+n <= len(pcm); i += live.Rate / 100 {
		var energy float64
		for _, s := range pcm[i : i+n] {
			energy += float64(s) * float64(s)
		}
		if energy > best {
			best, at = energy, i
		}
	}
	return at
}

// Noise plays the recording of that name, from its beginning and as often as it takes.
func (m *Mouth) Noise(name string, d time.Duration) (live.Sound, error) {
	var known []string
	for _, c := range m.Clips {
		is, ok := strings.CutPrefix(clipName(c), "noise_")
		if !ok {
			continue
		}
		known = append(known, is)
		if is != name {
			continue
		}
		pcm, rate, err := audio.ReadFile(c.File)
		if err == nil {
			pcm, err = audio.Resample(pcm, rate, live.Rate)
		}
		if err != nil {
			return live.Sound{}, err
		}
		n := audio.Samples(d, live.Rate)
		for len(pcm) > 0 && len(pcm) < n {
			pcm = append(pcm, pcm...)
		}
		return live.Sound{PCM: pcm[:min(n, len(pcm))], Of: "clip " + clipName(c)}, nil
	}
	return live.Sound{}, fmt.Errorf("%w: it has no noise %q: known are %s", ErrCorpus, name, strings.Join(known, ", "))
}
