package piper

import (
	"context"
	"fmt"

	"riposte/native/onnx"
)

const (
	// firstWindow is how many frames are decoded first: about 190 ms of sound at 22.05 kHz, enough to play while the
	// next, larger window is made.
	firstWindow = 16
	// maxWindow is the largest window, in frames. Larger ones save little: the overlap is a quarter of the work by then.
	maxWindow = 64
	// flowOverlap is the same for the flow: four layers of five frames in each of four steps.
	flowOverlap = 32
	// flowStep is how many frames the flow makes at least at a time, since each time costs the overlap again.
	flowStep = 128
)

// overlaps are how many frames to each side a decoder may hear, the least first. With 10, windows of a voice of middling
// quality equal the whole to 3e-7; larger decoders look further.
var overlaps = []int{10, 16, 24}

// windowEnd returns where the window of n frames ends that begins at from: the first is small, so that sound comes fast, and
// each of those after it twice as large as the one before, up to the largest.
func windowEnd(from, n int) int {
	to := from + min(from+firstWindow, maxWindow)
	if to+firstWindow/2 > n {
		return n // A window of its own would be hardly more than its overlap.
	}
	return to
}

// utterance is one request on its way through the parts behind the text.
type utterance struct {
	net *network
	req request
	n   int // Frames.
	at  int // Where the next window begins.

	behind []int // The sample behind each of the request's ids; nil where it is not known.

	made   []onnx.Value      // By the text part, where they are the utterance's own.
	prior  frames            // What the flow has still to work on, and what it takes beside it.
	beside map[string]frames // By name.
	latent frames            // What the flow has made so far: the first done frames.
	done   int
}

// utterance takes over what the text part made, which lives as long as it is used.
func (n *network) utterance(r request, made []onnx.Value) (*utterance, error) {
	first, err := framesOf(made[0])
	if err != nil {
		return nil, err
	}
	u := &utterance{net: n, req: r, n: first.n}
	if ends := n.ends(r, made); ends != nil && ends[len(ends)-1] == u.n {
		u.behind = inSamples(ends, n.hop)
	}
	if n.flow == nil {
		u.latent, u.done = first, first.n
		return u, nil
	}
	u.prior, u.beside = first, map[string]frames{}
	for i, name := range n.cuts.beside {
		f, err := framesOf(made[1+i])
		if err != nil {
			return nil, err
		}
		if f.n != u.n {
			return nil, fmt.Errorf("%w: %q has %d frames beside %d", errUncut, name, f.n, u.n)
		}
		u.beside[name] = f
	}
	return u, nil
}

// begin runs the text part. The caller closes the utterance.
func (n *network) begin(ctx context.Context, r request) (*utterance, error) {
	made, err := n.run(ctx, n.text, r, nil)
	if err != nil {
		return nil, err
	}
	u, err := n.utterance(r, made)
	if err != nil {
		closeAll(made)
		return nil, err
	}
	u.made = made
	return u, nil
}

// close frees what the text part made. Closing nil does nothing.
func (u *utterance) close() {
	if u != nil {
		closeAll(u.made)
	}
}

// next returns the samples of the next window.
func (u *utterance) next(ctx context.Context) ([]float32, error) {
	to := windowEnd(u.at, u.n)
	sound, err := u.sound(ctx, u.at, to)
	if err != nil {
		return nil, err
	}
	u.at = to
	return sound, nil
}

// sound returns the samples of the frames from and before to. Windows come in order.
func (u *utterance) sound(ctx context.Context, from, to int) ([]float32, error) {
	lo, hi := max(0, from-u.net.overlap), min(u.n, to+u.net.overlap)
	if err := u.flow(ctx, hi); err != nil {
		return nil, err
	}
	sound, err := u.decode(ctx, lo, hi)
	if err != nil {
		return nil, err
	}
	hop := u.net.hop
	if len(sound) != (hi-lo)*hop {
		return nil, fmt.Errorf("piper: %d frames became %d samples, want %d", hi-lo, len(sound), (hi-lo)*hop)
	}
	return sound[(from-lo)*hop : (to-lo)*hop], nil
}

// whole returns all samples at once, without windows.
func (u *utterance) whole(ctx context.Context) ([]float32, error) {
	if err := u.flow(ctx, u.n); err != nil {
		return nil, err
	}
	return u.decode(ctx, 0, u.n)
}

// decode runs the decoder on the latent frames from and before to.
func (u *utterance) decode(ctx context.Context, from, to int) ([]float32, error) {
	out, err := u.net.run(ctx, u.net.decoder, u.req, map[string]frames{u.net.cuts.latent: u.latent.window(from, to)})
	if err != nil {
		return nil, err
	}
	defer closeAll(out)
	return samplesOf(out[0])
}

// flow makes the latent frames before to, and some more where that is cheaper than coming back.
func (u *utterance) flow(ctx context.Context, to int) error {
	if to <= u.done {
		return nil
	}
	if u.done > 0 { // The first sound is waited for; from then on larger steps cost less.
		to = max(to, u.done+flowStep)
	}
	if to+flowOverlap >= u.n {
		to = u.n // All of it will be looked at anyhow.
	}
	lo, hi := max(0, u.done-flowOverlap), min(u.n, to+flowOverlap)
	features := map[string]frames{u.net.cuts.prior: u.prior.window(lo, hi)}
	for name, f := range u.beside {
		features[name] = f.window(lo, hi)
	}
	out, err := u.net.run(ctx, u.net.flow, u.req, features)
	if err != nil {
		return err
	}
	defer closeAll(out)
	made, err := framesOf(out[0])
	if err != nil {
		return err
	}
	if made.n != hi-lo {
		return fmt.Errorf("piper: the flow made %d frames of %d", made.n, hi-lo)
	}
	if u.latent.data == nil {
		u.latent = frames{make([]float32, made.rows*u.n), made.rows, u.n}
	}
	u.latent.put(u.done, made, u.done-lo, to-lo)
	u.done = to
	return nil
}
