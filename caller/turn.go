package caller

import (
	"time"

	"riposte/audio"
)

// Turn is what came of one thing that the caller said.
type Turn struct {
	Transcript string    // What the server heard; empty when it does not tell.
	Answer     string    // The words of the answer; those that were heard, where the server tells.
	Audio      audio.PCM // The answer's sound.
	Rate       int       // Of Audio, in hertz.

	// Gap is from the capture of the last voiced sample that the caller sent to the first audible sample of the answer, both
	// on the caller's clock. The answer's sample counts from when it can be heard: when it has arrived and everything before
	// it, silence too, has been played. A negative gap means that the server spoke before the caller had finished.
	Gap time.Duration
	// Audible is from the answer's first audible sample to its last; 0 means that nothing could be heard, and no gap.
	Audible time.Duration

	// Silence is how much sound after the last voiced sample the server had heard when it took the turn to be over, by its own count
	// of samples: however late it is, it cannot have known sooner. 0 where it does not tell.
	Silence time.Duration

	Cutoffs int     // Answers that the server began, and gave up, because the caller was not done.
	Report  *Report // The server's own account, or nil when it gives none.
}

// Report is the server's account of a turn.
type Report struct {
	Stages  map[string]time.Duration // What each stage took, by name: mic, stt, llm, tts.
	Shares  map[string]time.Duration // What each may take. It is empty where the server does not tell.
	Marks   map[string]time.Duration // What happened when, since the last voiced sample.
	Total   time.Duration            // From the last voiced sample to the first audible one that left.
	Verdict string                   // "met", "masked", "over" or "failed"; empty where nothing was spoken.
	Blame   string                   // The stage that took too long or failed, or empty.
	Actions []Action                 // What the server did because a stage was late.
	Guesses Guesses
}

// Action is something that the server did because a stage was late.
type Action struct {
	Stage string        // That was late.
	Kind  string        // Such as "opener".
	At    time.Duration // Since the last voiced sample.
}

// Guesses are the answers that the server began before it was certain that the caller was done.
type Guesses struct {
	Tries  int  `json:"tries"`         // How many there were,
	Stood  bool `json:"stood"`         // whether one of them was given,
	Wasted int  `json:"wasted_tokens"` // and how many tokens went into those that were not.
}
