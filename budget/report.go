package budget

import "time"

// Verdict is whether a turn kept to its budget.
type Verdict string

// The verdicts. A turn that was not answered aloud has none.
const (
	Met  Verdict = "met"  // The first audible answer left within the plan's total.
	Over Verdict = "over" // It left later.
	// Failed says that there was no answer, only an apology. Who makes the report knows.
	Failed Verdict = "failed"
)

// Report is what one turn took.
type Report struct {
	Plan      Plan
	SpeechEnd time.Time
	Stages    map[Stage]time.Duration // Only the stages that ended.
	Marks     map[Mark]time.Duration  // Time since SpeechEnd.
	Total     time.Duration           // From the last voiced sample to the first audible answer: the platform's turn gap.
	Verdict   Verdict
	Blame     Stage // For Over: the stage that overran its share by most.
}
