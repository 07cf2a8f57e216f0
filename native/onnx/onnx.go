// Package onnx runs ONNX graphs on ONNX Runtime: the few calls that Riposte's small models need, with the settings that
// let them live beside other engines on few cores. The runtime is a shared library, found at run time by its path.
// Without cgo every call answers ErrUnavailable.
package onnx

import (
	"errors"
	"log/slog"
)

// ErrUnavailable reports that this binary was built without cgo, so that ONNX Runtime cannot be called.
var ErrUnavailable = errors.New("onnx: not available: built without cgo")

// ErrClosed reports the use of a session or a tensor after its Close.
var ErrClosed = errors.New("onnx: already closed")

// ErrOtherLibrary reports a Start with another library than the one that the process already runs.
var ErrOtherLibrary = errors.New("onnx: another library is already loaded")

// Element is what tensors hold.
type Element interface{ float32 | int64 }

// Value is a *Tensor of any element.
type Value interface {
	// Shape returns the size of each dimension. It must not be changed.
	Shape() []int64
	// Close frees what the runtime holds of the value. Closing twice does nothing.
	Close() error

	isValue()
}

// Options says how a session uses the machine. The zero value is ready to use.
type Options struct {
	// Threads is how many threads work inside one operator, the caller's own included. It defaults to 1, which is the
	// robust choice where several engines share few cores. Idle threads sleep: they never spin.
	Threads int
	// Verbatim leaves the graph as it is. It is for graphs that were optimised before and for comparisons.
	Verbatim bool
	// Inputs and Outputs name the values that Run takes and fills, in their order. Nil means all of the graph's, in
	// the order of the graph.
	Inputs, Outputs []string
}

// LogValue groups the settings for a log line.
func (o Options) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("threads", max(1, o.Threads)), slog.Bool("verbatim", o.Verbatim))
}
