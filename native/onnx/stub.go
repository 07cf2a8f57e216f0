//go:build !cgo

package onnx

import "context"

// Runtime is a loaded ONNX Runtime; without cgo there is none.
type Runtime struct{}

// Start returns ErrUnavailable.
func Start(string) (*Runtime, error) { return nil, ErrUnavailable }

// Version returns "".
func (r *Runtime) Version() string { return "" }

// String returns "".
func (r *Runtime) String() string { return "" }

// Open returns ErrUnavailable.
func (r *Runtime) Open(string, Options) (*Session, error) { return nil, ErrUnavailable }

// OpenBytes returns ErrUnavailable.
func (r *Runtime) OpenBytes([]byte, Options) (*Session, error) { return nil, ErrUnavailable }

// Session is a graph ready to run; without cgo there is none.
type Session struct{}

// Inputs returns nil.
func (s *Session) Inputs() []string { return nil }

// Outputs returns nil.
func (s *Session) Outputs() []string { return nil }

// Run returns ErrUnavailable.
func (s *Session) Run(context.Context, []Value, []Value) error { return ErrUnavailable }

// Close does nothing.
func (s *Session) Close() error { return nil }

// Tensor is an array of numbers; without cgo there is none.
type Tensor[T Element] struct{}

// NewTensor returns ErrUnavailable.
func NewTensor[T Element]([]T, ...int64) (*Tensor[T], error) { return nil, ErrUnavailable }

// NewScalar returns ErrUnavailable.
func NewScalar[T Element](T) (Value, error) { return nil, ErrUnavailable }

// Data returns nil.
func (t *Tensor[T]) Data() []T { return nil }

// Shape returns nil.
func (t *Tensor[T]) Shape() []int64 { return nil }

// Close does nothing.
func (t *Tensor[T]) Close() error { return nil }

func (t *Tensor[T]) isValue() {}
