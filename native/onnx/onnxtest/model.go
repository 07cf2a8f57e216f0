// Package onnxtest makes small ONNX models for tests.
package onnxtest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Element types of onnx.proto.
const (
	Float = 1
	Int64 = 7
	Bool  = 9
)

// Model is a graph and what is needed to run it.
type Model struct {
	Nodes           []Node
	Weights         []Weight
	Inputs, Outputs []Port
}

// Node is one operator.
type Node struct {
	Op, Name   string
	In, Out    []string
	Attributes []Attribute
}

// Attribute is a setting of an operator: a graph, an integer, or integers.
type Attribute struct {
	Name  string
	Ints  []int64
	Int   *int64
	Graph *Model
}

// Weight is a tensor that is stored in the model: of floats, or of integers where Ints is set.
type Weight struct {
	Name   string
	Shape  []int64
	Floats []float32
	Ints   []int64
}

// Port is an input or output: a tensor of any shape, or of none.
type Port struct {
	Name   string
	Type   uint64
	Scalar bool
}

// Ints returns an attribute that holds integers.
func Ints(name string, v ...int64) Attribute { return Attribute{Name: name, Ints: v} }

// Int returns an attribute that holds one integer.
func Int(name string, v int64) Attribute { return Attribute{Name: name, Int: &v} }

// Body returns an attribute that holds a graph.
func Body(name string, m Model) Attribute { return Attribute{Name: name, Graph: &m} }

// Bytes returns the model as a file holds it, for operators of version 15.
func (m Model) Bytes() []byte {
	var b []byte
	b = varint(b, 1, 8) // The version of the format.
	b = bytes(b, 7, m.graph())
	return bytes(b, 8, varint(bytes(nil, 1, nil), 2, 15))
}

func (m Model) graph() []byte {
	var g []byte
	for _, n := range m.Nodes {
		g = bytes(g, 1, n.bytes())
	}
	g = bytes(g, 2, []byte("test"))
	for _, w := range m.Weights {
		g = bytes(g, 5, w.bytes())
	}
	for _, p := range m.Inputs {
		g = bytes(g, 11, p.bytes())
	}
	for _, p := range m.Outputs {
		g = bytes(g, 12, p.bytes())
	}
	return g
}

func (n Node) bytes() []byte {
	var b []byte
	for _, i := range n.In {
		b = bytes(b, 1, []byte(i))
	}
	for _, o := range n.Out {
		b = bytes(b, 2, []byte(o))
	}
	b = bytes(b, 3, []byte(n.Name))
	b = bytes(b, 4, []byte(n.Op))
	for _, a := range n.Attributes {
		b = bytes(b, 5, a.bytes())
	}
	return b
}

// Kinds of attributes in onnx.proto.
const (
	kindInt   = 2
	kindGraph = 5
	kindInts  = 7
)

func (a Attribute) bytes() []byte {
	b := bytes(nil, 1, []byte(a.Name))
	switch {
	case a.Int != nil:
		return varint(varint(b, 3, uint64(*a.Int)), 20, kindInt)
	case a.Graph != nil:
		return varint(bytes(b, 6, a.Graph.graph()), 20, kindGraph)
	}
	for _, i := range a.Ints {
		b = varint(b, 8, uint64(i))
	}
	return varint(b, 20, kindInts)
}

func (w Weight) bytes() []byte {
	var b, raw []byte
	for _, d := range w.Shape {
		b = varint(b, 1, uint64(d))
	}
	kind := uint64(Float)
	for _, f := range w.Floats {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	if w.Ints != nil {
		kind = Int64
		for _, i := range w.Ints {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(i))
		}
	}
	b = varint(b, 2, kind)
	b = bytes(b, 8, []byte(w.Name))
	return bytes(b, 9, raw)
}

func (p Port) bytes() []byte {
	tensor := varint(nil, 1, p.Type)
	if p.Scalar {
		tensor = bytes(tensor, 2, nil)
	}
	return bytes(bytes(nil, 1, []byte(p.Name)), 2, bytes(nil, 1, tensor))
}

func bytes(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func varint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}
