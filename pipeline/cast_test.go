package pipeline

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/scenario"
	"riposte/stt"
	"riposte/tts"
)

// cast is the engines of a script. What they do can be changed in the middle of a call, and holds for what begins after that.
type cast struct {
	lexicon lexicon

	mu       sync.Mutex
	stt      part
	every    time.Duration // How much speech makes a new hypothesis.
	believes string        // What all hypotheses say, whatever was said; empty for what was said.
	llm      part
	token    time.Duration              // How long the model takes to each word after the first.
	says     string                     // What the model answers,
	answers  map[string]string          // unless the last message has an answer of its own, by its words,
	calls    map[string][]scenario.Call // and what it calls then.
	prompts  [][]llm.Message            // What the model was to answer.
	over     float32                    // How likely the model finds it that the caller has finished; 0 where it does not say.
	prosody  float32                    // The same by the sound of it.
	tts      part
	letter   time.Duration // How long the voice speaks a letter.
	places   bool          // The voice tells where its words lie.
	lag      time.Duration // How long the fake VAD needs to hear voice before it says so.
}

// part is what one engine does.
type part struct {
	takes  time.Duration // To its result, or to the first part of it.
	fault  string        // "fails", "hangs", "garbles" or, while only the closing pass is slow, "late"; empty while it works.
	after  int           // How much of the result comes before the fault: words of the model, clauses of a voice.
	asked  int           // How often it was asked.
	voiced int           // Clauses since the fault was set.
}

// letterSpoken is how long the voice of a script speaks a letter, unless it is told otherwise: as long as the service takes
// letters to be that have not been spoken yet.
const letterSpoken = time.Second / 16

// wordSpoken is how long the caller of a script speaks a word.
const wordSpoken = 300 * ms

// heardWord is the share of a word that the recogniser needs to know it.
const heardWord = 0.75

var errBroken = errors.New("broken")

func newCast() *cast {
	return &cast{
		stt: part{takes: 120 * ms}, every: 300 * ms,
		llm: part{takes: 80 * ms}, token: 10 * ms, says: "It is noon.", answers: map[string]string{}, calls: map[string][]scenario.Call{},
		tts: part{takes: 90 * ms}, letter: letterSpoken,
	}
}

// ask counts a request to an engine and returns what it does now.
func (c *cast) ask(p *part) part {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.asked++
	return *p
}

// wait waits as long as p takes, and fails or hangs where p does so from the beginning.
func (p part) wait(ctx context.Context) error {
	if err := elapse(ctx, p.takes); err != nil {
		return err
	}
	if p.after == 0 {
		return p.stumble(ctx)
	}
	return nil
}

