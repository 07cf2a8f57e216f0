// Package live acts scripts of conversations with a real service: a caller whose speech is sound and whose line is a WebSocket,
// on the real clock. What is expected is judged by what came over the line, with the tolerance of Slack. What a script asks of
// its engines cannot be had here; Needs says so before anything is acted.
package live

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/scenario"
)

// Rate is the rate of all sound on the line, in hertz.
const Rate = 24000

// Stage is what scripts are acted with.
type Stage struct {
	URL   string // Of the service's Realtime endpoint, such as ws://127.0.0.1:8080/v1/realtime.
	Ready string // Of the page on which the service says how many calls it holds; empty where it does not.
	Mouth Mouth
	// Ear says which words are in a sound at Rate: what was played of an answer that was cut off is heard with it. Where it is
	// nil, nobody checks what the service says was heard.
	Ear func(context.Context, audio.PCM) (string, error)
	// Stop takes the service down, as a signal would. It returns at once.
	Stop  func()
	Slack Slack
	// Lead is how much sound the service may send ahead of its playing. It defaults to 200 ms.
	Lead time.Duration
}

// Mouth makes the caller's sounds, at Rate.
type Mouth interface {
	// Say speaks, at the given time a word; 0 is the voice's own pace.
	Say(ctx context.Context, s scenario.Speech, word time.Duration) (Sound, error)
	// Cough makes a sound that is voice without words.
	Cough(ctx context.Context, d time.Duration) (Sound, error)
	// Noise plays a recording of that name.
	Noise(name string, d time.Duration) (Sound, error)
}

// Sound is what the caller sends, and where it comes from.
type Sound struct {
	PCM audio.PCM
	Of  string // For people, such as "clip sb_birch".
}

// Slack is how much longer real engines may take than a script says, and how much earlier its last sound may be heard to end
// than it does.
type Slack struct {
	Ears   time.Duration // For what takes no words: the VAD hears frames of 32 ms, and words begin softly. It defaults to 100 ms.
	Words  time.Duration // For what takes a recogniser, a model or a voice. It defaults to 300 ms.
	End    time.Duration // For the end of a call. It defaults to 1 s.
	Jitter time.Duration // For sound on its way from the service's clock to the caller's. It defaults to 100 ms.
	Early  time.Duration // For what must not have come yet. It defaults to 100 ms.
}

func (s Slack) withDefaults() Slack {
	return Slack{
		Ears:   cmp.Or(s.Ears, 100*time.Millisecond),
		Words:  cmp.Or(s.Words, 300*time.Millisecond),
		End:    cmp.Or(s.End, time.Second),
		Jitter: cmp.Or(s.Jitter, 100*time.Millisecond),
		Early:  cmp.Or(s.Early, 100*time.Millisecond),
	}
}

// Outcome is how a script went.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // It says what cannot be had with real engines.
)

// Result is what came of a script.
type Result struct {
	Outcome  Outcome
	Problems []string // What was not as the script says, or why it was not acted, each with its place.
	Happened string   // All that happened, and when.
	Sounds   []string // Where the caller's sounds come from, in order.
	Took     time.Duration
}

// Seen says in a line what was not as it should be.
func (r Result) Seen() string { return strings.Join(r.Problems, "; ") }

// Act acts a script. The error is one that is not the script's, such as a service that cannot be called.
func (s *Stage) Act(ctx context.Context, script scenario.Script) (Result, error) {
	if why := Needs(script); len(why) > 0 {
		return Result{Outcome: Skipped, Problems: why}, nil
	}
	began := time.Now()
	p := &play{Stage: s, slack: s.Slack.withDefaults(), ctx: ctx, taught: lessons(script), settings: newSettings(script)}
	if err := p.rehearse(script); err != nil {
		return Result{}, err
	}
	if err := p.run(script); err != nil {
		return Result{}, err
	}
	r := Result{Outcome: Passed, Problems: p.problems, Happened: p.transcript(), Took: time.Since(began)}
	for _, sound := range p.sounds {
		r.Sounds = append(r.Sounds, sound.Of)
	}
	switch {
	case p.pending != "" && len(p.problems) == 0:
		r.Outcome, r.Problems = Failed, []string{"all is as it should be: take the line out that says that it is pending"}
	case p.pending != "":
		r.Outcome, r.Problems = Skipped, append([]string{"pending: " + p.pending}, p.problems...)
	case len(p.problems) > 0:
		r.Outcome = Failed
	}
	return r, nil
}

// wrong says that the line at is not as it should be.
func (p *play) wrong(at, format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("%s: "+format, append([]any{at}, args...)...))
}

// amiss says that the call is not as every call should be.
func (p *play) amiss(format string, args ...any) { p.wrong(p.at, format, args...) }
