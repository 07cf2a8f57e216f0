package piper

import (
	"context"
	"errors"
	"fmt"
	"math"

	"riposte/native/onnx"
)

// maxSeam is how far windows may be from the whole, in samples of -1..1: far below what 16 bits hold of quiet speech.
const maxSeam = 1e-3

// check measures the samples a frame and compares windows with the whole on one short request, which warms the parts up
// besides. It settles on the least overlap with which they are the same, and returns errUncut where there is none.
func (n *network) check(ctx context.Context, r request) error {
	if n.decoder == nil {
		_, behind, err := n.whole(ctx, r)
		n.timed = n.timed && behind != nil
		return err
	}
	out, err := n.run(ctx, n.text, r, nil)
	if err != nil {
		return err
	}
	defer closeAll(out)
	whole, err := n.utterance(r, out)
	if err != nil {
		return errors.Join(errUncut, err)
	}
	n.timed = n.timed && whole.behind != nil
	want, err := whole.whole(ctx)
	if err != nil {
		return err
	}
	n.hop = len(want) / whole.n
	if n.hop == 0 || len(want)%whole.n != 0 {
		return fmt.Errorf("%w: %d frames become %d samples", errUncut, whole.n, len(want))
	}
	for _, n.overlap = range overlaps {
		var d float64
		if d, err = n.distance(ctx, r, out, want); err != nil {
			return err
		}
		if d <= maxSeam {
			return nil
		}
		err = fmt.Errorf("%w: windows differ from the whole by %v", errUncut, d)
	}
	return err
}

// distance returns how far windows are from the whole that they should equal.
func (n *network) distance(ctx context.Context, r request, made []onnx.Value, want []float32) (float64, error) {
	parts, err := n.utterance(r, made)
	if err != nil {
		return 0, err
	}
	worst := 0.0
	for from := 0; from < parts.n; {
		to := min(parts.n, from+firstWindow)
		got, err := parts.sound(ctx, from, to)
		if err != nil {
			return 0, errors.Join(errUncut, err)
		}
		worst = max(worst, maxDifference(got, want[from*n.hop:to*n.hop]))
		from = to
	}
	return worst, nil
}

// maxDifference returns the largest distance between samples at the same place.
func maxDifference(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}
