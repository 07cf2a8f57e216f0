package budget

import "time"

// Verdict is whether a turn kept to its budget.
type Verdict string

// The verdicts. A turn that was not answered aloud has none.
const (
	Met Verdict = "met" // The first audible answer left within the plan's total.
	// Masked says that something else than the answer was heard in time: an opener, the answer to a hypothesis, a cached clause.
	Masked Verdict = "masked"
	Over   Verdict = "over" // It left later.
	// Failed says that there was no answer, only an apology. Who makes the report knows.
	Failed Verdict = "failed"
)

// Report is what one turn took.
type Report struct {
	Plan      Plan
	SpeechEnd time.Time
	Stages    map[Stage]time.Duration // Only the stages that ended. They add up to the time until Answered.
	Marks     map[Mark]time.Duration  // Time since SpeechEnd.
	Total     time.Duration           // From the last voiced sample to the first audible sound: the platform's turn gap.
	Verdict   Verdict
	Blame     Stage    // For Over the stage that overran its share by most, for Masked the one that was acted for, for Failed the one that did.
	Actions   []Action // What was done because a share ran out, in the order of time.
}

// Action is what the budget did when a stage's share ran out.
type Action struct {
	Stage Stage
	Kind  ActionKind
	At    time.Duration // Since SpeechEnd.
}

// ActionKind names what was done.
type ActionKind string

// The kinds of actions.
const (
	CatchUp        ActionKind = "catch_up"        // mic: silence was dropped, since sound had waited for too long.
	BestHypothesis ActionKind = "best_hypothesis" // stt: the best text so far was taken for the final one.
	Substitute     ActionKind = "substitute"      // stt: another recogniser was asked as well, since the first was late or had failed.
	Hedge          ActionKind = "hedge"           // llm: a second model was asked as well.
	Opener         ActionKind = "opener"          // llm: a short phrase was spoken while the model went on.
	CachedClause   ActionKind = "cached_clause"   // tts: something spoken before was played.
	FasterVoice    ActionKind = "faster_voice"    // tts: another voice was asked as well, since the first was late or had failed.
)
