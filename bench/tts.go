package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/tts"
)

// spokenSentences are what a voice is measured with, of 3, 6, 12 and 24 words.
var spokenSentences = []string{
	"Yes, of course.",
	"I can help you with that.",
	"Your table for four is booked for seven o'clock in the evening.",
	"Your table for four is booked for seven o'clock this evening, and the kitchen knows that one of your guests eats no nuts today.",
}

// TTS measures a voice: how soon it is heard, how much of real time it takes, and how well its sound fits together. Neither
// voice may keep what it has spoken.
type TTS struct {
	Voice tts.Synthesizer
	Whole tts.Synthesizer // The same voice with the same settings, made to speak each text in one piece.
	Runs  int             // How often each sentence is spoken; medians are taken.
	Seed  uint64          // The order of the sentences.

	// Seams returns the largest difference, of 1, between what both voices make of a text without noise, and how sharp the
	// sharpest bend is where two pieces of sound meet, by the 99.9th percentile of the bends elsewhere.
	Seams func(ctx context.Context, text string) (maxDiff, edgeClick float64, err error)
}

// TTSResult is what TTS measured. The maps are by sentence: w3, w6, w12 and w24 have so many words.
type TTSResult struct {
	// FirstAudio is the median time from the text to the first audible sound, in milliseconds: until it has been made, and
	// until what lies ahead of it has been played.
	FirstAudio map[string]float64 `json:"first_audio_ms"`
	// Whole is the median time in milliseconds that the voice in one piece needs for all sound of the sentence.
	Whole        map[string]float64 `json:"whole_ms"`
	FirstByWhole float64            `json:"first_over_whole_w12"` // The median over pairs of runs, one right after the other.
	RTF          float64            `json:"rtf"`                  // Time to make all sound by the time to play it.
	MaxDiff      float64            `json:"max_diff"`
	EdgeClick    float64            `json:"edge_click"`
	Runs         int                `json:"runs"`
	Failed       int                `json:"failed"` // Runs that ended with an error or without audible sound; they are in no median.

	About
}

// Run measures. A run that fails is counted; the error is one of the seams, or that every run of a sentence failed.
func (b *TTS) Run(ctx context.Context) (TTSResult, error) {
	r := TTSResult{FirstAudio: map[string]float64{}, Whole: map[string]float64{}, Runs: b.Runs, About: about(b.Seed)}
	order := rand.New(rand.NewPCG(b.Seed, 0))
	first, whole, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var made, played time.Duration
	var last error
	for range b.Runs {
		for _, i := range order.Perm(len(spokenSentences)) {
			text := spokenSentences[i]
			name := sentenceName(text)
			parts, err := listen(ctx, b.Voice, text)
			if err != nil {
				r.Failed, last = r.Failed+1, err
				continue
			}
			all, err := listen(ctx, b.Whole, text)
			if err != nil {
				r.Failed, last = r.Failed+1, err
				continue
			}
			first[name] = append(first[name], ms(parts.audible))
			whole[name] = append(whole[name], ms(all.made))
			ratios[name] = append(ratios[name], ms(parts.audible)/ms(all.made))
			made, played = made+parts.made, played+parts.sound
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
	}
	for _, text := range spokenSentences {
		name := sentenceName(text)
		if len(first[name]) == 0 {
			return r, fmt.Errorf("%q was not spoken once: %w", text, last)
		}
		r.FirstAudio[name], r.Whole[name] = median(first[name]), median(whole[name])
		diff, click, err := b.Seams(ctx, text)
		if err != nil {
			return r, err
		}
		r.MaxDiff, r.EdgeClick = max(r.MaxDiff, diff), max(r.EdgeClick, click)
	}
	r.FirstByWhole, r.RTF = median(ratios["w12"]), made.Seconds()/played.Seconds()
	r.Machine = r.Machine.after()
	return r, nil
}

// sentenceName returns the name under which a sentence is reported.
func sentenceName(text string) string { return fmt.Sprintf("w%d", len(strings.Fields(text))) }

// spoken is how a text was spoken.
type spoken struct {
	audible time.Duration // To the first audible sound, had all sound been played when it came.
	made    time.Duration // To the end of the sound.
	sound   time.Duration // Its length.
}

// listen lets a voice speak, and takes its sound as fast as it comes.
func listen(ctx context.Context, voice tts.Synthesizer, text string) (spoken, error) {
	begin := time.Now()
	var all audio.PCM
	type chunk struct {
		at   time.Duration
		from int
	}
	var chunks []chunk
	for pcm, err := range voice.Speak(ctx, text, tts.Options{}) {
		if err != nil {
			return spoken{}, err
		}
		chunks = append(chunks, chunk{time.Since(begin), len(all)})
		all = append(all, pcm...)
	}
	s := spoken{made: time.Since(begin), sound: all.Duration(voice.Rate())}
	at, ok := audio.FirstAudible(all, voice.Rate())
	if !ok {
		return s, fmt.Errorf("nothing of %q could be heard", text)
	}
	from := 0
	for _, c := range chunks {
		if c.from > at {
			break
		}
		s.audible = max(s.audible+audio.Duration(c.from-from, voice.Rate()), c.at) // what came before is played first
		from = c.from
	}
	s.audible += audio.Duration(at-from, voice.Rate())
	return s, nil
}

// median returns the middle of the samples, the lower one of two.
func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(samples))[(len(samples)-1)/2]
}
