package realtime

import (
	"cmp"
	"math"
	"time"

	"riposte/budget"
)

// extension is what a session has that the protocol does not know: session.riposte.
type extension struct {
	Budget *sessionPlan `json:"budget"`
}

// sessionPlan is the budget of the session's turns, as the wire writes it. A client may leave out what is to stay as it is; null stands
// for the service's own.
type sessionPlan struct {
	Mode *string  `json:"mode"`
	Mic  *float64 `json:"mic_ms"`
	STT  *float64 `json:"stt_ms"`
	LLM  *float64 `json:"llm_ms"`
	TTS  *float64 `json:"tts_ms"`
}

// What the budget does when a share runs out.
const (
	enforce = "enforce" // It acts.
	observe = "observe" // It only judges.
)

// Bounds of the shares that a client may ask for, in milliseconds.
const (
	leastShare = 1
	mostShare  = 60_000
)

// complete fills in what is left out.
func (e *extension) complete(p budget.Plan) {
	p = cmp.Or(p, budget.DefaultPlan)
	if e.Budget == nil {
		e.Budget = &sessionPlan{}
	}
	mode := enforce
	if p.Observe {
		mode = observe
	}
	fill(&e.Budget.Mode, mode)
	for stage, share := range e.Budget.shares() {
		fill(share, ms(p.Share(stage)))
	}
}

// shares returns where the share of each stage is.
func (p *sessionPlan) shares() map[budget.Stage]**float64 {
	return map[budget.Stage]**float64{budget.Mic: &p.Mic, budget.STT: &p.STT, budget.LLM: &p.LLM, budget.TTS: &p.TTS}
}

// validate says what a client cannot have. What was so before the change may stay: the service's own settings are less narrow.
func (e *extension) validate(old *extension) error {
	if e == nil || e.Budget == nil {
		return nil
	}
	const param = "session.riposte.budget"
	p := e.Budget
	if p.Mode != nil && *p.Mode != enforce && *p.Mode != observe {
		return invalid(param+".mode", "invalid_value", "mode is %.64q; it must be %q, which acts when a share runs out, or %q, which only judges.", *p.Mode, enforce, observe)
	}
	before := old.Budget.shares()
	for _, stage := range budget.Stages {
		share := *p.shares()[stage]
		if share == nil || *before[stage] != nil && *share == **before[stage] {
			continue
		}
		if *share < leastShare || *share > mostShare {
			return invalid(param+"."+string(stage)+"_ms", "invalid_value", "%s_ms is %v; it must be %d to %d milliseconds.", stage, *share, leastShare, mostShare)
		}
	}
	return nil
}

// plan returns what the turns may take.
func (e *extension) plan() budget.Plan {
	of := func(ms *float64) time.Duration { return time.Duration(math.Round(*ms*1000)) * time.Microsecond }
	p := e.Budget
	return budget.Plan{Mic: of(p.Mic), STT: of(p.STT), LLM: of(p.LLM), TTS: of(p.TTS), Observe: *p.Mode == observe}
}
