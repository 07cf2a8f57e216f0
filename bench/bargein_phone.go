package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget/trace"
	"riposte/caller"
	"riposte/caller/phone"
	"riposte/stt"
)

// PhoneBargeIn speaks over the answers of a service by a telephone wire, in real time, and measures whether every buffer is emptied, and whether
// the service knows what was heard. What the far side played is known to the sample; what the service makes of it, the witness is told.
type PhoneBargeIn struct {
	Telephone Telephone // With a witness.
	Clips     []Clip    // What the caller says, in an order drawn by Seed.
	Times     int       // Answers to be spoken over.
	Seed      uint64    // Draws clips and moments.
	Wait      time.Duration

	Voiced func(pcm audio.PCM, rate int) (from, to int, ok bool) // See BargeIn.
	Voice  *Overheard                                            // The service's own voice.
	Judge  stt.Recognizer                                        // See BargeIn; nil for nobody.
	Each   func(Trial)
}

// PhoneBargeInResult is what PhoneBargeIn measured: what BargeIn measures of interruptions, but for what such a wire does not tell (when the far
// side was told to pause), and what becomes of the far side's buffer.
type PhoneBargeInResult struct {
	BargeInResult

	Wire string `json:"wire"`
	// AfterCommit is how long sound of the answer was still to be heard after the service had taken the word from it; 0 where it was held by then.
	AfterCommit Percentiles `json:"after_commit_ms"`
	AfterMost   float64     `json:"after_commit_max_ms"`
	// Emptied is how much sound was thrown away at the far side, and Left the answers of which some was played after that.
	Emptied Percentiles `json:"emptied_ms"`
	Left    int         `json:"left_in_buffer"`
	Queued  float64     `json:"queued_ms"` // The most that a far side had in hand.
	Faults  []string    `json:"faults"`    // What the service did against the protocol.
}

// phoneTrials is one run of PhoneBargeIn.
type phoneTrials struct {
	*PhoneBargeIn
	rnd    *rand.Rand
	clips  []Clip
	order  []int
	result PhoneBargeInResult

	call    *phoned // nil between calls.
	left    int     // Answers that the call may still have.
	answer  int     // The one that is being given,
	asked   time.Time
	spoke   time.Time       // and from when to when the caller asked for it.
	spoken  int             // Utterances of the voice before that.
	after   []time.Duration // Samples of AfterCommit
	emptied []time.Duration // and of Emptied.
}

// Run measures. A trial that fails is counted, and measuring goes on with a new call.
func (b *PhoneBargeIn) Run(ctx context.Context) (PhoneBargeInResult, error) {
	clips := slices.DeleteFunc(slices.Clone(b.Clips), func(c Clip) bool { return c.pauses() })
	t := &phoneTrials{
		PhoneBargeIn: b, rnd: rand.New(rand.NewPCG(b.Seed, 0)), clips: clips,
		result: PhoneBargeInResult{BargeInResult: newBargeInResult(b.Times, b.Seed), Wire: string(b.Telephone.Wire), Faults: []string{}},
	}
	if len(clips) == 0 {
		return t.result, fmt.Errorf("%w: it has no clip with a transcript in the language, and without pauses in it", ErrCorpus)
	}
	r := &InterruptionsResult{unsure: b.Telephone.Jitter}
	t.result.Interruptions = r
	for attempt := 0; r.Times+r.Failed < b.Times && attempt < 4*b.Times; attempt++ {
		err := t.trial(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			if t.call == nil {
				return t.sum(), err // nobody takes the call
			}
			if !errors.Is(err, errOver) {
				r.Failed++
				t.tell("a trial", err.Error(), true)
				t.hangUp()
			}
			t.left = 0
		}
	}
	t.hangUp()
	var err error
	if b.Judge != nil && ctx.Err() == nil {
		err = t.result.read(ctx, b.Judge)
	}
	return t.sum(), errors.Join(err, context.Cause(ctx))
}

// sum finishes what was measured.
func (t *phoneTrials) sum() PhoneBargeInResult {
	t.hangUp()
	r := &t.result
	r.BargeInResult.sum()
	r.AfterCommit, r.Emptied = percentiles(t.after), percentiles(t.emptied)
	for _, d := range t.after {
		r.AfterMost = max(r.AfterMost, ms(d))
	}
	return *r
}

// hangUp ends the call, if there is one.
func (t *phoneTrials) hangUp() {
	if t.call == nil {
		return
	}
	m := t.call.Now()
	r := &t.result
	r.Queued = max(r.Queued, 1000*float64(m.Most)/float64(m.Rate))
	r.late = append(r.late, t.call.Late()...)
	if err := t.call.Close(); err != nil {
		r.Faults = append(r.Faults, strings.Split(err.Error(), "\n")...)
	}
	t.call = nil
}

