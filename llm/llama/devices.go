package llama

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	native "github.com/hybridgroup/yzma/pkg/llama"
)

// Device is a GPU that llama.cpp can compute on.
type Device struct {
	Name        string // What Engine.Devices takes, like "CUDA0".
	Description string // Whose it is, as its driver says.
	Free, Total uint64 // Its memory, in bytes.
}

// Devices lists the GPUs that the llama.cpp in libDir can use here, none if it was built without a backend for one. It
// loads llama.cpp, which a process can do from one folder only; its error is ErrLibrary.
func Devices(libDir string) ([]Device, error) {
	if err := loadLibrary(libDir, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	var list []Device
	for i := range native.GGMLBackendDeviceCount() {
		h := native.GGMLBackendDeviceGet(i)
		if !isGPU(h) {
			continue
		}
		d := Device{Name: native.GGMLBackendDeviceName(h), Description: native.GGMLBackendDeviceDescription(h)}
		d.Free, d.Total = native.GGMLBackendDeviceMemory(h)
		list = append(list, d)
	}
	return list, nil
}

func isGPU(h native.GGMLBackendDevice) bool {
	t := native.GGMLBackendDevType(h)
	return t == native.GGMLBackendDeviceTypeGPU || t == native.GGMLBackendDeviceTypeIGPU
}

// gpus finds GPUs by their names, or all of them without names. The result ends with the null that llama.cpp wants
// there.
func gpus(names []string) ([]native.GGMLBackendDevice, error) {
	var found []native.GGMLBackendDevice
	var known []string
	for i := range native.GGMLBackendDeviceCount() {
		h := native.GGMLBackendDeviceGet(i)
		if !isGPU(h) {
			continue
		}
		known = append(known, native.GGMLBackendDeviceName(h))
		if len(names) == 0 {
			found = append(found, h)
		}
	}
	if len(known) == 0 {
		return nil, ErrNoGPU
	}
	for _, n := range names {
		// Not just any device: llama.cpp computes on a CPU that is named here without its threads.
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("llama.cpp knows no GPU %q here, only %s", n, strings.Join(known, ", "))
		}
		found = append(found, native.GGMLBackendDeviceByName(n))
	}
	return append(found, 0), nil
}

// checkSplit refuses a split of the layers that is not one part for each GPU. None at all is llama.cpp's own split.
func checkSplit(parts []float32, gpus int) error {
	if len(parts) == 0 {
		return nil
	}
	if len(parts) != gpus {
		return fmt.Errorf("the layers are to be split into %d parts, but the GPUs to use are %d", len(parts), gpus)
	}
	var sum float32
	for _, p := range parts {
		if !(p >= 0) || math.IsInf(float64(p), 1) {
			return fmt.Errorf("a GPU's part of the layers cannot be %v", p)
		}
		sum += p
	}
	if sum == 0 {
		return errors.New("the layers are to be split, but no GPU gets any")
	}
	return nil
}
