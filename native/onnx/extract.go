package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Extract returns a model of its own that computes the outputs from the inputs: the nodes between them, the weights
// that these use, and those inputs of the whole graph that they need besides. The values named by inputs may be inner
// ones. The second result lists what the part takes, the inputs first.
func (g *Graph) Extract(inputs, outputs []string) (model []byte, takes []string, err error) {
	nodes, others, weights, err := g.between(inputs, outputs)
	if err != nil {
		return nil, nil, err
	}
	takes = append(append([]string(nil), inputs...), others...)

	size := 0
	for _, n := range nodes {
		size += len(g.Nodes[n].raw)
	}
	for w := range weights {
		size += len(g.inits[w])
	}
	graph := make([]byte, 0, size+256*(len(takes)+len(outputs)))
	for _, n := range nodes {
		graph = append(graph, g.Nodes[n].raw...)
	}
	graph = append(graph, g.name...)
	for _, name := range g.initOrder {
		if weights[name] {
			graph = append(graph, g.inits[name]...)
			delete(weights, name) // A name that is listed twice is written once.
		}
	}
	for _, in := range takes {
		graph = g.appendInfo(graph, graphInput, in)
	}
	for _, out := range outputs {
		graph = g.appendInfo(graph, graphOutput, out)
	}

	for _, f := range g.model {
		size += len(f)
	}
	model = make([]byte, 0, len(graph)+size)
	for _, f := range g.model {
		model = append(model, f...)
	}
	model = protowire.AppendTag(model, modelGraph, protowire.BytesType)
	return protowire.AppendBytes(model, graph), takes, nil
}

// between returns the nodes that the outputs need, in order, walking back no further than the inputs; and the graph's own
// inputs and weights that they use.
func (g *Graph) between(inputs, outputs []string) (nodes []int, others []string, weights map[string]bool, err error) {
	given, whole := set(inputs), set(g.Inputs)
	maker := g.makers()
	weights = map[string]bool{}
	taken := make([]bool, len(g.Nodes))
	seen := map[string]bool{"": true}
	todo := append([]string(nil), outputs...)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[v] || given[v] {
			continue
		}
		seen[v] = true
		n, made := maker[v]
		switch {
		case made:
			if !taken[n] {
				taken[n] = true
				todo = append(append(todo, g.Nodes[n].Inputs...), g.Nodes[n].Captured...)
			}
		case g.IsWeight(v):
			weights[v] = true
		case whole[v]: // Listed below, in the graph's order.
		default:
			return nil, nil, nil, fmt.Errorf("%w: nothing makes %q", ErrMalformed, v)
		}
	}
	for _, in := range g.Inputs {
		if seen[in] && !given[in] {
			others = append(others, in)
		}
	}
	for n, t := range taken {
		if t {
			nodes = append(nodes, n)
		}
	}
	return nodes, others, weights, nil
}

// makers maps each value to the node that makes it.
func (g *Graph) makers() map[string]int {
	m := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		for _, o := range g.Nodes[i].Outputs {
			if o != "" {
				m[o] = i
			}
		}
	}
	return m
}

// appendInfo appends the ValueInfo of a port: its name and what the model says of its element type. The shape is left
// out, since a part is run on windows of any length.
func (g *Graph) appendInfo(graph []byte, field protowire.Number, name string) []byte {
	var info []byte
	info = protowire.AppendTag(info, infoName, protowire.BytesType)
	info = protowire.AppendString(info, name)
	info = protowire.AppendTag(info, infoType, protowire.BytesType)
	info = protowire.AppendBytes(info, tensorType(g.elementType(name)))
	graph = protowire.AppendTag(graph, field, protowire.BytesType)
	return protowire.AppendBytes(graph, info)
}

// Numbers of TypeProto and of the element types in onnx.proto.
const (
	typeTensor     = 1
	tensorElemType = 1
	elemFloat      = 1
)

// tensorType returns a TypeProto for a tensor of any shape.
func tensorType(elem uint64) []byte {
	var tensor []byte
	tensor = protowire.AppendTag(tensor, tensorElemType, protowire.VarintType)
	tensor = protowire.AppendVarint(tensor, elem)
	var typ []byte
	typ = protowire.AppendTag(typ, typeTensor, protowire.BytesType)
	return protowire.AppendBytes(typ, tensor)
}

// elementType returns the element type that the model states for a value; float32 where it states none, since the inner
// values at which graphs are cut are sound and features.
func (g *Graph) elementType(name string) uint64 {
	elem := uint64(elemFloat)
	at := func(want protowire.Number, next func([]byte) error) func(protowire.Number, []byte, []byte) error {
		return func(n protowire.Number, _, value []byte) error {
			if n == want {
				return next(value)
			}
			return nil
		}
	}
	_ = fields(g.infos[name], at(infoType, func(b []byte) error {
		return fields(b, at(typeTensor, func(b []byte) error {
			return fields(b, at(tensorElemType, func(b []byte) error {
				if v, k := protowire.ConsumeVarint(b); k > 0 && v != 0 {
					elem = v
				}
				return nil
			}))
		}))
	}))
	return elem
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// names returns the ports that o asks for, those of the model where it asks for none, and an error for one that the
// model lacks.
func names(model []byte, o Options) (in, out []string, err error) {
	g, err := ParseGraph(model)
	if err != nil {
		return nil, nil, err
	}
	in, out = g.Inputs, g.Outputs
	if o.Inputs != nil {
		in = o.Inputs
	}
	if o.Outputs != nil {
		out = o.Outputs
	}
	for _, n := range in {
		if !slices.Contains(g.Inputs, n) {
			return nil, nil, fmt.Errorf("onnx: the graph has no input %q, it has %q", n, g.Inputs)
		}
	}
	for _, n := range out {
		if !slices.Contains(g.Outputs, n) {
			return nil, nil, fmt.Errorf("onnx: the graph has no output %q, it has %q", n, g.Outputs)
		}
	}
	return in, out, nil
}
