package piper

import (
	"errors"
	"fmt"
	"slices"

	"riposte/native/onnx"
)

// errUncut reports a graph in which the places to cut are not found. Such a voice is spoken whole.
var errUncut = errors.New("piper: the graph cannot be cut")

// The names that Piper's exporter gives to what the network takes.
const (
	inPhonemes = "input"
	inLength   = "input_lengths"
	inScales   = "scales"
	inSpeaker  = "sid"
)

// cuts are the values at which the graph of a voice is cut.
//
// The network is a VITS: phonemes become a prior (noise around what each frame should be), a flow turns the prior into
// latent frames, a decoder turns these into sound. All but the first part look only a few frames to each side, so that
// they can work on windows: the first sound is there long before the last.
type cuts struct {
	prior   string   // What goes into the flow; "" where the flow stays with the first part.
	beside  []string // What else the flow takes frame by frame: the mask.
	latent  string   // What goes into the decoder.
	samples string   // What comes out.
	// frames is how many frames each phoneme gets; "" where that is not found.
	frames string
}

// findCuts looks for the cuts by what the operators do, since names differ between exporters. With errUncut come those that
// were found nevertheless.
func findCuts(g *onnx.Graph) (cuts, error) {
	if len(g.Outputs) == 0 || !slices.Contains(g.Inputs, inPhonemes) {
		return cuts{}, fmt.Errorf("%w: it does not turn %q into something", errUncut, inPhonemes)
	}
	f := newFinder(g)
	c := cuts{samples: g.Outputs[0]}
	c.frames = f.frames(c.samples)
	latent, err := f.latent(c.samples)
	if err != nil {
		return c, err
	}
	c.latent = latent
	if prior, beside, ok := f.prior(latent); ok {
		c.prior, c.beside = prior, beside
	}
	return c, nil
}

// finder walks a graph.
type finder struct {
	g      *onnx.Graph
	maker  map[string]int  // The node that makes a value.
	spoken map[string]bool // Values that depend on the phonemes, not only on weights and the speaker.
}

func newFinder(g *onnx.Graph) *finder {
	f := &finder{g: g, maker: map[string]int{}, spoken: map[string]bool{inPhonemes: true, inLength: true}}
	for i, n := range g.Nodes {
		spoken := slices.ContainsFunc(takes(n), func(v string) bool { return f.spoken[v] })
		for _, o := range n.Outputs {
			f.maker[o] = i
			f.spoken[o] = spoken
		}
	}
	return f
}

// takes returns all that a node needs.
func takes(n onnx.Node) []string {
	if len(n.Captured) == 0 {
		return n.Inputs
	}
	return slices.Concat(n.Inputs, n.Captured)
}

// latent returns what the decoder takes: the decoder begins with the convolution ahead of the first upsampling.
func (f *finder) latent(samples string) (string, error) {
	need := f.ancestors(samples)
	first := slices.IndexFunc(f.g.Nodes, func(n onnx.Node) bool {
		return n.Op == "ConvTranspose" && len(n.Outputs) == 1 && f.spoken[n.Outputs[0]] && need[f.maker[n.Outputs[0]]]
	})
	if first < 0 {
		return "", fmt.Errorf("%w: it has no upsampling decoder", errUncut)
	}
	at := f.g.Nodes[first]
	for range len(f.g.Nodes) {
		v, ok := f.onlySpoken(at)
		if !ok {
			return "", fmt.Errorf("%w: %q has more than one way into it", errUncut, at.Name)
		}
		if at.Op == "Conv" {
			if _, other, err := f.g.Extract([]string{v}, []string{samples}); err != nil {
				return "", fmt.Errorf("%w: %w", errUncut, err)
			} else if slices.Contains(other, inPhonemes) || slices.Contains(other, inLength) {
				return "", fmt.Errorf("%w: the decoder looks past %q", errUncut, v)
			}
			return v, nil
		}
		n, ok := f.maker[v]
		if !ok {
			break
		}
		at = f.g.Nodes[n]
	}
	return "", fmt.Errorf("%w: its decoder begins with no convolution", errUncut)
}

// onlySpoken returns the one value that a node takes of those that depend on the phonemes.
func (f *finder) onlySpoken(n onnx.Node) (string, bool) {
	found := ""
	for _, v := range takes(n) {
		if f.spoken[v] && v != found {
			if found != "" {
				return "", false
			}
			found = v
		}
	}
	return found, found != ""
}

// prior returns what the flow takes. It begins where the last noise of the graph has been scaled and added.
func (f *finder) prior(latent string) (prior string, beside []string, ok bool) {
	need := f.ancestors(latent)
	for i := len(f.g.Nodes) - 1; i >= 0 && prior == ""; i-- {
		if op := f.g.Nodes[i].Op; need[i] && (op == "RandomNormalLike" || op == "RandomNormal") {
			prior = f.addedTo(i, need)
			if prior == "" {
				return "", nil, false
			}
		}
	}
	if prior == "" || prior == latent {
		return "", nil, false
	}
	// What lies between the prior and the latent frames, and what it takes besides.
	inside := map[string]bool{prior: true}
	for i, n := range f.g.Nodes {
		if !need[i] || !slices.ContainsFunc(takes(n), func(v string) bool { return inside[v] }) {
			continue
		}
		for _, v := range takes(n) {
			if f.spoken[v] && !inside[v] && !slices.Contains(beside, v) {
				beside = append(beside, v)
			}
		}
		for _, o := range n.Outputs {
			inside[o] = true
		}
	}
	return prior, beside, inside[latent] && len(beside) <= 2
}

// frames returns how many frames each phoneme gets: what is rounded up, of all that the sound needs and the phonemes decide.
// It returns "" where there is no such value, or more than one.
func (f *finder) frames(samples string) string {
	found := ""
	need := f.ancestors(samples)
	for i, n := range f.g.Nodes {
		if n.Op != "Ceil" || !need[i] || len(n.Outputs) != 1 || !f.spoken[n.Outputs[0]] {
			continue
		}
		if found != "" {
			return ""
		}
		found = n.Outputs[0]
	}
	return found
}

// addedTo follows noise through its scaling and returns the sum that it goes into, "" where there is none.
func (f *finder) addedTo(node int, need map[int]bool) string {
	at := node
	for range 8 {
		made := f.g.Nodes[at].Outputs
		next := -1
		for i, n := range f.g.Nodes {
			if need[i] && len(made) == 1 && slices.Contains(n.Inputs, made[0]) {
				if next >= 0 {
					return ""
				}
				next = i
			}
		}
		if next < 0 {
			return ""
		}
		switch n := f.g.Nodes[next]; n.Op {
		case "Add":
			return n.Outputs[0]
		case "Mul", "Cast":
			at = next
		default:
			return ""
		}
	}
	return ""
}

// ancestors returns the nodes that a value needs.
func (f *finder) ancestors(value string) map[int]bool {
	need := map[int]bool{}
	todo := []string{value}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n, ok := f.maker[v]; ok && !need[n] {
			need[n] = true
			todo = append(todo, takes(f.g.Nodes[n])...)
		}
	}
	return need
}
