package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/endpoint"
	"riposte/llm"
	"riposte/stt"
)

// Endpoint measures when turns are taken to be over: at each silence of recorded speech it gathers the same evidence that a
// call would, notes how long that took, and finds when different policies decide. Nothing answers.
type Endpoint struct {
	Clips        []Clip
	VAD          func() (audio.VAD, error)
	Turns        func(ctx context.Context, speech audio.PCM) (float32, error) // The model of the sound; nil for none.
	STT          stt.Recognizer
	LLM          llm.Generator
	Eagerness    string                        // As endpoint.ByEagerness takes it.
	Instructions string                        // What the model is told, as in a call.
	Each         func(c Clip, silences int)    // Called after each clip, where it is not nil.
	Log          func(c Clip, s SilenceReport) // Called for each silence, where it is not nil.
}

// SilenceReport is what was found out about one silence.
type SilenceReport struct {
	At      time.Duration // Where the last voiced sample before it was, from the clip's beginning.
	Length  time.Duration // From there to the next voiced frame; 0 for the one behind the clip.
	Signals endpoint.Signals
	Sound   float32 // The sound model's,
	Closed  float32 // the recogniser's and
	Over    float32 // the language model's probability that the turn is over.
}

// EndpointResult is what Endpoint measured.
type EndpointResult struct {
	FalseCutoffs int          `json:"false_cutoffs"` // Pauses inside of sentences that were taken for the end.
	Pauses       int          `json:"pauses"`        // How many there were.
	Decide       Percentiles  `json:"decide_ms"`     // From the last voiced sample to the decision.
	Ends         int          `json:"ends"`          // Turns that ended: what the percentiles are of.
	Fixed500     Decisions    `json:"fixed_500"`     // The same for a fixed silence of 500 ms.
	Curve        []CurvePoint `json:"curve"`
	Failed       int          `json:"failed"` // Clips of which something could not be found out.

	About
}

// Decisions are what one policy came to.
type Decisions struct {
	FalseCutoffs    int         `json:"false_cutoffs"`
	FalseCutoffRate float64     `json:"false_cutoff_rate"`
	Decide          Percentiles `json:"decide_ms"`
}

// CurvePoint is one policy at one degree of patience.
type CurvePoint struct {
	Patience        float64 `json:"patience"` // How much longer the waits are than those of medium eagerness, as a factor; of silence alone, than 500 ms.
	Policy          string  `json:"policy"`
	FalseCutoffRate float64 `json:"false_cutoff_rate"`
	P50             float64 `json:"decide_p50_ms"`
	P95             float64 `json:"decide_p95_ms"`
}

// silence is a silence of a clip and what is known of it when.
type silence struct {
	report  SilenceReport
	end     time.Duration // What counts as the last voiced sample: for a final one, as the corpus says.
	final   bool
	pause   bool // It is one inside of a sentence.
	over    bool // The talker went on.
	soundAt time.Duration
	textAt  time.Duration
	overAt  time.Duration
}

// Run measures.
func (b *Endpoint) Run(ctx context.Context) (EndpointResult, error) {
	r := EndpointResult{About: about(0)}
	var all []silence
	for _, c := range b.Clips {
		s, err := b.silences(ctx, c)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err != nil {
			r.Failed++
			continue
		}
		all = append(all, s...)
		if b.Each != nil {
			b.Each(c, len(s))
		}
	}
	if len(all) == 0 {
		return r, fmt.Errorf("%w: no turn ended in any of its clips", ErrCorpus)
	}
	for _, s := range all {
		if s.pause {
			r.Pauses++
		}
		if s.final {
			r.Ends++
		}
	}
	ours := decide(all, everything, endpoint.ByEagerness(b.Eagerness))
	r.FalseCutoffs, r.Decide = ours.FalseCutoffs, ours.Decide
	r.Fixed500 = decide(all, nothing, fixed(500*time.Millisecond))
	for ms := 200; ms <= 1200; ms += 100 {
		r.add("silence", float64(ms)/500, decide(all, nothing, fixed(time.Duration(ms)*time.Millisecond)))
	}
	for _, p := range []struct {
		name string
		keep func(*endpoint.Signals)
	}{
		{"sound", func(s *endpoint.Signals) { *s = endpoint.Signals{Sound: s.Sound} }},
		{"fall", func(s *endpoint.Signals) { *s = endpoint.Signals{Fall: s.Fall} }},
		{"text", func(s *endpoint.Signals) { *s = endpoint.Signals{Text: s.Text} }},
		{"closed", func(s *endpoint.Signals) { *s = endpoint.Signals{Closed: s.Closed} }},
		{"model", func(s *endpoint.Signals) { *s = endpoint.Signals{Over: s.Over} }},
		{"all", everything},
	} {
		for _, patience := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6, 2} {
			r.add(p.name, patience, decide(all, p.keep, endpoint.Policy{
				Shortest: scale(200*time.Millisecond, patience), Usual: scale(500*time.Millisecond, patience),
				Doubtful: scale(560*time.Millisecond, patience), Longest: scale(1600*time.Millisecond, patience),
			}))
		}
	}
	r.Machine = r.Machine.after()
	return r, nil
}

func (r *EndpointResult) add(policy string, patience float64, d Decisions) {
	r.Curve = append(r.Curve, CurvePoint{patience, policy, d.FalseCutoffRate, d.Decide.P50, d.Decide.P95})
}

func everything(*endpoint.Signals) {}

func nothing(s *endpoint.Signals) { *s = endpoint.Signals{} }

