package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"riposte/audio"
	"riposte/caller"
	"riposte/stt"
	"riposte/tts"
)

// Part is a part of what BargeIn measures.
type Part string

// The parts.
const (
	Interruptions Part = "interruptions" // The caller speaks over an answer.
	Coughs        Part = "coughs"        // The caller coughs, hums or clatters during one.
	Echo          Part = "echo"          // The answer comes back from the caller's loudspeaker, and the caller is silent.
	OverEcho      Part = "over_echo"     // It comes back, and the caller speaks over it.
)

// Parts are all of them, in the order in which they are measured.
var Parts = []Part{Interruptions, Coughs, Echo, OverEcho}

// BargeIn speaks, coughs and is silent over the answers of a service, in real time, each Times times, and measures whether the
// service makes way, goes on, and knows what was heard. The caller is a real one: it plays answers in real time, pauses when it is
// told to, and sends a frame every 20 ms. All durations are by its clock: of its sound, the times at which samples are captured; of
// the service's events, when they have arrived.
type BargeIn struct {
	Caller caller.Caller
	Clips  []Clip // What the caller says, in an order drawn by Seed.
	Noises []Clip // Recordings without speech; without any, there are no noises among the coughs.
	Times  int    // Of each part.
	Parts  []Part // None means all.
	Seed   uint64 // Draws clips, moments, coughs and rooms.

	// Voiced returns the first sample of a recording in which somebody speaks and the one behind the last, or false where nobody
	// does: by the same means as the service notices it, or by others.
	Voiced func(pcm audio.PCM, rate int) (from, to int, ok bool)
	// Voice is the service's own voice, where it can be overheard. Without it nobody knows where words lie in the answers' sound:
	// what the service says that was heard is judged by Judge alone, and whether sound was lost is not known.
	Voice *Overheard
	Hum   tts.Synthesizer // Hums for the caller; nil leaves that out of the coughs.
	Judge stt.Recognizer  // Listens to what was played of interrupted answers, once all is over; nil leaves that out.
	Each  func(Trial)     // Called after each trial, where it is not nil.
	// Keep is given all that was sent and played in a call, at a rate in hertz, when the call is over. nil keeps nothing.
	Keep func(part Part, call int, sent, played audio.PCM, rate int) error
}

// Trial is what happened over one answer, for people to read.
type Trial struct {
	Part Part
	N    int    // From 0.
	What string // What the caller did, and when.
	Came string // What came of it.
	Bad  bool   // Something of it is not as it should be.
}

const (
	// earliest and latestMoment are the bounds of the moment in an answer at which the caller speaks, from its first audible sample.
	earliest, latestMoment = 200 * time.Millisecond, 5 * time.Second
	// oneCall is how many answers one call has at most, and echoCall those in one room.
	oneCall, echoCall = 10, 5
	// early is how much sooner than the caller's first voiced sample a hold may begin and still be its effect: what comes before
	// the voice may be taken for it.
	early = 100 * time.Millisecond
	// unavoidable is how soon after the caller's first voiced sample an answer may end by itself without having ignored the caller.
	unavoidable = 350 * time.Millisecond
	// quiet is how long nothing must happen until the caller believes that nothing is going to.
	quiet = 1500 * time.Millisecond
	// longest is how long an answer may take to its end, and how long a service may have no room.
	longest = 2 * time.Minute
	// busy is how long the caller waits before it tries again.
	busy = 2 * time.Second
	// callerLevel is how loud the caller speaks over an echo, in dBFS. Without one, clips are as they were recorded.
	callerLevel = -24
)

// Run measures. A trial that fails is counted, and measuring goes on with a new call; the error is one that no trial could get around,
// or the cause of ctx. The result beside it holds what was measured until then.
func (b *BargeIn) Run(ctx context.Context) (BargeInResult, error) {
	clips := slices.DeleteFunc(slices.Clone(b.Clips), func(c Clip) bool { return c.pauses() })
	if len(clips) == 0 {
		return BargeInResult{}, fmt.Errorf("%w: it has no clip with a transcript in the language, and without pauses in it", ErrCorpus)
	}
	r := newBargeInResult(b.Times, b.Seed)
	for i, part := range Parts {
		if len(b.Parts) > 0 && !slices.Contains(b.Parts, part) {
			continue
		}
		rnd := rand.New(rand.NewPCG(b.Seed, uint64(i)))
		t := &trials{BargeIn: b, part: part, rnd: rnd, clips: clips, result: &r}
		if part == Coughs {
			var err error
			if t.coughs, err = interjections(ctx, b.Times, b.Noises, b.Hum, rnd); err != nil {
				return r, err
			}
		}
		if err := t.run(ctx); err != nil {
			r.sum()
			return r, err
		}
	}
	var err error
	if b.Judge != nil {
		err = r.read(ctx, b.Judge)
	}
	r.sum()
	return r, err
}

// pauses reports whether the talker falls silent in the middle of the clip for so long that it may be taken for the end.
func (c Clip) pauses() bool {
	return slices.ContainsFunc(c.Kinds, func(k string) bool { return k == "pause" || k == "turnpause" || k == "briefpause" })
}

// line is something that the caller says.
type line struct {
	caller.Speech
	clip Clip
	loud int // The first sample that is loud enough for a voice, which comes before those that are known for one.
}

// line returns what the caller says with a clip, from a little before the first word to the last, at a level in dBFS, or as it was
// recorded for 0.
func (b *BargeIn) line(c Clip, level float64) (line, error) {
	pcm, rate, err := c.Sound()
	if err != nil {
		return line{}, err
	}
	const before = 200 * time.Millisecond
	pcm = pcm[min(len(pcm), audio.Samples(max(0, c.SpeechStart-before), rate)):]
	if level != 0 {
		pcm = atLevel(pcm, rate, level)
	}
	from, to, ok := b.Voiced(pcm, rate)
	if !ok {
		return line{}, fmt.Errorf("%s: %w: nobody speaks in it", c.File, ErrCorpus)
	}
	return line{Speech: caller.Speech{Sound: pcm, Rate: rate, Onset: from, Voiced: to}, clip: c, loud: min(from, firstVoiced(pcm, rate))}, nil
}
