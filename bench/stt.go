package bench

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"riposte/audio"
	"riposte/audio/room"
	"riposte/budget"
	"riposte/stt"
	"riposte/stt/wer"
)

// STT lets a recogniser hear every clip in real time, as it comes from a caller, and once more at once, offline.
type STT struct {
	Live    stt.Recognizer // Hears while the clip is spoken.
	Offline stt.Recognizer // Hears the whole clip with the whole window, by the same weights: what Live is compared with.
	Clips   []Clip         // Those without a language have no speech in them, those without a transcript count for times alone.
	Streams int            // Clips heard at the same time. It defaults to 1.
	Each    func(n int, c Clip, h STTHearing)

	// Telephone lets each clip that somebody wrote down, and whose sound is wider than a telephone's, be heard by telephone as well: once by
	// each law.
	Telephone bool
}

// STTHearing is what became of one clip.
type STTHearing struct {
	Text    string        // The transcript.
	Offline string        // That of the offline pass.
	Close   time.Duration // From the last sample to the transcript.
	Full    time.Duration // The offline pass.
	Err     error         // Of whichever pass failed.

	sound        time.Duration
	first        time.Duration // From the beginning of speech to the first hypothesis with words; 0 when there was none.
	hypotheses   int
	stable       int // Words that were marked as stable,
	contradicted int // and those of them that the transcript has not in their place.
	revised      int // Words of a hypothesis that the next one took back.
}

// STTResult is what STT measured.
type STTResult struct {
	Clips         int                `json:"clips"`
	Streams       int                `json:"streams"`
	Failed        int                `json:"failed"`
	WER           float64            `json:"wer"`
	WEROffline    float64            `json:"wer_offline"`
	WERByKind     map[string]float64 `json:"wer_by_kind"`
	Close         Percentiles        `json:"close_ms"` // Clips with speech.
	CloseRatio    float64            `json:"close_ratio"`
	Full          Percentiles        `json:"full_ms"` // The offline passes.
	FirstPartial  Percentiles        `json:"first_partial_ms"`
	NospeechWords int                `json:"nospeech_words"`
	Loops         int                `json:"loops"`
	RTF           float64            `json:"rtf"` // CPU seconds for a second of sound, heard live.
	Hypotheses    float64            `json:"hypotheses_per_s"`
	Contradicted  float64            `json:"stable_contradicted"` // Share of the words marked as stable.
	Revised       float64            `json:"revised_per_word"`    // Words taken back, for each word of the transcripts.

	*TelephoneWER // Where it was asked for.

	About
}

// TelephoneWER compares what is heard by telephone with the same clips as they are.
type TelephoneWER struct {
	Wide      float64              `json:"wer_wide"` // As they are.
	Telephone float64              `json:"wer_telephone"`
	ByLaw     map[room.Law]float64 `json:"wer_by_law"` // The same for each law.
	Failed    int                  `json:"failed_telephone"`
}

// Run hears all clips. A clip that fails is counted; the error is that of ctx.
func (b *STT) Run(ctx context.Context) (STTResult, error) {
	r := STTResult{Clips: len(b.Clips), Streams: max(1, b.Streams), WERByKind: map[string]float64{}, About: about(0)}
	all := make([]STTHearing, len(b.Clips))
	var cpu time.Duration
	if r.Streams == 1 { // One beside the other, so that both meet the same machine.
		for i, c := range b.Clips {
			before := processTime()
			all[i] = b.live(ctx, c)
			cpu += processTime() - before
			b.offline(ctx, c, &all[i])
			b.tell(i, c, all[i])
		}
	} else {
		before := processTime()
		b.spread(ctx, b.Clips, all)
		cpu = processTime() - before
		for i, c := range b.Clips {
			b.offline(ctx, c, &all[i])
			b.tell(i, c, all[i])
		}
	}
	if b.Telephone {
		r.TelephoneWER = b.telephone(ctx, all)
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	r.add(b.Clips, all, cpu)
	r.Machine = r.Machine.after()
	return r, nil
}

// spread hears clips live, as many at once as there are streams.
func (b *STT) spread(ctx context.Context, clips []Clip, all []STTHearing) {
	next := make(chan int)
	var streams sync.WaitGroup
	for range max(1, b.Streams) {
		streams.Go(func() {
			for i := range next {
				all[i] = b.live(ctx, clips[i])
			}
		})
	}
	for i := range clips {
		next <- i
	}
	close(next)
	streams.Wait()
}

func (b *STT) tell(n int, c Clip, h STTHearing) {
	if b.Each != nil {
		b.Each(n, c, h)
	}
}

// speech returns a clip as a recogniser takes it.
func (c Clip) speech() (audio.PCM, error) {
	pcm, rate, err := c.Sound()
	if err != nil || rate == audio.SpeechRate {
		return pcm, err
	}
	return audio.Resample(pcm, rate, audio.SpeechRate)
}

// live speaks a clip in real time.
func (b *STT) live(ctx context.Context, c Clip) (h STTHearing) {
	pcm, err := c.speech()
	if err != nil || ctx.Err() != nil {
		h.Err = err
		return h
	}
	h.sound = pcm.Duration(audio.SpeechRate)
	began := time.Now()
	var mu sync.Mutex
	var heard []stt.Hypothesis
	s := b.Live.Listen(stt.Options{Language: c.Language, Heard: func(x stt.Hypothesis) {
		mu.Lock()
		defer mu.Unlock()
		if h.first == 0 && x.Text != "" {
			h.first = time.Since(began) - c.SpeechStart
		}
		heard = append(heard, x)
	}})
	defer s.Close()
	const frame = audio.SpeechRate / 50
	at := began
	for f := range slices.Chunk(pcm, frame) {
		at = at.Add(f.Duration(audio.SpeechRate))
		if wait := time.Until(at); wait > 0 {
			time.Sleep(wait) // A frame is there when its last sample is.
		}
		s.Write(f)
	}
	spoken := time.Now()
	t, err := s.Finish(ctx, budget.Urgency{})
	h.Close, h.Text, h.Err = time.Since(spoken), t.Text, err
	mu.Lock()
	defer mu.Unlock()
	h.judge(heard)
	return h
}

// offline hears a clip at once.
func (b *STT) offline(ctx context.Context, c Clip, h *STTHearing) {
	pcm, err := c.speech()
	if err == nil && h.Err == nil {
		began := time.Now()
		var t stt.Transcript
		t, err = stt.Transcribe(ctx, b.Offline, pcm, stt.Options{Language: c.Language})
		h.Full, h.Offline = time.Since(began), t.Text
	}
	if h.Err == nil {
		h.Err = err
	}
}

// judge compares the hypotheses with each other and with the transcript, word by word.
func (h *STTHearing) judge(heard []stt.Hypothesis) {
	final := bare(h.Text)
	var before []string
	h.hypotheses = len(heard)
	for _, x := range heard {
		words, stable := bare(x.Text), bare(x.Text[:x.Stable])
		for i := h.stable; i < len(stable); i++ {
			if i >= len(final) || final[i] != stable[i] {
				h.contradicted++
			}
		}
		h.stable = max(h.stable, len(stable))
		same := 0
		for same < len(before) && same < len(words) && before[same] == words[same] {
			same++
		}
		h.revised += len(before) - same
		before = words
	}
}

// bare returns the words of a text without case and punctuation, each for itself.
func bare(text string) []string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		words[i] = strings.Trim(w, ".,;:!?\"-")
	}
	return words
}

