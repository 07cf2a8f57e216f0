package bench

import (
	"context"
	"fmt"
	"time"

	"riposte/audio"
	"riposte/caller"
	"riposte/stt"
	"riposte/stt/wer"
)

// BargeInResult is what BargeIn measured. The figures at its top are those of its parts, as each says.
type BargeInResult struct {
	Times             int         `json:"times"`
	Hold              Percentiles `json:"hold_ms"`            // Of interruptions without echo.
	Silence           Percentiles `json:"silence_ms"`         // The same.
	Resumed           Percentiles `json:"resumed_ms"`         // Of coughs.
	SelfInterruptions int         `json:"self_interruptions"` // Of both parts with echo.
	Missed            int         `json:"missed"`             // Of both parts in which the caller speaks over answers,
	HeardTextWrong    int         `json:"heard_text_wrong"`   // the same.
	FalseCommits      int         `json:"false_commits"`      // Of coughs.
	LostSamples       int         `json:"lost_samples"`       // The same.
	Failed            int         `json:"failed"`             // Trials that could not be held, of all parts; they are in nothing else.
	Refused           int         `json:"refused"`            // How often the service had no room for a call, which was then tried again.
	// CallerLate is by how much the caller's frames left later than they were due, each of them: what the machine could not do in
	// time for the bench itself. It is part of all durations.
	CallerLate Percentiles `json:"caller_late_ms"`
	CallerLag  float64     `json:"caller_late_max_ms"` // The most of it.

	Interruptions *InterruptionsResult `json:"interruptions,omitempty"`
	Coughs        *CoughsResult        `json:"coughs,omitempty"`
	Echo          *EchoResult          `json:"echo,omitempty"`
	OverEcho      *InterruptionsResult `json:"over_echo,omitempty"`

	late []time.Duration

	About
}

// InterruptionsResult is what came of a caller who spoke over answers.
type InterruptionsResult struct {
	Times int `json:"times"` // Answers spoken over.
	Taken int `json:"taken"` // Of those, how many ended for it,

	// and how many went on: they ended by themselves, not before 350 ms of the caller's voice.
	Missed int `json:"missed"`
	// EndedFirst counts the answers beside them that ended by themselves before the caller spoke, or could be noticed.
	EndedFirst int `json:"ended_first"`

	// Hold is from the capture of the interruption's first voiced sample to the caller's being told to pause, for those taken.
	// A frame has to be filled before it is sent, which takes up to 20 ms of it.
	Hold Percentiles `json:"hold_ms"`
	// HoldArrived is the same from the first voiced sample's arrival at the service: from when its frame was due to be sent.
	HoldArrived Percentiles `json:"hold_arrived_ms"`
	// HoldLoud is the same from the first sample that is loud enough for a voice (as audio.LastVoiced, from the other side),
	// before which lies also breath and what else does not sound like a voice to who looks for one.
	HoldLoud Percentiles `json:"hold_loud_ms"`
	// Silence is from the capture of the first voiced sample to the last sample of the answer that was played at all.
	Silence Percentiles `json:"silence_ms"`
	// Commit is from there to the service's word that the caller has the floor.
	Commit Percentiles `json:"commit_ms"`
	// Unheld counts those that were taken without the answer's having been held before. Nobody asked for holds if it is all.
	Unheld int `json:"unheld"`
	// EarlyHolds counts holds while the caller had not begun to speak.
	EarlyHolds int `json:"early_holds"`
	Starved    int `json:"starved_answers"` // See CoughsResult.
	// SelfInterruptions counts answers that ended before the caller spoke, as if he had.
	SelfInterruptions int `json:"self_interruptions"`

	// Continued counts those of which the service says that nothing counts as heard, since they were only just begun.
	Continued int `json:"continued"`
	// HeardTextWrong counts those of which the service's conversation holds other words than were played to their end, by the
	// caller's count of samples and by where the voice says that its words lie. Of a word that ended less than 20 ms before or
	// after the last sample played, either is right; HeardTextNear counts those that only that made right.
	HeardTextWrong     int `json:"heard_text_wrong"`
	HeardTextNear      int `json:"heard_text_near"`
	HeardTextUnchecked int `json:"heard_text_unchecked"` // The voice could not be overheard, or does not tell where its words lie.
	// HeardTextContradicted counts those of which a recogniser that heard what was played understood more than one word more or
	// less than the service says that was heard, and HeardTextRead those that it heard.
	HeardTextContradicted int `json:"heard_text_contradicted"`
	HeardTextRead         int `json:"heard_text_read"`
	// Contradictions are the texts of those.
	Contradictions []Contradiction `json:"contradictions,omitempty"`

	// WER is the rate of words of the interruptions that were recognised wrongly, but for those that the service counts as going
	// on with the turn before.
	WER    float64 `json:"wer"`
	Failed int     `json:"failed"`

	hold, arrived, loud, silence, commit []time.Duration
	words                                wer.Count
	unsure                               time.Duration // How much less sure than closeBy the service can be of what was played last, by the network between.
	told                                 []told
}

