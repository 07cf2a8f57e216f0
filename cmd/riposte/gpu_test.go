package main

import (
	"os"
	"strings"
	"testing"

	"riposte/native"
)

func TestFindingsWithoutBuildsForGPUs(t *testing.T) {
	store, err := native.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var c doctorCmd
	if f := gpuBuilds(store, native.NoGPU); !f.note || f.err == nil || !strings.Contains(f.err.Error(), "make native GPU=cuda") {
		t.Errorf("none is asked for: %+v", f)
	}
	if f := c.gpuDevices(store, native.NoGPU); f.err != nil || !strings.Contains(f.detail, "llm-gpu is none") {
		t.Errorf("none is asked for: %+v", f)
	}
	if f := c.gpuDevices(store, native.Vulkan); f.note || f.err == nil || !strings.Contains(f.err.Error(), "make native GPU=vulkan") {
		t.Errorf("Vulkan is asked for: %+v", f)
	}
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Skip("this machine has the CUDA toolkit")
	}
	t.Setenv("PATH", t.TempDir())
	if f := gpuBuilds(store, native.CUDA); f.note || f.err == nil || !strings.Contains(f.err.Error(), "nvcc") {
		t.Errorf("CUDA is asked for: %+v", f)
	}
}
