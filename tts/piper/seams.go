package piper

import (
	"context"
	"math"
	"slices"

	"riposte/tts"
)

// Seams is how well windows fit together.
type Seams struct {
	MaxDiff float64 // The largest distance between a sample in windows and in the whole, of 1.
	Edges   int     // The places where windows meet.
	// Click is the sharpest bend (second difference) of the sound at an edge by the 99.9th percentile of those elsewhere:
	// above 1 an edge might be heard.
	Click float64
}

// Seams speaks text twice, in windows and whole, from the same prior, so that noise makes no difference between the two. It
// is for measuring: it takes as long as the slow way. A voice that is spoken whole has no seams.
func (e *Engine) Seams(ctx context.Context, text string) (Seams, error) {
	var all Seams
	if err := e.enter(); err != nil {
		return all, err
	}
	defer e.speaking.Done()
	said, err := units(e.voice.Espeak.Voice, tts.Normalize(text, e.voice.language()))
	if err != nil || e.net.decoder == nil {
		return all, err
	}
	for _, unit := range said {
		r := request{scales: e.scales, speaker: e.speaker}
		if r.ids, _ = e.voice.ids(unit.phonemes); r.ids == nil {
			continue
		}
		var s Seams
		err := e.net.work(ctx, workSeams, len(r.ids), nil, func(ctx context.Context) (err error) {
			s, err = e.net.seams(ctx, r)
			return err
		})
		if err != nil {
			return all, err
		}
		all.MaxDiff, all.Click, all.Edges = max(all.MaxDiff, s.MaxDiff), max(all.Click, s.Click), all.Edges+s.Edges
	}
	return all, nil
}

// seams measures one request.
func (n *network) seams(ctx context.Context, r request) (Seams, error) {
	prior, err := n.run(ctx, n.text, r, nil)
	if err != nil {
		return Seams{}, err
	}
	defer closeAll(prior)
	whole, err := n.utterance(r, prior)
	if err != nil {
		return Seams{}, err
	}
	want, err := whole.whole(ctx)
	if err != nil {
		return Seams{}, err
	}
	parts, err := n.utterance(r, prior)
	if err != nil {
		return Seams{}, err
	}
	var got []float32
	var edges []int
	for parts.at < parts.n {
		if parts.at > 0 {
			edges = append(edges, len(got))
		}
		sound, err := parts.next(ctx)
		if err != nil {
			return Seams{}, err
		}
		got = append(got, sound...)
	}
	return Seams{MaxDiff: maxDifference(got, want), Edges: len(edges), Click: click(got, edges)}, nil
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
