package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"riposte/llm/llama"
	"riposte/native"
)

// validateGPU reports what is wrong about GPUs, and what would be ignored. How many there are is found out later.
func (s *settings) validateGPU() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	c := &s.LLM
	none := c.GPU == string(native.NoGPU)
	check(c.GPULayers >= -1, "llm-gpu-layers is %d: it must be -1 or more", c.GPULayers)
	check(!none || c.GPULayers <= 0, "llm-gpu-layers is %d, but llm-gpu is none: set it to cuda or vulkan", c.GPULayers)
	idle := func(name string, set bool) {
		check(!set || !none, "%s is set, but llm-gpu is none: set it to cuda or vulkan", name)
		check(!set || none || c.GPULayers != 0, "%s is set, but llm-gpu-layers is 0: no layer is on a GPU", name)
	}
	idle("llm-devices", len(c.Devices) > 0)
	idle("llm-split", len(c.Split) > 0)
	for i, name := range c.Devices {
		check(name != "", "llm-devices names a GPU without a name")
		check(!slices.Contains(c.Devices[:i], name), "llm-devices names %s twice", name)
	}
	if len(c.Split) == 0 {
		return errors.Join(errs...)
	}
	var least, sum float32
	for _, part := range c.Split {
		least, sum = min(least, part), sum+part // No numbers either, if a part is none.
	}
	check(least == 0 && sum > 0 && !math.IsInf(float64(sum), 0), "llm-split is %v: its parts must be 0 or more, and one of them more than 0", c.Split)
	check(len(c.Devices) == 0 || len(c.Split) == len(c.Devices),
		"llm-split has %d parts for the %d GPUs of llm-devices: it must have one for each", len(c.Split), len(c.Devices))
	return errors.Join(errs...)
}

// gpuBuilds says which builds of llama.cpp for a GPU there are, and what one more needs.
func gpuBuilds(store *native.Store, set native.GPU) finding {
	var have []string
	for _, gpu := range []native.GPU{native.CUDA, native.Vulkan} {
		if _, err := store.LlamaDir(gpu); err == nil {
			have = append(have, string(gpu))
		}
	}
	if set == native.CUDA && !slices.Contains(have, string(set)) {
		if _, err := native.FindNVCC(); err != nil {
			return finding{what: "gpu builds", err: fmt.Errorf("llm-gpu is cuda, and it cannot be built for: %w", err)}
		}
	}
	if len(have) == 0 {
		return finding{what: "gpu builds", note: true, err: errors.New("none (make one with: make native GPU=cuda, or GPU=vulkan)")}
	}
	return finding{what: "gpu builds", detail: strings.Join(have, ", ")}
}

// What a backend needs to see a GPU.
var driverHints = map[native.GPU]string{
	native.CUDA:   "it needs NVIDIA's driver: does nvidia-smi list a GPU?",
	native.Vulkan: "it needs a Vulkan driver: does vulkaninfo --summary list a GPU? One in software counts only with GGML_VK_VISIBLE_DEVICES=0",
}

// gpuDevices lists the GPUs that the build which is set can use here.
func (c *doctorCmd) gpuDevices(store *native.Store, set native.GPU) finding {
	f := finding{what: "gpu devices"}
	if set == native.NoGPU {
		f.detail = "none is asked for: llm-gpu is none"
		return f
	}
	dir, err := store.LlamaDir(set)
	if err != nil {
		f.err = err
		return f
	}
	devices, err := llama.Devices(dir)
	switch {
	case err != nil:
		f.err = fmt.Errorf("%w (%s)", err, driverHints[set])
	case len(devices) == 0:
		f.note = c.LLM.GPULayers == 0
		f.err = fmt.Errorf("the %s build sees no GPU (%s)", set, driverHints[set])
	}
	var list []string
	for _, d := range devices {
		list = append(list, fmt.Sprintf("%s: %s, %d of %d MiB free", d.Name, d.Description, d.Free>>20, d.Total>>20))
	}
	f.detail = strings.Join(list, "\n")
	return f
}
