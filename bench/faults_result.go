package bench

import (
	"time"
)

// FaultsResult is what a FaultRun measured. Every turn counts; those that failed are heard by nobody and right for nobody.
type FaultsResult struct {
	Faults []FaultResult `json:"faults"` // In the order of a turn's stages.
	Clean  FaultResult   `json:"clean"`  // The turns without a fault.
	Turns  int           `json:"turns"`
	Failed int           `json:"failed"`
	Trials []FaultTrial  `json:"trials"` // In the order in which they were taken.

	About
}

// FaultResult sums up the turns with one fault.
type FaultResult struct {
	Fault string `json:"fault"`
	Turns int    `json:"turns"`
	// The shares of the turns in which something was heard within the budget of the gap: by the caller's clock, and by the service's account.
	HeardAtCaller   float64        `json:"heard_at_caller"`
	HeardByPlatform float64        `json:"heard_by_platform"`
	Gap             Percentiles    `json:"gap_ms"` // At the caller, of the turns in which something was heard.
	PlatformGap     Percentiles    `json:"platform_turn_gap_ms"`
	First           map[First]int  `json:"first"`
	Verdicts        map[string]int `json:"verdicts"` // "none" where the service gave none.
	Blamed          map[string]int `json:"blamed"`   // By stage.
	Right           float64        `json:"right"`    // The share of the turns whose verdict is right.
	Failed          int            `json:"failed"`
}

// sum sums up the trials. The budget is how long the gap may be.
func (r *FaultsResult) sum(faults []Fault, budget time.Duration) {
	r.Turns = len(r.Trials)
	r.Clean = sum(Fault{}.String(), r.Trials, budget)
	for _, f := range faults {
		r.Faults = append(r.Faults, sum(f.String(), r.Trials, budget))
	}
	for _, t := range r.Trials {
		if t.Failed() {
			r.Failed++
		}
	}
}

// sum sums up the trials with one fault.
func sum(fault string, trials []FaultTrial, budget time.Duration) FaultResult {
	r := FaultResult{Fault: fault, First: map[First]int{}, Verdicts: map[string]int{}, Blamed: map[string]int{}}
	var gaps, totals []time.Duration
	caller, platform, right := 0, 0, 0
	for _, t := range trials {
		if t.Fault != fault {
			continue
		}
		r.Turns++
		r.First[t.First]++
		if t.Failed() {
			r.Failed++
			continue
		}
		gaps = append(gaps, t.gap)
		caller += count(t.gap <= budget)
		verdict := t.Verdict
		if verdict == "" {
			verdict = "none"
		} else {
			totals = append(totals, t.total)
			platform += count(t.total <= budget)
		}
		r.Verdicts[verdict]++
		if t.Blame != "" {
			r.Blamed[t.Blame]++
		}
		right += count(t.Right)
	}
	r.Gap, r.PlatformGap = percentiles(gaps), percentiles(totals)
	if n := float64(r.Turns); n > 0 {
		r.HeardAtCaller, r.HeardByPlatform, r.Right = float64(caller)/n, float64(platform)/n, float64(right)/n
	}
	return r
}

// count is 1 for what counts.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
