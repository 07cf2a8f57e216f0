package store

import (
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Filter chooses turns, and by them calls. Its zero value takes all; each field that is set takes fewer. Of a list, any
// entry may match. String and ParseFilter write and read it as text.
type Filter struct {
	Since, Until time.Time        // The end of the caller's speech: not before Since, and before Until.
	Call         string           // ID of the call, or the beginning of it.
	Route        []string         // Names, whole.
	Version      []string         //
	Model        []string         // Of any stage.
	Verdict      []budget.Verdict // None is a verdict too: NoVerdict.
	Blame        []budget.Stage   //
	Origin       []trace.Origin   // What they answer: Aloud is one, too, under that name.
	Status       []string         // How the answer ended.
	Gap          time.Duration    // Least gap.
	Text         string           // Words that all occur in what was said or answered; beginnings of words suffice.
}

// NoVerdict is how filters call the verdict of a turn that has none.
const NoVerdict budget.Verdict = "none"

// Aloud is how filters call the origin of a turn that answers what was said.
const Aloud trace.Origin = "aloud"