// next draws the next thing to say.
func (t *phoneTrials) next() (line, error) {
	if len(t.order) == 0 {
		t.order = t.rnd.Perm(len(t.clips))
	}
	c := t.clips[t.order[0]]
	t.order = t.order[1:]
	return (&BargeIn{Voiced: t.Voiced}).line(c, 0)
}

// ask calls, where there is no call, and says something, where no answer is being given.
func (t *phoneTrials) ask(ctx context.Context) error {
	if t.left > 0 {
		return nil
	}
	t.hangUp()
	t.Voice.forget()
	call, err := t.Telephone.dial(ctx)
	if err != nil {
		return err
	}
	t.call, t.left, t.answer = &call, oneCall, -1
	if _, err := call.Quiet(ctx, time.Second); err != nil {
		return err
	}
	l, err := t.next()
	if err != nil {
		return err
	}
	return t.say(ctx, l, nil)
}

// say says something and waits until the answer to it is to be heard.
func (t *phoneTrials) say(ctx context.Context, l line, over func(phone.Moment) bool) error {
	t.spoken = t.Voice.count()
	from, to, err := t.call.Talk(l.Speech)
	if err != nil {
		return err
	}
	return t.follow(ctx, from, to, over)
}

// follow waits until the answer to what was said is to be heard. over ends the waiting as well: then there is none.
func (t *phoneTrials) follow(ctx context.Context, from, to time.Time, over func(phone.Moment) bool) error {
	before := t.answer
	t.answer, t.asked, t.spoke = -1, from, to
	_, err := t.call.Until(ctx, time.Until(to)+t.Wait, func(m phone.Moment) bool {
		for n := before + 1; n < len(m.Answers); n++ {
			if at := m.Answers[n].Begins; at.After(to) && !m.Answers[n].Cut {
				t.answer = n
				return true
			}
		}
		return over != nil && over(m)
	})
	if err == nil && t.answer < 0 {
		return errOver
	}
	t.left--
	return err
}

// trial speaks over one answer.
func (t *phoneTrials) trial(ctx context.Context) error {
	if err := t.ask(ctx); err != nil {
		return err
	}
	r, n := t.result.Interruptions, t.answer
	after := earliest + time.Duration(t.rnd.Int64N(int64(latestMoment-earliest)))
	m, err := t.call.Until(ctx, after+t.Wait, func(m phone.Moment) bool {
		return over(m, n) || m.Now.Sub(m.Answers[n].Begins) >= after
	})
	if err != nil {
		return err
	}
	if over(m, n) {
		r.EndedFirst++
		return errOver
	}
	l, err := t.next()
	if err != nil {
		return err
	}
	asked, spoke, spoken := t.asked, t.spoke, t.spoken
	from, to, err := t.call.Talk(l.Speech)
	if err != nil {
		return err
	}
	if m, err = t.call.Until(ctx, longest, func(m phone.Moment) bool { return over(m, n) && m.Now.After(to) }); err != nil {
		return err
	}
	a := m.Answers[n]
	what := fmt.Sprintf("%v into an answer: %q", from.Sub(a.Begins).Round(time.Millisecond), l.clip.Transcript)
	now := t.answer
	t.spoken = t.Voice.count()
	failed := t.follow(ctx, from, to, func(m phone.Moment) bool {
		since, quiet := m.Silent()
		return quiet && m.Now.After(latestOf(since, to).Add(t.Wait/2))
	})
	// By now the far side's marks have come back to the service.
	told, err := t.Telephone.Witness.account(ctx, t.call.id, asked, spoke, t.Wait)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	came, bad, err := t.count(m, now, told[len(told)-1], from, to, spoken)
	if err != nil {
		return err
	}
	t.tell(what, came, bad)
	return failed
}

// over reports whether nothing more of an answer is going to be heard, as far as the far side can know.
func over(m phone.Moment, n int) bool {
	a := m.Answers[n]
	if a.Cut || len(m.Answers) > n+1 {
		return true
	}
	return m.Heard(a.From) >= a.To-a.From && m.Now.Sub(a.Ends) > overAfter
}

// overAfter is how long nothing must have been heard of an answer for it to be over: a wire that keeps nothing in hand goes quiet while an answer
// is held, and may go on.
const overAfter = 700 * time.Millisecond

