package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed reports bytes that are not a whole ONNX model: cut off, or something else.
var ErrMalformed = errors.New("onnx: malformed model")

// Field numbers of onnx.proto, for the messages that are read here.
const (
	modelGraph = 7

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	graphValueInfo   = 13
	graphSparse      = 15

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeOp        = 4
	nodeAttribute = 5

	attributeName   = 1
	attributeInts   = 8
	attributeGraph  = 6
	attributeGraphs = 11

	tensorName  = 8
	sparseValue = 1

	infoName = 1
	infoType = 2
)

// maxNesting bounds graphs inside the attributes of graphs. Real models have two levels; a hostile one must not
// exhaust the stack.
const maxNesting = 16

// Graph is the skeleton of a model: its nodes and what connects them. It shares the bytes that it was read from,
// weights included, and is made to be cut into parts.
type Graph struct {
	Inputs, Outputs []string
	Nodes           []Node // In the order of execution.

	model     [][]byte          // The model's other fields, as they were.
	name      []byte            // The graph's name field.
	inits     map[string][]byte // Initialisers by name, as graph fields.
	initOrder []string
	infos     map[string][]byte // What is known of a value's type, as ValueInfo.
}

// Node is one operator.
type Node struct {
	Name, Op        string
	Inputs, Outputs []string // Values by name; "" is an optional one left out.
	Captured        []string // What the graphs in its attributes take from outside.

	raw []byte // The graph's field, tag included.
}

// ParseGraph reads the skeleton of an ONNX model. Bytes that are cut off or are no model give ErrMalformed.
func ParseGraph(model []byte) (*Graph, error) {
	g := &Graph{inits: map[string][]byte{}, infos: map[string][]byte{}}
	var graph []byte
	err := fields(model, func(n protowire.Number, raw, value []byte) error {
		if n == modelGraph {
			graph = value
			return nil
		}
		g.model = append(g.model, raw)
		return nil
	})
	if err == nil && graph == nil {
		err = errors.New("it holds no graph")
	}
	if err == nil {
		err = fields(graph, g.field)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	// Older files list their weights among the inputs.
	g.Inputs = without(g.Inputs, g.inits)
	return g, nil
}

// field takes one field of the graph message.
func (g *Graph) field(n protowire.Number, raw, value []byte) error {
	switch n {
	case graphName:
		g.name = raw
	case graphNode:
		node, err := parseNode(value, 0)
		if err != nil {
			return err
		}
		node.raw = raw
		g.Nodes = append(g.Nodes, node)
	case graphInitializer, graphSparse:
		name, err := initializerName(n, value)
		if err != nil {
			return err
		}
		g.inits[name] = raw
		g.initOrder = append(g.initOrder, name)
	case graphInput, graphOutput, graphValueInfo:
		name, err := textField(value, infoName)
		if err != nil {
			return err
		}
		g.infos[name] = value
		switch n {
		case graphInput:
			g.Inputs = append(g.Inputs, name)
		case graphOutput:
			g.Outputs = append(g.Outputs, name)
		}
	}
	return nil
}

// parseNode reads a NodeProto. depth counts the graphs around it.
func parseNode(b []byte, depth int) (Node, error) {
	var node Node
	err := fields(b, func(n protowire.Number, _, value []byte) error {
		switch n {
		case nodeInput:
			node.Inputs = append(node.Inputs, string(value))
		case nodeOutput:
			node.Outputs = append(node.Outputs, string(value))
		case nodeName:
			node.Name = string(value)
		case nodeOp:
			node.Op = string(value)
		case nodeAttribute:
			return fields(value, func(n protowire.Number, _, value []byte) error {
				if n != attributeGraph && n != attributeGraphs {
					return nil
				}
				c, err := captured(value, depth+1)
				node.Captured = append(node.Captured, c...)
				return err
			})
		}
		return nil
	})
	return node, err
}

// captured returns the values that an inner graph takes from outside.
func captured(graph []byte, depth int) ([]string, error) {
	if depth > maxNesting {
		return nil, errors.New("its graphs are nested too deep")
	}
	own := map[string]bool{"": true}
	var used []string
	err := fields(graph, func(n protowire.Number, _, value []byte) error {
		switch n {
		case graphNode:
			node, err := parseNode(value, depth)
			if err != nil {
				return err
			}
			used = append(append(used, node.Inputs...), node.Captured...)
			for _, o := range node.Outputs {
				own[o] = true
			}
		case graphInitializer, graphSparse:
			name, err := initializerName(n, value)
			own[name] = true
			return err
		case graphInput:
			name, err := textField(value, infoName)
			own[name] = true
			return err
		case graphOutput: // A branch may hand out an outer value as it is.
			name, err := textField(value, infoName)
			used = append(used, name)
			return err
		}
		return nil
	})
	var outside []string
	for _, u := range used {
		if !own[u] {
			outside = append(outside, u)
		}
	}
	return outside, err
}

// Ints returns the integers of the node's attribute, nil where it has none of that name.
func (n *Node) Ints(attribute string) []int64 {
	var ints []int64
	_, _, value := split(n.raw)
	_ = fields(value, func(f protowire.Number, _, value []byte) error {
		if f != nodeAttribute {
			return nil
		}
		if name, err := textField(value, attributeName); err != nil || name != attribute {
			return err
		}
		return fields(value, func(f protowire.Number, _, value []byte) error {
			if f == attributeInts {
				for len(value) > 0 {
					v, k := protowire.ConsumeVarint(value)
					if k < 0 {
						return protowire.ParseError(k)
					}
					ints, value = append(ints, int64(v)), value[k:]
				}
			}
			return nil
		})
	})
	return ints
}

// IsWeight reports whether the value is stored in the model.
func (g *Graph) IsWeight(value string) bool {
	_, ok := g.inits[value]
	return ok
}

func initializerName(n protowire.Number, value []byte) (string, error) {
	if n == graphSparse {
		var tensor []byte
		err := fields(value, func(n protowire.Number, _, value []byte) error {
			if n == sparseValue {
				tensor = value
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		value = tensor
	}
	return textField(value, tensorName)
}

// textField returns the last value of the field n in the message b, "" where there is none.
func textField(b []byte, want protowire.Number) (string, error) {
	s := ""
	err := fields(b, func(n protowire.Number, _, value []byte) error {
		if n == want {
			s = string(value)
		}
		return nil
	})
	return s, err
}

// fields calls do for every field of the message b: its number, the whole of it with its tag, and its content. The
// content of a varint is its bytes.
func fields(b []byte, do func(n protowire.Number, raw, value []byte) error) error {
	for len(b) > 0 {
		n, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			return protowire.ParseError(k)
		}
		size := protowire.ConsumeFieldValue(n, typ, b[k:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		raw, value := b[:k+size], b[k:k+size]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := do(n, raw, value); err != nil {
			return err
		}
		b = b[k+size:]
	}
	return nil
}

// split takes one field apart.
func split(raw []byte) (protowire.Number, protowire.Type, []byte) {
	n, typ, k := protowire.ConsumeTag(raw)
	value := raw[k:]
	if typ == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
	}
	return n, typ, value
}

func without(names []string, known map[string][]byte) []string {
	var kept []string
	for _, n := range names {
		if _, ok := known[n]; !ok {
			kept = append(kept, n)
		}
	}
	return kept
}
