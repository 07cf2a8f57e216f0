package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/budget"
)

// Fault is something that can be wrong with an engine.
type Fault struct {
	Stage budget.Stage
	Kind  FaultKind
}

// FaultKind says what is wrong with an engine.
type FaultKind string

// The kinds of faults.
const (
	// Delayed engines bring what they would have brought, but later: the recogniser the words of a turn that may be over, the model
	// its first token, the voice its first sound.
	Delayed FaultKind = "delay"
	Hanging FaultKind = "hang"    // It brings nothing at all until it is told to stop.
	Failing FaultKind = "error"   // It says that it failed.
	Garbage FaultKind = "garbage" // It brings, in time, what makes no sense. Rubbish says what.
)

// faulty are the stages that can be made to have a fault, in the order of a turn.
var faulty = []budget.Stage{budget.STT, budget.LLM, budget.TTS}

// Faults are all that there are.
var Faults = func() (all []Fault) {
	for _, s := range faulty {
		for _, k := range []FaultKind{Delayed, Hanging, Failing, Garbage} {
			all = append(all, Fault{s, k})
		}
	}
	return all
}()

// String returns what ParseFault reads, such as "llm.delay"; the zero Fault is "clean".
func (f Fault) String() string {
	if f == (Fault{}) {
		return "clean"
	}
	return string(f.Stage) + "." + string(f.Kind)
}

// ParseFault reads a fault's name.
func ParseFault(s string) (Fault, error) {
	for _, f := range Faults {
		if f.String() == s {
			return f, nil
		}
	}
	return Fault{}, fmt.Errorf("there is no fault %q: there are %s", s, strings.Trim(fmt.Sprint(Faults), "[]"))
}

// Rubbish is what an engine with the fault Garbage brings.
type Rubbish string

// What there is of it.
const (
	Loop    Rubbish = "loop"    // The recogniser and the model say the same few words again and again.
	Lost    Rubbish = "lost"    // The recogniser finds in the end that nobody said anything, whatever it said before.
	Bytes   Rubbish = "bytes"   // The recogniser's text is no text.
	Control Rubbish = "control" // The model writes nothing but control characters.
	Empty   Rubbish = "empty"   // The model ends without a word.
	Mute    Rubbish = "mute"    // The voice makes no sound.
	Silent  Rubbish = "silent"  // The voice's sound is silence.
	Noise   Rubbish = "noise"   // The voice's sound is noise, as loud as can be: what becomes of numbers that are none.
)

// rubbish says what there is at each stage.
var rubbish = map[budget.Stage][]Rubbish{
	budget.STT: {Loop, Lost, Bytes},
	budget.LLM: {Loop, Control, Empty},
	budget.TTS: {Mute, Silent, Noise},
}

// errInjected is what an engine with the fault Failing fails with.
var errInjected = errors.New("a fault was injected")

// Injector gives the engines of a running service faults, one at a time. The engines that it stands before are given to the service
// instead of its own. It is safe for use by several goroutines.
type Injector struct {
	Delay time.Duration // Of the fault Delayed. It defaults to 1.5 s.

	mu     sync.Mutex
	fault  Fault
	what   Rubbish
	struck bool
	once   func() // Told that the fault has struck, which is then over; nil where it lasts.
}

// Set lets engines have a fault from now on: in what is asked of them until it is set anew, and for as long as that lasts. What is
// the rubbish of Garbage, and empty otherwise. The zero fault is none.
func (i *Injector) Set(f Fault, what Rubbish) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault, i.what, i.struck, i.once = f, what, false, nil
}

// Next lets an engine have a fault in the next result that is asked of it, and in none after that; unless it is set anew before. struck
// is told when it has it.
func (i *Injector) Next(f Fault, what Rubbish, struck func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault, i.what, i.struck, i.once = f, what, false, struck
}

// Struck reports whether an engine has had the present fault.
func (i *Injector) Struck() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.struck
}

// strike returns what an engine of a stage is to suffer, where it is asked for a result.
func (i *Injector) strike(s budget.Stage) (FaultKind, Rubbish) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kind, what := i.of(s)
	if kind == "" {
		return "", ""
	}
	i.struck = true
	if i.once != nil {
		i.once()
		i.fault, i.what, i.once = Fault{}, "", nil
	}
	return kind, what
}

// now returns the same, where it is asked for something that need not be noticed when it is missing.
func (i *Injector) now(s budget.Stage) (FaultKind, Rubbish) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.of(s)
}

// of is now for who holds mu.
func (i *Injector) of(s budget.Stage) (FaultKind, Rubbish) {
	if i.fault.Stage != s {
		return "", ""
	}
	return i.fault.Kind, i.what
}

// stumble waits or fails before a result, where kind is a reason to. The error is the one that the engine ends with.
func (i *Injector) stumble(ctx context.Context, kind FaultKind) error {
	switch kind {
	case Delayed:
		delay := i.Delay
		if delay == 0 {
			delay = 1500 * time.Millisecond
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case Hanging:
		<-ctx.Done()
		return context.Cause(ctx)
	case Failing:
		return errInjected
	}
	return nil
}

// circle returns n words that go round in a circle.
func circle(n int) string {
	return strings.Join(slices.Repeat([]string{"and", "then", "the"}, (n+2)/3)[:n], " ")
}
