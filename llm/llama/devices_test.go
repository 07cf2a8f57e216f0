package llama

import (
	"math"
	"testing"

	"riposte/native/nativetest"
)

func TestCheckSplit(t *testing.T) {
	for _, test := range []struct {
		parts []float32
		gpus  int
		good  bool
	}{
		{nil, 2, true},
		{[]float32{3, 1}, 2, true},
		{[]float32{0, 1}, 2, true},
		{[]float32{1}, 2, false},
		{[]float32{1, 1, 1}, 2, false},
		{[]float32{0, 0}, 2, false},
		{[]float32{-1, 2}, 2, false},
		{[]float32{float32(math.NaN()), 2}, 2, false},
		{[]float32{float32(math.Inf(1)), 2}, 2, false},
	} {
		if err := checkSplit(test.parts, test.gpus); (err == nil) != test.good {
			t.Errorf("%v for %d GPUs: %v", test.parts, test.gpus, err)
		}
	}
}

// The build for the CPU has no backend for a GPU, whatever is in the machine.
func TestDevicesOfABuildForTheCPU(t *testing.T) {
	list, err := Devices(nativetest.LlamaDir(t))
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
