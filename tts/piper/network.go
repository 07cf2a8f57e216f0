package piper

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/semaphore"

	"riposte/native/onnx"
)

// network is a voice ready to run: in parts where its graph could be cut, whole where not.
type network struct {
	text    *onnx.Session // Phonemes to the prior, or to latent frames, or (whole) to sound.
	flow    *onnx.Session // Prior to latent frames; nil where text does that too.
	decoder *onnx.Session // Latent frames to sound; nil where text does everything.
	cuts    cuts
	hop     int // Samples a frame; 0 until it was measured.

	// turn is taken for every run of a part, so that callers who speak at once take turns window by window.
	turn *semaphore.Weighted
}

// request is what is to be spoken in one go.
type request struct {
	ids     []int64
	scales  [3]float32
	speaker int64
}

// openWhole opens the graph as it is.
func openWhole(rt *onnx.Runtime, model []byte, o onnx.Options) (*network, error) {
	s, err := rt.OpenBytes(model, o)
	if err != nil {
		return nil, err
	}
	return &network{text: s}, nil
}

// openCut opens the graph in the parts that c names.
func openCut(rt *onnx.Runtime, g *onnx.Graph, c cuts, o onnx.Options) (n *network, err error) {
	n = &network{cuts: c}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	open := func(from, to []string) (*onnx.Session, error) {
		part, _, err := g.Extract(from, to)
		if err != nil {
			return nil, err
		}
		return rt.OpenBytes(part, o)
	}
	made := []string{c.latent}
	if c.prior != "" {
		made = append([]string{c.prior}, c.beside...)
		if n.flow, err = open(made, []string{c.latent}); err != nil {
			return nil, fmt.Errorf("open the flow: %w", err)
		}
	}
	if n.decoder, err = open([]string{c.latent}, []string{c.samples}); err != nil {
		return nil, fmt.Errorf("open the decoder: %w", err)
	}
	if n.text, err = open(nil, made); err != nil {
		return nil, fmt.Errorf("open the text part: %w", err)
	}
	return n, nil
}

// close frees the parts.
func (n *network) close() error {
	var errs []error
	for _, s := range []*onnx.Session{n.text, n.flow, n.decoder} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// speak yields the sound of r in order, window by window. The samples belong to the caller.
func (n *network) speak(ctx context.Context, r request) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		out, err := n.run(ctx, n.text, r, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer closeAll(out)
		if n.decoder == nil {
			sound, err := samplesOf(out[0])
			yield(sound, err)
			return
		}
		u, err := n.utterance(r, out)
		if err != nil {
			yield(nil, err)
			return
		}
		for from, to := range windows(u.n) {
			sound, err := u.sound(ctx, from, to)
			if !yield(sound, err) || err != nil {
				return
			}
		}
	}
}

// run runs one part on what it takes of the request and on the given features. The caller closes the results.
func (n *network) run(ctx context.Context, s *onnx.Session, r request, features map[string]frames) (out []onnx.Value, err error) {
	in := make([]onnx.Value, len(s.Inputs()))
	defer closeAll(in)
	for i, name := range s.Inputs() {
		switch f, ok := features[name]; {
		case ok:
			in[i], err = f.tensor()
		case name == inPhonemes:
			in[i], err = onnx.NewTensor(r.ids, 1, int64(len(r.ids)))
		case name == inLength:
			in[i], err = onnx.NewTensor([]int64{int64(len(r.ids))}, 1)
		case name == inScales:
			in[i], err = onnx.NewTensor(r.scales[:], 3)
		case name == inSpeaker:
			in[i], err = onnx.NewTensor([]int64{r.speaker}, 1)
		default:
			err = fmt.Errorf("piper: the graph takes %q, which no Piper voice does", name)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := n.turn.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer n.turn.Release(1)
	out = make([]onnx.Value, len(s.Outputs()))
	if err := s.Run(ctx, in, out); err != nil {
		closeAll(out)
		return nil, err
	}
	return out, nil
}

func closeAll(values []onnx.Value) {
	for _, v := range values {
		if v != nil {
			v.Close()
		}
	}
}

// samplesOf takes the samples out of a tensor of any shape.
func samplesOf(v onnx.Value) ([]float32, error) {
	t, ok := v.(*onnx.Tensor[float32])
	if !ok {
		return nil, fmt.Errorf("piper: %T where sound of float32 was due", v)
	}
	return append([]float32(nil), t.Data()...), nil
}
