package piper

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"riposte/budget"
	"riposte/native/onnx"
)

// network is a voice ready to run: in parts where its graph could be cut, whole where not.
type network struct {
	text    *onnx.Session // Phonemes to the prior, or to latent frames, or (whole) to sound.
	flow    *onnx.Session // Prior to latent frames; nil where text does that too.
	decoder *onnx.Session // Latent frames to sound; nil where text does everything.
	cuts    cuts
	hop     int  // Samples a frame; 0 until it was measured.
	timed   bool // Whether what text makes ends with the frames of each phoneme.
	overlap int  // Frames to each side that the decoder hears.

	executor *budget.Executor // Says when a part may run, so that callers who speak at once take turns window by window.
	threads  int              // What a run takes of it.
}

// request is what is to be spoken in one go.
type request struct {
	ids     []int64
	scales  [3]float32
	speaker int64
	due     *due
	// timed, unless nil, is told the sample behind each of ids before the first of the sound. A voice that does not know these
	// never calls it.
	timed func(behind []int)
}

// The kinds of work, by which the executor learns how long they take. A piece of work makes one chunk of sound: were the
// parts on the way to the first sound queued one by one, others would slip in between.
const (
	workOpen   = "tts.open"
	workFirst  = "tts.first"  // Text, flow and the first window, counted in phonemes, fillers included.
	workWindow = "tts.window" // What else a unit is made of, counted in frames.
	workWhole  = "tts.whole"  // All at once, counted in phonemes.
)

// openWhole opens the graph as it is, but for the frames of each phoneme, which are put out besides where they are found.
func openWhole(rt *onnx.Runtime, g *onnx.Graph, model []byte, o onnx.Options) (*network, error) {
	n := new(network)
	if len(g.Outputs) > 0 {
		n.cuts = cuts{samples: g.Outputs[0], frames: newFinder(g).frames(g.Outputs[0])}
	}
	if n.cuts.frames != "" {
		var err error
		if model, _, err = g.Extract(nil, []string{n.cuts.samples, n.cuts.frames}); err != nil {
			return nil, err
		}
		n.timed = true
	}
	s, err := rt.OpenBytes(model, o)
	if err != nil {
		return nil, err
	}
	n.text = s
	return n, nil
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
	if c.frames != "" {
		made, n.timed = append(made, c.frames), true
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
		var sound []float32
		if n.decoder == nil {
			var behind []int
			err := n.work(ctx, workWhole, len(r.ids), r.due, func(ctx context.Context) (err error) {
				sound, behind, err = n.whole(ctx, r)
				return err
			})
			r.tell(behind)
			yield(sound, err)
			return
		}
		var u *utterance
		err := n.work(ctx, workFirst, len(r.ids), r.due, func(ctx context.Context) (err error) {
			if u == nil {
				if u, err = n.begin(ctx, r); err != nil {
					return err
				}
			}
			sound, err = u.next(ctx)
			return err
		})
		defer u.close()
		if err == nil {
			r.tell(u.behind)
		}
		for yield(sound, err) && err == nil && u.at < u.n {
			err = n.work(ctx, workWindow, windowEnd(u.at, u.n)-u.at, r.due, func(ctx context.Context) (err error) {
				sound, err = u.next(ctx)
				return err
			})
		}
	}
}

// work does a piece of work when its turn has come. What goes on in the background and has to make room is done when there is some again.
func (n *network) work(ctx context.Context, kind string, size int, by *due, do func(ctx context.Context) error) error {
	j := budget.Job{Urgency: by.urgency(), Kind: kind, Size: float64(size), Threads: n.threads}
	for {
		err := n.executor.Run(ctx, j, func(ctx context.Context, _ int) error { return do(ctx) })
		if j.Class != budget.Background || !errors.Is(err, budget.ErrPreempted) {
			return err
		}
	}
}

// whole returns the sound of r where the graph is in one part, and the sample behind each of the ids where these are known.
func (n *network) whole(ctx context.Context, r request) (sound []float32, behind []int, err error) {
	out, err := n.run(ctx, n.text, r, nil)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(out)
	if sound, err = samplesOf(out[0]); err != nil {
		return nil, nil, err
	}
	if ends := n.ends(r, out); ends != nil && ends[len(ends)-1] > 0 {
		frames := ends[len(ends)-1]
		behind = inSamples(ends, len(sound)/frames)
	}
	return sound, behind, nil
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
