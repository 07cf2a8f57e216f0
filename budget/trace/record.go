package trace

import (
	"math"
	"slices"
	"time"

	"riposte/budget"
)

// Record is what a call comes to as a whole: who called whom, how much was said, and what it cost. Its JSON is kept, told to other programs and
// printed alike, so its fields have their units in their names.
type Record struct {
	From        string     `json:"from"`                  // Who called; empty where the wire does not say.
	To          string     `json:"to"`                    // What was dialled.
	Line        string     `json:"line"`                  // What the far side calls the call.
	Answered    *time.Time `json:"answered"`              // When the caller was first sent sound; null where nothing was said.
	AnsweredBy  string     `json:"answered_by,omitempty"` // Who answered a call that was placed: human, machine or nobody; empty for others.
	Heard       float64    `json:"heard_s"`               // The caller's sound that came,
	Spoken      float64    `json:"spoken_s"`              // and ours that was sent.
	Words       int        `json:"words"`                 // What the caller said, as recognised.
	Characters  int        `json:"characters_spoken"`     // What was given a voice.
	Input       int        `json:"tokens_input"`          // What the model read, what was kept of it before included.
	Cached      int        `json:"tokens_cached"`         // That part of it.
	Output      int        `json:"tokens_output"`         // What it wrote.
	Tools       int        `json:"tool_calls"`            // What it called.
	Interrupted int        `json:"interruptions"`         // How often the caller took the word.
	Verdicts    Verdicts   `json:"verdicts"`              // Of its turns.
	GapP50      float64    `json:"gap_p50_ms"`            // Of the turns that have a verdict; 0 without any.
	GapP95      float64    `json:"gap_p95_ms"`
	Cost        float64    `json:"cost"`               // By the prices of its route.
	Currency    string     `json:"currency,omitempty"` // Of the cost.
	Why         string     `json:"why,omitempty"`      // What the model gave as the reason to end or transfer the call.
	Transferred string     `json:"transferred_to,omitempty"`
	Note        string     `json:"note,omitempty"`      // What whoever took over was told.
	Recorded    bool       `json:"recorded"`            // Its sound is kept, or was when it ended.
	Recording   string     `json:"recording,omitempty"` // The file of the whole call.
	Consent     Consent    `json:"consent"`
}

// Verdicts count turns by their verdict.
type Verdicts map[budget.Verdict]int

// Consent is what the caller was asked about recording, and said.
type Consent string

// The consents.
const (
	NotAsked  Consent = "not_asked" // Nothing was said of recording.
	Announced Consent = "announced" // The caller was told, and has not said no.
	Refused   Consent = "refused"   // The caller has said no: nothing is kept.
)

// Prices say what calls cost, in whatever currency.
type Prices struct {
	Call   float64 // Of each call,
	Minute float64 // of a minute of it,
	Heard  float64 // of a minute of the caller's sound,
	Spoken float64 // of 1,000 characters that are given a voice,
	Input  float64 // of 1,000 tokens that the model reads, what is cached included,
	Output float64 // and of 1,000 that it writes.
}

// Of returns what a call of this length costs, to the millionth.
func (p Prices) Of(r Record, length time.Duration) float64 {
	cost := p.Call + p.Minute*length.Minutes() + p.Heard*r.Heard/60 + p.Spoken*float64(r.Characters)/1000 + p.Input*float64(r.Input)/1000 + p.Output*float64(r.Output)/1000
	return math.Round(cost*1e6) / 1e6
}

// Gaps fills in the percentiles of gaps.
func (r *Record) Gaps(gaps []time.Duration) {
	sorted := slices.Sorted(slices.Values(gaps))
	at := func(part float64) float64 {
		if len(sorted) == 0 {
			return 0
		}
		nearest := int(math.Ceil(part * float64(len(sorted))))
		return float64(sorted[nearest-1].Microseconds()) / 1000
	}
	r.GapP50, r.GapP95 = at(0.50), at(0.95)
}

// The reasons for which a call ends. Call.Reason is one of them.
const (
	HungUp      = "hung_up"     // The caller hung up.
	Agent       = "agent"       // The model did.
	Transferred = "transferred" // The caller was led to somebody else.
	Machine     = "machine"     // A machine had answered.
	Silent      = "silent"      // The caller said nothing for too long,
	Idle        = "idle"        // nothing at all came,
	Expired     = "expired"     // the call reached its longest time,
	SlowReader  = "slow_reader" // or what was sent was not read.
	Lost        = "lost"        // The connection broke, or the service did.
	Shutdown    = "shutdown"    // The service went down.
	Failed      = "failed"      // Something went wrong.
	Ended       = "ended"       // It was over.
)

// Parties that end calls.
const (
	ByCaller  = "caller"
	ByAgent   = "agent"   // The model.
	ByService = "service" // By a limit, or since it went down.
	ByLine    = "line"    // The way between the two broke.
)

// EndedBy says who has ended a call, by its reason; empty while it goes on.
func EndedBy(reason string) string {
	switch reason {
	case "":
		return ""
	case HungUp:
		return ByCaller
	case Agent, Transferred:
		return ByAgent
	case Lost, SlowReader, Idle:
		return ByLine
	}
	return ByService
}

// Masked returns a number with most of its digits hidden: what is left tells countries and callers apart as far as people who look into a call
// need it. A short one is hidden whole.
func Masked(number string) string {
	runes := []rune(number)
	front, back := 3, 2
	if len(runes) < 8 {
		front, back = 0, 0
	}
	for i := front; i < len(runes)-back; i++ {
		runes[i] = 'x'
	}
	return string(runes)
}
