//go:build cgo

package onnx

import (
	"fmt"
	"slices"

	ort "github.com/yalue/onnxruntime_go"
)

// Tensor is an array of numbers that graphs read and write in place.
type Tensor[T Element] struct {
	shape []int64
	data  []T
	ort   *ort.Tensor[T]
}

// NewTensor returns a tensor that holds a copy of data, whose length has to fit the shape. It copies because the runtime
// keeps a pointer to the numbers, and memory with Go pointers around them must not be handed to C.
func NewTensor[T Element](data []T, shape ...int64) (*Tensor[T], error) {
	t, err := ort.NewTensor(ort.Shape(shape), slices.Clone(data))
	if err != nil {
		return nil, fmt.Errorf("onnx: new tensor: %w", err)
	}
	return &Tensor[T]{shape: shape, data: t.GetData(), ort: t}, nil
}

// NewScalar returns a tensor of no dimensions that holds x.
func NewScalar[T Element](x T) (Value, error) {
	s, err := ort.NewScalar(x)
	if err != nil {
		return nil, fmt.Errorf("onnx: new scalar: %w", err)
	}
	return &scalar[T]{s}, nil
}

// Data returns the numbers, row by row. It is shared with the graphs that use the tensor, and dead after Close.
func (t *Tensor[T]) Data() []T { return t.data }

// Shape returns the size of each dimension. It must not be changed.
func (t *Tensor[T]) Shape() []int64 { return t.shape }

// Close frees what the runtime holds of t. Closing twice does nothing.
func (t *Tensor[T]) Close() error {
	if t.ort == nil {
		return nil
	}
	err := t.ort.Destroy()
	t.ort, t.data = nil, nil
	return err
}

func (t *Tensor[T]) isValue() {}

// scalar is a tensor without dimensions, which the binding keeps as a type of its own.
type scalar[T Element] struct{ ort *ort.Scalar[T] }

func (s *scalar[T]) Shape() []int64 { return nil }

func (s *scalar[T]) Close() error {
	if s.ort == nil {
		return nil
	}
	err := s.ort.Destroy()
	s.ort = nil
	return err
}

func (s *scalar[T]) isValue() {}

// unwrap returns the binding's value in v, or nil when v is nil or closed.
func unwrap(v Value) ort.Value {
	switch t := v.(type) {
	case *Tensor[float32]:
		if t.ort != nil {
			return t.ort
		}
	case *Tensor[int64]:
		if t.ort != nil {
			return t.ort
		}
	case *scalar[float32]:
		if t.ort != nil {
			return t.ort
		}
	case *scalar[int64]:
		if t.ort != nil {
			return t.ort
		}
	}
	return nil
}

// adopt puts the values that the runtime made into the empty places of out.
func adopt(made []ort.Value, out []Value) error {
	for i, v := range made {
		if out[i] != nil {
			continue
		}
		switch t := v.(type) {
		case *ort.Tensor[float32]:
			out[i] = &Tensor[float32]{shape: t.GetShape(), data: t.GetData(), ort: t}
		case *ort.Tensor[int64]:
			out[i] = &Tensor[int64]{shape: t.GetShape(), data: t.GetData(), ort: t}
		default:
			for _, v := range made[i:] {
				v.Destroy()
			}
			return fmt.Errorf("onnx: output %d is a %T, want float32 or int64", i, v)
		}
	}
	return nil
}