// stumble fails or hangs if p does.
func (p part) stumble(ctx context.Context) error {
	switch p.fault {
	case "fails":
		return errBroken
	case "hangs":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// elapse lets time pass.
func elapse(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Listen hears the words of the sound that it is given. A hypothesis takes no time; all but its last word is stable.
func (c *cast) Listen(o stt.Options) stt.Stream {
	return &scriptedStream{cast: c, heard: o.Heard, tally: c.lexicon.tally()}
}

type scriptedStream struct {
	*cast
	heard func(stt.Hypothesis)

	mu      sync.Mutex
	tally   *tally
	samples int
	told    time.Duration
}

func (s *scriptedStream) Write(pcm audio.PCM) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.add(pcm)
	s.samples += len(pcm)
	s.cast.mu.Lock()
	every, believes, part := s.every, s.believes, s.stt
	s.cast.mu.Unlock()
	speech := audio.Duration(s.samples, rate)
	if speech-s.told < every || part.fault != "" && part.fault != "late" {
		return
	}
	s.told = speech
	heard := s.tally.words(heardWord)
	if believes != "" {
		heard = strings.Fields(believes)
	}
	if len(heard) > 0 {
		stable := len(strings.Join(heard[:len(heard)-1], " "))
		s.heard(stt.Hypothesis{Text: strings.Join(heard, " "), Stable: stable, Speech: speech})
	}
}

func (s *scriptedStream) Hasten(budget.Urgency) {}

func (s *scriptedStream) Finish(ctx context.Context, _ budget.Urgency) (stt.Transcript, error) {
	s.mu.Lock()
	heard := stt.Transcript{Text: strings.Join(s.tally.words(heardWord), " "), Speech: audio.Duration(s.samples, rate), Closed: closed}
	s.mu.Unlock()
	p := s.ask(&s.stt)
	if err := p.wait(ctx); err != nil {
		return stt.Transcript{}, err
	}
	if p.fault == "garbles" {
		heard.Text = "\xff\x00"
	}
	return heard, nil
}

func (s *scriptedStream) Close() {}

// Generate answers word by word.
func (c *cast) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		p := c.ask(&c.llm)
		c.mu.Lock()
		c.prompts = append(c.prompts, slices.Clone(r.Messages))
		answer, calls, token := c.says, c.calls[""], c.token
		asked := strings.Join(words(r.Messages[len(r.Messages)-1].Text), " ")
		if a, ok := c.answers[asked]; ok {
			answer, calls = a, c.calls[asked]
		}
		if len(r.Tools) == 0 || r.Choice == llm.ChoiceNone {
			answer, calls = cmp.Or(answer, c.says), nil
		}
		c.mu.Unlock()
		if err := p.wait(ctx); err != nil {
			yield(llm.Piece{}, err)
			return
		}
		var said []string
		if answer != "" {
			said = strings.SplitAfter(answer, " ")
		}
		if p.fault == "garbles" {
			said = slices.Repeat([]string{"\x00 *"}, 100)
		}
		for i, word := range said {
			if i > 0 {
				if err := elapse(ctx, token); err != nil {
					yield(llm.Piece{}, err)
					return
				}
			}
			if i == p.after {
				if err := p.stumble(ctx); err != nil {
					yield(llm.Piece{}, err)
					return
				}
			}
			if !yield(llm.Piece{Text: word}, nil) {
				return
			}
		}
		finish := llm.FinishStop
		for i, call := range calls {
			if i > 0 || len(said) > 0 {
				if err := elapse(ctx, token); err != nil {
					yield(llm.Piece{}, err)
					return
				}
			}
			if !yield(llm.Piece{Call: c.call(call)}, nil) {
				return
			}
			finish = llm.FinishTools
		}
		yield(llm.Piece{Usage: &llm.Usage{Output: len(said) + len(calls), Finish: finish}}, nil)
	}
}

// Read reads ahead in no time.
func (c *cast) Read(context.Context, llm.Request) (llm.Reading, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return llm.Reading{Over: c.over}, nil
}

// Over says in no time how finished the caller sounds.
func (c *cast) Over(context.Context, audio.PCM, budget.Urgency) (float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prosody == 0 {
		return 0, errBroken
	}
	return c.prosody, nil
}

// slowEar takes everything that is not silent for speech, once it has gone on for long enough.
type slowEar struct {
	levelVAD
	*cast
	loud int // Samples in a row.
}

func (v *slowEar) Speech(frame audio.PCM) (float32, error) {
	p, err := v.levelVAD.Speech(frame)
	if p == 0 {
		v.loud = 0
	} else {
		v.loud += len(frame)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if audio.Duration(v.loud, rate) <= v.lag {
		p = 0
	}
	return p, err
}

// voice returns the voice.
func (c *cast) voice() tts.Synthesizer { return tts.SynthesizerFunc{Hz: rate, Fn: c.speak} }

// speak speaks a clause, letter by letter. The letters of a word sound, what is between words is silent.
func (c *cast) speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		p := c.ask(&c.tts)
		c.mu.Lock()
		letter, tell := c.letter, o.Words
		if !c.places || tell == nil {
			tell = func(tts.Word) {}
		}
		c.mu.Unlock()
		if p.fault == "fails" || p.fault == "hangs" {
			c.mu.Lock()
			c.tts.voiced++
			if c.tts.voiced <= p.after {
				p.fault = ""
			}
			c.mu.Unlock()
		}
		p.after = 0
		if err := p.wait(ctx); err != nil {
			yield(nil, err)
			return
		}
		read, made := 0, 0
		for word := range strings.SplitAfterSeq(text, " ") {
			letters := strings.TrimSuffix(word, " ")
			var pcm audio.PCM
			if letters != "" {
				pcm = c.lexicon.word(letters, time.Duration(len(letters))*letter)
				tell(tts.Word{End: read + len(letters), Heard: made + len(pcm)})
			}
			pcm = append(pcm, make(audio.PCM, audio.Samples(time.Duration(len(word)-len(letters))*letter, rate))...)
			if p.fault == "garbles" {
				clear(pcm)
			}
			read, made = read+len(word), made+len(pcm)
			if len(pcm) > 0 && !yield(pcm, nil) {
				return
			}
		}
	}
}
