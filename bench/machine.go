package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// About says with what something was measured, and on what. It is part of every result; whoever runs the program fills in
// Version and Models.
type About struct {
	Machine Machine           `json:"machine"`
	Seed    uint64            `json:"seed"`
	Version string            `json:"version"` // Of the program.
	Models  map[string]string `json:"models"`  // By stage.
}

// about begins a result.
func about(seed uint64) About { return About{Machine: machine(), Seed: seed} }

// Machine says on what, and beside how much else, something was measured.
type Machine struct {
	Cores       int     `json:"cores"`
	Load1Before float64 `json:"load1_before"` // Processes that wanted to run, over the minute before the measurement,
	Load1After  float64 `json:"load1_after"`  // and over its last minute.
	CPU         string  `json:"cpu"`
}

// machine returns the machine at the beginning of a measurement.
func machine() Machine {
	return Machine{Cores: runtime.NumCPU(), Load1Before: load1(), CPU: cpu()}
}

// after notes the load at the end of the measurement.
func (m Machine) after() Machine {
	m.Load1After = load1()
	return m
}

// String says it in a line, for people.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, load %.1f before and %.1f after", m.CPU, m.Cores, m.Load1Before, m.Load1After)
}

// load1 returns the load over the last minute, or 0 where the system does not tell.
func load1() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// cpu returns the processor's name, or nothing where the system does not tell.
func cpu() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
