package piper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"riposte/tts"
)

// Seams is how well windows fit together.
type Seams struct {
	MaxDiff float64 // The largest distance, of 1, between a sample of the voice in windows and of the whole one, without noise.
	Edges   int     // The places where windows meet.
	// Click is the sharpest bend (second difference) of the sound at an edge by the 99.9th percentile of those elsewhere, with
	// noise as it is set: above 1 an edge might be heard.
	Click float64
}

// Seams measures how e says text in windows. whole is the same voice, opened with Whole. It is for measuring: it takes as
// long as the slow way, and more. A voice that is spoken whole has no seams.
func (e *Engine) Seams(ctx context.Context, whole *Engine, text string) (Seams, error) {
	var all Seams
	for _, engine := range []*Engine{e, whole} {
		if err := engine.enter(); err != nil {
			return all, err
		}
		defer engine.speaking.Done()
	}
	said, err := units(e.voice.Espeak.Voice, tts.Normalize(text, e.voice.language()))
	if err != nil || e.net.decoder == nil {
		return all, err
	}
	for _, unit := range said {
		r := request{scales: e.scales, speaker: e.speaker}
		if r.ids, _, _ = e.voice.ids(unit.phonemes); r.ids == nil {
			continue
		}
		sound, edges, err := e.net.all(ctx, r)
		if err != nil {
			return all, err
		}
		all.Click, all.Edges = max(all.Click, click(sound, edges)), all.Edges+len(edges)

		r.scales[0], r.scales[2] = 0, 0
		inWindows, _, err := e.net.all(ctx, r)
		if err != nil {
			return all, err
		}
		inOne, _, err := whole.net.all(ctx, r)
		if err != nil {
			return all, err
		}
		if len(inWindows) != len(inOne) {
			return all, fmt.Errorf("piper: %d samples in windows and %d in one piece", len(inWindows), len(inOne))
		}
		all.MaxDiff = max(all.MaxDiff, maxDifference(inWindows, inOne))
	}
	return all, nil
}

// all returns all sound of a request, and the samples at which its windows meet.
func (n *network) all(ctx context.Context, r request) (sound []float32, edges []int, err error) {
	for window, err := range n.speak(ctx, r) {
		if err != nil {
			return nil, nil, err
		}
		if len(sound) > 0 {
			edges = append(edges, len(sound))
		}
		sound = append(sound, window...)
	}
	return sound, edges, nil
}

// click returns the sharpest bend at the edges by the 99.9th percentile of those elsewhere, 0 without edges.
func click(sound []float32, edges []int) float64 {
	var others []float64
	sharpest := 0.0
	for i := 1; i < len(sound)-1; i++ {
		bend := math.Abs(float64(sound[i+1]) - 2*float64(sound[i]) + float64(sound[i-1]))
		if slices.ContainsFunc(edges, func(edge int) bool { return i >= edge-2 && i <= edge+1 }) {
			sharpest = max(sharpest, bend)
		} else {
			others = append(others, bend)
		}
	}
	if sharpest == 0 || len(others) == 0 {
		return 0
	}
	slices.Sort(others)
	return sharpest / max(others[len(others)*999/1000], 1e-9)
}
