package budget

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Mark names a moment in a turn.
type Mark string

// The marks of a turn, in the order in which they usually come.
const (
	SpeechEnd    Mark = "speech_end"    // The caller's last voiced sample, on the audio clock: the turn's zero.
	Received     Mark = "received"      // The frame that holds it has reached the recogniser. Mic ends.
	Decided      Mark = "decided"       // The turn was found to be over.
	Final        Mark = "final"         // The text is final and the turn decided. STT ends.
	FirstToken   Mark = "first_token"   // The model has begun to answer.
	FirstClause  Mark = "first_clause"  // There is something to speak. LLM ends.
	FirstAudio   Mark = "first_audio"   // The voice has made its first sound, audible or not.
	FirstAudible Mark = "first_audible" // The first audible sound has left for the caller.
	Answered     Mark = "answered"      // The first audible sound of the answer itself has. TTS ends. Later only where the first was an opener.
	Done         Mark = "done"          // The answer's last sound has left for the caller.
)

// ends says with which mark each stage ends; a stage begins where the one before it ended.
var ends = [len(Stages)]Mark{Received, Final, FirstClause, Answered}

// Turn collects the marks of one turn. It is safe for use by several goroutines.
type Turn struct {
	speechEnd time.Time

	mu      sync.Mutex
	marks   []stamp
	actions []Action
}

type stamp struct {
	mark Mark
	at   time.Time
}

// NewTurn returns a turn whose clock began at the caller's last voiced sample, which is always in the past.
func NewTurn(speechEnd time.Time) *Turn {
	return &Turn{speechEnd: speechEnd}
}

// Since returns how long after the caller's last voiced sample a time is.
func (t *Turn) Since(at time.Time) time.Duration { return at.Sub(t.speechEnd) }

// Mark notes that m happened at the given time. Only the first time counts.
func (t *Turn) Mark(m Mark, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.marks {
		if s.mark == m {
			return
		}
	}
	t.marks = append(t.marks, stamp{m, at})
}

// Act notes what was done because a stage's share had run out.
func (t *Turn) Act(s Stage, k ActionKind, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.actions = append(t.actions, Action{Stage: s, Kind: k, At: at.Sub(t.speechEnd)})
	slices.SortStableFunc(t.actions, func(a, b Action) int { return cmp.Compare(a.At, b.At) }) // some are told of later
}

// Pending returns the first stage that has not ended; empty when all have.
func (t *Turn) Pending() Stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, s := range Stages {
		if !slices.ContainsFunc(t.marks, func(m stamp) bool { return m.mark == ends[i] }) {
			return s
		}
	}
	return ""
}

// Due returns when a stage has to be at its end: what the stages before it leave unused it may use.
func (t *Turn) Due(p Plan, s Stage) time.Time {
	at := t.speechEnd
	for _, stage := range Stages {
		at = at.Add(p.Share(stage))
		if stage == s {
			break
		}
	}
	return at
}

// Report says how the turn went by the plan p. It may be asked for at any time; a turn that was never answered aloud
// has no verdict.
func (t *Turn) Report(p Plan) Report {
	t.mu.Lock()
	defer t.mu.Unlock()

	r := Report{
		Plan: p, SpeechEnd: t.speechEnd, Actions: slices.Clone(t.actions),
		Stages: make(map[Stage]time.Duration), Marks: make(map[Mark]time.Duration),
	}
	r.Marks[SpeechEnd] = 0
	for _, s := range t.marks {
		r.Marks[s.mark] = s.at.Sub(t.speechEnd)
	}
	total, heard := r.Marks[FirstAudible]
	took := make(map[Stage]time.Duration) // Those that never ended as well: what they have taken when something was heard.
	var begin time.Duration
	for i, s := range Stages {
		end, ok := r.Marks[ends[i]]
		if !ok {
			took[s] = total - begin
			break
		}
		end = max(end, begin) // a stage that ran ahead of the one before it took no time of its own
		r.Stages[s], took[s] = end-begin, end-begin
		begin = end
	}
	if !heard {
		return r
	}
	r.Total = total
	switch {
	case total > p.Total():
		r.Verdict, r.Blame = Over, blame(took, p)
	case len(r.Actions) > 0:
		last := r.Actions[len(r.Actions)-1]
		r.Verdict, r.Blame = Masked, last.Stage // the one that would have been too late without it
		if worst := blame(took, p); worst != "" && (last.Kind == Opener || last.Kind == CachedClause) {
			r.Blame = worst // who keeps the caller waiting last need not be who has taken the time
		}
	default:
		r.Verdict = Met
	}
	return r
}

// blame returns the stage that overran its share by most.
func blame(took map[Stage]time.Duration, p Plan) Stage {
	var worst Stage
	var excess time.Duration
	for _, s := range Stages {
		if e := took[s] - p.Share(s); e > excess {
			worst, excess = s, e
		}
	}
	return worst
}
