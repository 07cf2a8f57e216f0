// Package budget says how many milliseconds each stage of an answer may take and what a turn really took. It holds values
// only: whoever measures passes the times in.
package budget

import (
	"errors"
	"fmt"
	"time"
)

// Stage is a part of the way from the caller's last sound to the first audible answer. The stages of a turn follow each
// other without a gap, so their times add up to the turn's total.
type Stage string

// The stages, in the order in which a turn passes them.
const (
	Mic Stage = "mic" // From the last voiced sample to the recogniser's hands: framing, network jitter, resampling.
	STT Stage = "stt" // From there to the final text, with the decision that the turn is over.
	LLM Stage = "llm" // From the final text to the first clause that can be spoken.
	TTS Stage = "tts" // From the first clause to the first audible sound that has left for the caller.
)

// Stages lists all stages in order.
var Stages = [...]Stage{Mic, STT, LLM, TTS}

// Plan gives each stage its share. What a stage leaves unused later stages may use; the total never moves.
type Plan struct {
	Mic, STT, LLM, TTS time.Duration
	Observe            bool // Measure and judge only: nothing is done when a share runs out.
}

// DefaultPlan is 890 ms in all.
var DefaultPlan = Plan{
	Mic: 40 * time.Millisecond,
	STT: 300 * time.Millisecond,
	LLM: 400 * time.Millisecond,
	TTS: 150 * time.Millisecond,
}

// Share returns how long s may take.
func (p Plan) Share(s Stage) time.Duration {
	switch s {
	case Mic:
		return p.Mic
	case STT:
		return p.STT
	case LLM:
		return p.LLM
	case TTS:
		return p.TTS
	}
	return 0
}

// Total returns how long a turn may take.
func (p Plan) Total() time.Duration {
	return p.Mic + p.STT + p.LLM + p.TTS
}

// Validate reports every share that is not positive.
func (p Plan) Validate() error {
	var errs []error
	for _, s := range Stages {
		if p.Share(s) <= 0 {
			errs = append(errs, fmt.Errorf("the %s share of the budget is %v: it must be more than 0", s, p.Share(s)))
		}
	}
	return errors.Join(errs...)
}