// count counts what became of an answer that was spoken over from a time on.
func (t *phoneTrials) count(m phone.Moment, n int, turn trace.Turn, from, to time.Time, spoken int) (came string, bad bool, err error) {
	r, a := t.result.Interruptions, m.Answers[n]
	if turn.Status != "cancelled" && !a.Cut {
		if a.Ends.Before(from.Add(unavoidable)) {
			r.EndedFirst++
			return "the answer ended by itself", false, nil
		}
		r.Times++
		r.Missed++
		return fmt.Sprintf("MISSED, the answer went on for %.0f ms", ms(a.Ends.Sub(from))), true, nil
	}
	r.Times++
	r.Taken++
	ends := a.Ends
	for _, stale := range m.Answers[n+1:] { // nobody answers a caller who is still speaking
		if !stale.Begins.IsZero() && stale.Begins.Before(to) {
			t.result.Left++
			ends, bad = stale.Ends, true
		}
	}
	silence := max(0, ends.Sub(from))
	r.silence = append(r.silence, silence)
	came = fmt.Sprintf("silent after %.0f ms", ms(silence))
	for _, e := range turn.Events {
		if e.Kind != trace.KindBargeIn && e.Kind != trace.KindContinued {
			continue
		}
		commit := turn.Report.SpeechEnd.Add(e.At)
		r.commit = append(r.commit, commit.Sub(from))
		after := max(0, ends.Sub(commit))
		t.after = append(t.after, after)
		came += fmt.Sprintf(", taken after %.0f, %.0f ms more were heard", ms(commit.Sub(from)), ms(after))
		break
	}
	for _, cut := range m.Cuts {
		if cut.At.After(from) {
			t.emptied = append(t.emptied, audio.Duration(cut.Dropped, m.Rate))
			break
		}
	}
	if happened(turn, trace.KindContinued) {
		r.Continued++
		return came + ", and counts as not heard", bad, nil
	}
	answer, err := t.heard(m, a, turn, spoken)
	if err != nil {
		return came, bad, err
	}
	if t.Telephone.Wire == phone.AudioSocket && wentOn(turn) {
		r.HeardTextUnchecked++ // the sound of it has holes
		return came + ", it was held and went on", bad, nil
	}
	said, v, err := r.hear(answer, t.Voice, m.Rate)
	return came + said, bad || v == wrong, err
}

// wentOn reports whether an answer was held and went on, before the caller took the word.
func wentOn(t trace.Turn) bool {
	i := slices.IndexFunc(t.Events, func(e trace.Event) bool { return e.Kind == trace.KindBargeIn })
	return slices.ContainsFunc(t.Events, func(e trace.Event) bool {
		return e.Kind == trace.KindReleased && (i < 0 || e.At < t.Events[i].At-telephoneFrame)
	})
}

// heard returns an answer as callers over the Realtime protocol know it: its clauses by the voice's own account of what it has spoken.
func (t *phoneTrials) heard(m phone.Moment, a phone.Answer, turn trace.Turn, spoken int) (caller.Answer, error) {
	sound := m.Sound[a.From:]
	if i := slices.IndexFunc(m.Answers, func(next phone.Answer) bool { return next.From > a.From }); i >= 0 {
		sound = m.Sound[a.From:m.Answers[i].From]
	}
	played := min(m.Heard(a.From), len(sound))
	if t.Telephone.Wire == phone.AudioSocket { // the silence behind it is none of the answer's
		played = min(played, a.To-a.From)
		sound = sound[:a.To-a.From]
	}
	x := caller.Answer{ID: turn.ID, Sound: sound, Played: played, Dropped: len(sound) - played, Begins: a.Begins, Ends: a.Ends, Status: turn.Status, Heard: turn.Answer, Report: &caller.Report{}}
	at := 0
	add := func(text string, within audio.PCM) (found bool, err error) {
		all, err := t.Voice.as(text, m.Rate)
		if err != nil {
			return false, err
		}
		from, length, ok := find(within, all)
		if ok {
			x.Clauses = append(x.Clauses, caller.Clause{Text: strings.TrimSpace(text) + " ", From: max(0, at+from)})
			at = min(len(sound), max(at, at+from+length))
		}
		return ok, err
	}
	for _, text := range t.Voice.phrases() { // an answer that is late begins with one that was spoken long ago
		if found, err := add(text, sound[:min(len(sound), m.Rate)]); found || err != nil {
			break
		}
	}
	for _, text := range t.Voice.since(spoken) {
		if _, err := add(text, sound[at:]); err != nil {
			return x, err
		}
	}
	return x, nil
}

// tell says how a trial went.
func (t *phoneTrials) tell(what, came string, bad bool) {
	if t.Each != nil {
		t.Each(Trial{Part: Interruptions, N: t.result.Interruptions.Times + t.result.Interruptions.Failed - 1, What: what, Came: came, Bad: bad})
	}
}