// Contradiction is an answer, what of it the caller heard by the service's account, and what a recogniser read in the sound played.
type Contradiction struct {
	Text  string `json:"text"`
	Heard string `json:"heard"`
	Read  string `json:"read"`
}

// CoughsResult is what came of a caller who coughed, hummed or clattered during answers.
type CoughsResult struct {
	Times      int            `json:"times"`
	Kinds      map[string]int `json:"kinds"` // By kind: cough, hum and noise.
	EndedFirst int            `json:"ended_first"`
	Held       map[string]int `json:"held"`          // How many held the answer, by kind.
	False      map[string]int `json:"false_commits"` // How many ended it, by kind.
	// Answered counts those that ended an answer which had just asked something. They are no false ones: to a question, even a hum
	// is an answer.
	Answered int `json:"answered_questions"`
	// Resumed is from the end of the sound, or its beginning if it was not held before its end, to the answer's going on.
	Resumed Percentiles `json:"resumed_ms"`
	Paused  Percentiles `json:"paused_ms"` // How long the answer was held in all.
	// LostSamples are those of the voice's own sound that did not come, in frames of 20 ms, over the answers that were not
	// interrupted; Compared counts the clauses in which they were looked for, and Uncompared those in which they could not be.
	LostSamples int `json:"lost_samples"`
	Compared    int `json:"compared_clauses"`
	Uncompared  int `json:"uncompared_clauses"`
	Turns       int `json:"turns"` // Sounds that were taken for a turn after the answer had ended.
	// Starved counts answers in the middle of which nothing was played for 20 ms or more, since nothing had come: the service was not
	// able to speak in real time.
	Starved int `json:"starved_answers"`
	Failed  int `json:"failed"`

	resumed, paused []time.Duration
}

// EchoResult is what came of answers that came back from the caller's loudspeaker.
type EchoResult struct {
	Answers           int         `json:"answers"`
	SelfInterruptions int         `json:"self_interruptions"` // Answers that ended as if the caller had spoken.
	SelfTurns         int         `json:"self_turns"`         // Answers of which the end was taken for a turn of the caller.
	SelfHolds         int         `json:"self_holds"`         // How often answers were held,
	Held              Percentiles `json:"held_ms"`            // and for how long in all, those that were.
	Starved           int         `json:"starved_answers"`    // See CoughsResult.
	Failed            int         `json:"failed"`

	held []time.Duration
}

// starved returns 1 for an answer in the middle of which nothing was played for some time, since nothing had come.
func starved(a caller.Answer) int {
	if a.Starved < 20*time.Millisecond {
		return 0
	}
	return 1
}

func newBargeInResult(times int, seed uint64) BargeInResult {
	return BargeInResult{Times: times, About: about(seed)}
}

// read has a recogniser hear what was played of the answers that were interrupted.
func (r *BargeInResult) read(ctx context.Context, judge stt.Recognizer) error {
	for _, p := range []*InterruptionsResult{r.Interruptions, r.OverEcho} {
		if p == nil {
			continue
		}
		for _, t := range p.told {
			// What ends abruptly is understood worse than what silence follows.
			played := append(t.played[:len(t.played):len(t.played)], make(audio.PCM, audio.SpeechRate/2)...)
			read, err := stt.Transcribe(ctx, judge, played, stt.Options{})
			if err != nil {
				return fmt.Errorf("hearing what was played: %w", err)
			}
			p.HeardTextRead++
			if t.contradicts(read.Text) {
				p.HeardTextContradicted++
				p.Contradictions = append(p.Contradictions, Contradiction{Text: t.text, Heard: t.heard, Read: read.Text})
			}
		}
	}
	return nil
}

// sum finishes the parts and takes the figures at the top from them.
func (r *BargeInResult) sum() {
	r.Machine = r.Machine.after()
	r.CallerLate = percentiles(r.late)
	for _, d := range r.late {
		r.CallerLag = max(r.CallerLag, ms(d))
	}
	if p := r.Interruptions; p != nil {
		p.finish()
		r.Hold, r.Silence = p.Hold, p.Silence
		r.Missed, r.HeardTextWrong, r.Failed = p.Missed, p.HeardTextWrong, p.Failed
	}
	if p := r.Coughs; p != nil {
		p.Resumed, p.Paused = percentiles(p.resumed), percentiles(p.paused)
		for _, n := range p.False {
			r.FalseCommits += n
		}
		r.Resumed, r.LostSamples = p.Resumed, p.LostSamples
		r.Failed += p.Failed
	}
	if p := r.Echo; p != nil {
		p.Held = percentiles(p.held)
		r.SelfInterruptions = p.SelfInterruptions
		r.Failed += p.Failed
	}
	if p := r.OverEcho; p != nil {
		p.finish()
		r.SelfInterruptions += p.SelfInterruptions
		r.Missed += p.Missed
		r.HeardTextWrong += p.HeardTextWrong
		r.Failed += p.Failed
	}
}
