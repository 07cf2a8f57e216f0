package onnx_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
)

// chain computes y = (x + one) * two, and z = y where flag is not zero, else x.
func chain() onnxtest.Model {
	return onnxtest.Model{
		Nodes: []onnxtest.Node{
			{Op: "Add", Name: "add", In: []string{"x", "one"}, Out: []string{"sum"}},
			{Op: "Mul", Name: "mul", In: []string{"sum", "two"}, Out: []string{"y"}},
			{Op: "If", Name: "if", In: []string{"flag"}, Out: []string{"z"}, Attributes: []onnxtest.Attribute{
				onnxtest.Body("then_branch", onnxtest.Model{
					Nodes:   []onnxtest.Node{{Op: "Identity", In: []string{"y"}, Out: []string{"inner"}}},
					Outputs: []onnxtest.Port{{Name: "inner", Type: onnxtest.Float}},
				}),
				onnxtest.Body("else_branch", onnxtest.Model{
					Nodes:   []onnxtest.Node{{Op: "Identity", In: []string{"x"}, Out: []string{"other"}}},
					Outputs: []onnxtest.Port{{Name: "other", Type: onnxtest.Float}},
				}),
			}},
		},
		Weights: []onnxtest.Weight{
			{Name: "one", Shape: []int64{1}, Floats: []float32{1}},
			{Name: "two", Shape: []int64{1}, Floats: []float32{2}},
			{Name: "unused", Shape: []int64{1}, Floats: []float32{3}},
		},
		Inputs:  []onnxtest.Port{{Name: "x", Type: onnxtest.Float}, {Name: "flag", Type: onnxtest.Bool}},
		Outputs: []onnxtest.Port{{Name: "y", Type: onnxtest.Float}, {Name: "z", Type: onnxtest.Float}},
	}
}

func parse(t *testing.T, model []byte) *onnx.Graph {
	t.Helper()
	g, err := onnx.ParseGraph(model)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ops returns the operators of a model in their order.
func ops(t *testing.T, model []byte) []string {
	t.Helper()
	var all []string
	for _, n := range parse(t, model).Nodes {
		all = append(all, n.Op)
	}
	return all
}

func TestParseGraphReadsTheSkeleton(t *testing.T) {
	g := parse(t, chain().Bytes())
	if diff := cmp.Diff([]string{"x", "flag"}, g.Inputs); diff != "" {
		t.Errorf("inputs: %s", diff)
	}
	if diff := cmp.Diff([]string{"y", "z"}, g.Outputs); diff != "" {
		t.Errorf("outputs: %s", diff)
	}
	if !g.IsWeight("two") || g.IsWeight("x") {
		t.Error("two is a weight and x is none")
	}
	branch := g.Nodes[2]
	slices.Sort(branch.Captured)
	if diff := cmp.Diff([]string{"x", "y"}, slices.Compact(branch.Captured)); diff != "" {
		t.Errorf("captured by the branches: %s", diff)
	}
}

func TestExtractKeepsWhatIsNeeded(t *testing.T) {
	g := parse(t, chain().Bytes())
	for _, tt := range []struct {
		name            string
		inputs, outputs []string
		takes, ops      []string
	}{
		{"the head", nil, []string{"sum"}, []string{"x"}, []string{"Add"}},
		{"the tail", []string{"sum"}, []string{"y"}, []string{"sum"}, []string{"Mul"}},
		{"what branches take from outside", []string{"sum"}, []string{"z"}, []string{"sum", "x", "flag"}, []string{"Mul", "If"}},
		{"all", nil, []string{"y", "z"}, []string{"x", "flag"}, []string{"Add", "Mul", "If"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			part, takes, err := g.Extract(tt.inputs, tt.outputs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.takes, takes); diff != "" {
				t.Errorf("takes: %s", diff)
			}
			if diff := cmp.Diff(tt.ops, ops(t, part)); diff != "" {
				t.Errorf("operators: %s", diff)
			}
			p := parse(t, part)
			if diff := cmp.Diff(takes, p.Inputs); diff != "" {
				t.Errorf("inputs of the part: %s", diff)
			}
			if diff := cmp.Diff(tt.outputs, p.Outputs); diff != "" {
				t.Errorf("outputs of the part: %s", diff)
			}
			if p.IsWeight("unused") {
				t.Error("the part carries a weight that it does not use")
			}
		})
	}
	if _, _, err := g.Extract(nil, []string{"nothing"}); !errors.Is(err, onnx.ErrMalformed) {
		t.Errorf("a value that nothing makes: %v, want %v", err, onnx.ErrMalformed)
	}
}

func TestCutOffModelsAreRefused(t *testing.T) {
	whole := chain().Bytes()
	for n := range len(whole) - 6 { // The last field, without which the graph is still whole, has six bytes.
		if _, err := onnx.ParseGraph(whole[:n]); !errors.Is(err, onnx.ErrMalformed) {
			t.Fatalf("the first %d of %d bytes: %v, want %v", n, len(whole), err, onnx.ErrMalformed)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	m := chain()
	for range 100 {
		m = onnxtest.Model{Nodes: []onnxtest.Node{{Op: "If", Attributes: []onnxtest.Attribute{onnxtest.Body("then_branch", m)}}}}
	}
	if _, err := onnx.ParseGraph(m.Bytes()); !errors.Is(err, onnx.ErrMalformed) {
		t.Errorf("%v, want %v", err, onnx.ErrMalformed)
	}
}

func FuzzParseGraph(f *testing.F) {
	f.Add(chain().Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, model []byte) {
		g, err := onnx.ParseGraph(model)
		if err != nil {
			if !errors.Is(err, onnx.ErrMalformed) {
				t.Fatalf("%v is not %v", err, onnx.ErrMalformed)
			}
			return
		}
		for i := range g.Nodes {
			g.Nodes[i].Ints("strides")
		}
		part, takes, err := g.Extract(nil, g.Outputs)
		if err != nil {
			return
		}
		again, err := onnx.ParseGraph(part)
		if err != nil {
			t.Fatalf("the part of a readable model is not readable: %v", err)
		}
		if len(g.Outputs) > 0 && !slices.Equal(again.Outputs, g.Outputs) {
			t.Fatalf("outputs %q became %q", g.Outputs, again.Outputs)
		}
		_ = takes
	})
}
