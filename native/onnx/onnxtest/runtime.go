package onnxtest

import (
	"errors"
	"testing"

	"riposte/native/nativetest"
	"riposte/native/onnx"
)

// Runtime returns the real runtime. A test is skipped where there is none in a binary without C.
func Runtime(t testing.TB) *onnx.Runtime {
	t.Helper()
	rt, err := onnx.Start(nativetest.ONNXRuntime(t))
	if errors.Is(err, onnx.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rt
}