// add counts everything up.
func (r *STTResult) add(clips []Clip, all []STTHearing, cpu time.Duration) {
	var live, offline wer.Count
	byKind := map[string]wer.Count{}
	var closes, fulls, firsts []time.Duration
	var ratios []float64
	var sound time.Duration
	words, stable, contradicted, revised, hypotheses := 0, 0, 0, 0, 0
	for i, c := range clips {
		h := all[i]
		sound += h.sound
		if h.Err != nil {
			r.Failed++
		}
		if c.Language == "" {
			r.NospeechWords += len(wer.Normalize(h.Text))
			continue
		}
		if c.Transcript != "" { // Who failed has missed all words.
			count := wer.WER(c.Transcript, h.Text)
			live, offline = live.Add(count), offline.Add(wer.WER(c.Transcript, h.Offline))
			for _, kind := range c.Kinds {
				byKind[kind] = byKind[kind].Add(count)
			}
		}
		if looped(wer.Normalize(h.Text)) && !looped(wer.Normalize(c.Transcript)) {
			r.Loops++
		}
		words, stable, contradicted = words+len(bare(h.Text)), stable+h.stable, contradicted+h.contradicted
		revised, hypotheses = revised+h.revised, hypotheses+h.hypotheses
		if h.Err != nil {
			continue
		}
		closes, fulls = append(closes, h.Close), append(fulls, h.Full)
		ratios = append(ratios, h.Close.Seconds()/max(h.Full.Seconds(), 1e-9))
		if h.first > 0 {
			firsts = append(firsts, h.first)
		}
	}
	r.WER, r.WEROffline = live.Rate(), offline.Rate()
	for kind, count := range byKind {
		r.WERByKind[kind] = count.Rate()
	}
	r.Close, r.Full, r.FirstPartial = percentiles(closes), percentiles(fulls), percentiles(firsts)
	if len(ratios) > 0 {
		slices.Sort(ratios)
		r.CloseRatio = ratios[(len(ratios)-1)/2]
	}
	r.RTF = cpu.Seconds() / max(sound.Seconds(), 1e-9)
	r.Hypotheses = float64(hypotheses) / max(speechTime(clips, all).Seconds(), 1e-9)
	r.Contradicted = float64(contradicted) / float64(max(1, stable))
	r.Revised = float64(revised) / float64(max(1, words))
}

// speechTime returns how long the clips with speech are.
func speechTime(clips []Clip, all []STTHearing) (d time.Duration) {
	for i, c := range clips {
		if c.Language != "" {
			d += all[i].sound
		}
	}
	return d
}

// looped reports whether words come three times in a row, six words at the least.
func looped(words []string) bool {
	for period := 1; 3*period <= len(words); period++ {
		same := 0
		for i := period; i < len(words); i++ {
			if words[i] != words[i-period] {
				same = 0
				continue
			}
			if same++; same+period >= max(3*period, 6) {
				return true
			}
		}
	}
	return false
}

// processTime returns how long all cores together have worked for this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