// fixed is the policy that goes by silence alone.
func fixed(d time.Duration) endpoint.Policy {
	return endpoint.Policy{Shortest: d, Usual: d, Doubtful: d, Longest: d}
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// decide finds what a policy makes of silences, with the signals that keep leaves.
func decide(all []silence, keep func(*endpoint.Signals), p endpoint.Policy) Decisions {
	var d Decisions
	var took []time.Duration
	pauses := 0
	for _, s := range all {
		at := s.decision(keep, p)
		if s.final {
			took = append(took, s.report.At+at-s.end)
			continue
		}
		if s.pause {
			pauses++
			if at < s.report.Length {
				d.FalseCutoffs++
			}
		}
	}
	d.Decide = percentiles(took)
	if pauses > 0 {
		d.FalseCutoffRate = float64(d.FalseCutoffs) / float64(pauses)
	}
	return d
}

// decision returns after how much silence the turn is over. Evidence counts from when it is there; a call looks each 20 ms.
func (s silence) decision(keep func(*endpoint.Signals), p endpoint.Policy) time.Duration {
	const step = 20 * time.Millisecond
	for at := time.Duration(0); ; at += step {
		known := s.report.Signals
		if at < s.soundAt {
			known.Sound = endpoint.Probability{}
		}
		if at < s.textAt {
			known.Text, known.Closed = "", endpoint.Probability{}
		}
		if at < s.overAt {
			known.Over = endpoint.Probability{}
		}
		keep(&known)
		if at >= p.Wait(known, nil) {
			return at
		}
	}
}

// silences finds the silences of a clip.
func (b *Endpoint) silences(ctx context.Context, c Clip) ([]silence, error) {
	pcm, err := c.room()
	if err != nil {
		return nil, err
	}
	vad, err := b.VAD()
	if err != nil {
		return nil, err
	}
	defer vad.Close()
	ends := audio.Endpointer{Eager: audio.Eager, Silence: time.Hour}
	inside := slices.Contains(c.Kinds, "pause") || slices.Contains(c.Kinds, "briefpause")
	var out []silence
	var heard silence       // What sound and words say of the silence under way,
	var trail time.Duration // and how much of it lies in frames that are voiced.
	quiet := 0              // Silent frames in a row.
	for from := 0; from+audio.VADFrame <= len(pcm); from += audio.VADFrame {
		frame := pcm[from : from+audio.VADFrame]
		p, err := vad.Speech(frame)
		if err != nil {
			return nil, err
		}
		event := ends.Step(p, frame)
		begin, end := max(0, int(ends.Start())-audio.Samples(300*time.Millisecond, audio.SpeechRate)), from+audio.VADFrame
		since := audio.Duration(end-int(ends.LastVoiced()), audio.SpeechRate)
		if quiet++; ends.Voiced() {
			quiet = 0
		}
		if ends.Talking() && (len(out) == 0 || out[len(out)-1].over) {
			switch quiet { // As a call does: the words first, and the sound behind them.
			case 1:
				heard, err = b.read(ctx, pcm[begin:end], since)
			case 2:
				err = b.listen(ctx, &heard, pcm[begin:end], since)
			}
			if err != nil {
				return nil, err
			}
		}
		switch event {
		case audio.Maybe:
			heard.report.At, trail = audio.Duration(int(ends.LastVoiced()), audio.SpeechRate), max(0, since-audio.Eager)
			out = append(out, heard)
		case audio.Resumed:
			s := &out[len(out)-1]
			s.over, s.report.Length = true, ends.Paused()+trail
			s.pause = inside && ends.Paused() >= 300*time.Millisecond && (c.SpeechEnd == 0 || s.report.At < c.SpeechEnd-exact)
		}
	}
	if n := len(out); n > 0 {
		out[n-1].final = true
		out[n-1].end = c.SpeechEnd
	}
	for _, s := range out {
		if b.Log != nil {
			b.Log(c, s.report)
		}
	}
	return out, nil
}

// exact is how well a corpus knows where its clips' speech ends.
const exact = 150 * time.Millisecond

// listen has the sound model listen to speech that ends so long after the last voiced sample.
func (b *Endpoint) listen(ctx context.Context, s *silence, speech audio.PCM, since time.Duration) error {
	s.report.Signals.Fall = endpoint.FallOf(speech[:max(0, len(speech)-audio.Samples(since, audio.SpeechRate))], audio.SpeechRate)
	if b.Turns == nil {
		return nil
	}
	began := time.Now()
	p, err := b.Turns(ctx, speech)
	if err != nil {
		return err
	}
	s.report.Sound, s.report.Signals.Sound = p, endpoint.Likely(p)
	s.soundAt = max(since, s.textAt) + time.Since(began)
	return nil
}

// read gathers the words of speech that ends so long after the last voiced sample: the recogniser, and the language model after that.
func (b *Endpoint) read(ctx context.Context, speech audio.PCM, since time.Duration) (s silence, err error) {
	began := time.Now()
	stream := b.STT.Listen(stt.Options{Language: "en", Heard: func(stt.Hypothesis) {}})
	defer stream.Close()
	stream.Write(speech)
	t, err := stream.Finish(ctx, budget.Urgency{})
	if err != nil {
		return s, err
	}
	s.report.Signals.Text, s.report.Closed, s.textAt = t.Text, t.Closed, since+time.Since(began)
	if t.Closed > 0 {
		s.report.Signals.Closed = endpoint.Likely(t.Closed)
	}
	reading, err := b.LLM.Read(ctx, llm.Request{Conversation: "bench", Messages: []llm.Message{
		{Role: llm.System, Text: b.Instructions}, {Role: llm.User, Text: t.Text},
	}})
	if err != nil {
		return s, err
	}
	s.report.Over = reading.Over
	if reading.Over > 0 {
		s.report.Signals.Over = endpoint.Likely(reading.Over)
	}
	s.overAt = since + time.Since(began)
	return s, nil
}
