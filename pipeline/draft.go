package pipeline

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
	"riposte/tts"
)

// draft is an answer in the making. It may be begun before the turn that it answers is decided: then nothing of it is heard,
// kept or told unless that turn takes it.
type draft struct {
	messages []llm.Message             // What it answers.
	pieces   chan piece                // Its clauses. The model waits until they are taken. Closed at the end.
	stop     context.CancelFunc        // Of everything that is being made of it.
	wanted   chan struct{}             // Closed when a turn has taken it; nil for one that was wanted from the beginning.
	bill     budget.Bill               // What it has cost the executor.
	tokens   atomic.Int64              // Pieces that the model has made so far.
	usage    atomic.Pointer[llm.Usage] // What the model has told of its tokens so far; nil is nothing.

	// These hold once pieces is closed.
	outcome outcome
	err     error
}

// piece is a clause of a draft, or a call of a tool.
type piece struct {
	text  string
	call  *llm.ToolCall // Instead of text.
	began time.Time     // When the model's first token came,
	at    time.Time     // and when the clause was complete.
	voice *voicing      // Its sound, if that has been begun ahead of time.
}

// write begins a draft of a model's under the settings. Its first clause is due at the given time. A speculative one waits with
// everything behind its first clause, and behind the sound of that, until it is wanted. The draft has to be stopped, when
// its last clause has been spoken at the latest.
func (s *Session) write(ctx context.Context, model llm.Generator, settings transport.Settings, messages []llm.Message, due time.Time, speculative bool) *draft {
	ctx, stop := context.WithCancel(ctx)
	d := &draft{messages: messages, pieces: make(chan piece), stop: stop}
	u := budget.Urgency{Deadline: due}
	if speculative {
		d.wanted = make(chan struct{})
		u.Class, u.Wanted = budget.Speculative, d.wanted
	}
	r := s.request(settings, messages, u)
	r.Sampling, r.MaxTokens, r.Whole = settings.Sampling, settings.MaxTokens, settings.Whole
	r.Began = func(read llm.Reading) { d.usage.Store(&llm.Usage{Prompt: read.Prompt, Cached: read.Cached}) }
	s.start(ctx, model, d, r, settings)
	return d
}

// start has the model write a draft.
func (s *Session) start(ctx context.Context, model llm.Generator, d *draft, r llm.Request, settings transport.Settings) {
	s.group.Go(func() error {
		defer close(d.pieces)
		d.outcome, d.err = s.compose(budget.WithBill(ctx, &d.bill), model, d, r, settings)
		return nil
	})
}

// compose has the model write d.
func (s *Session) compose(ctx context.Context, model llm.Generator, d *draft, r llm.Request, settings transport.Settings) (outcome, error) {
	var c clauser
	var round circles
	var began time.Time
	o := outcome{status: transport.Completed}
	said := false // Something, or a tool was called.
	hand := func(text string) error {
		if text = unmarked(text); strings.TrimSpace(text) == "" || !settings.Written && len(words(text)) == 0 {
			return nil // there is nothing to say
		}
		said = true
		p := piece{text: text, began: began, at: time.Now()}
		if d.wanted != nil && c.cut <= 1 && !settings.Written {
			p.voice = s.voice(ctx, text, settings, r.Urgency)
		}
		return put(ctx, d.pieces, p)
	}
	for p, err := range model.Generate(ctx, r) {
		if err != nil {
			return o, err
		}
		if p.Usage != nil {
			o.usage = *p.Usage
			d.usage.Store(p.Usage)
			continue
		}
		d.tokens.Add(1)
		if began.IsZero() {
			began = time.Now()
		}
		if p.Call != nil {
			if err := s.checkCall(settings, *p.Call); err != nil {
				return o, err
			}
			if err := hand(c.rest()); err != nil {
				return o, err
			}
			said = true
			if err := put(ctx, d.pieces, piece{call: p.Call, began: began, at: time.Now()}); err != nil {
				return o, err
			}
			continue
		}
		if circle, whole := round.push(p.Text); circle && !settings.Written {
			if whole {
				return o, errCircle
			}
			o.usage = d.spent()
			o.usage.Finish = llm.FinishLength // what was said before it may do
			break
		}
		for _, text := range c.push(p.Text) {
			if err := hand(text); err != nil {
				return o, err
			}
		}
	}
	rest := c.rest()
	if o.usage.Finish == llm.FinishLength {
		o.status, o.reason = transport.Incomplete, "max_output_tokens"
		if said {
			rest = "" // half a clause sounds like a fault; what was said before it does not
		}
	}
	if err := hand(rest); err != nil || said {
		return o, err
	}
	return o, errNothingSaid
}

// spent returns the tokens that the draft has taken so far. Until the model has told, each piece counts as one that it wrote.
func (d *draft) spent() llm.Usage {
	u := llm.Usage{Output: int(d.tokens.Load())}
	if told := d.usage.Load(); told != nil {
		u.Prompt, u.Cached = told.Prompt, told.Cached
		if told.Finish != "" {
			return *told
		}
	}
	return u
}

// unmarked takes the mark of an interruption from the end of a clause: models that have read it write it themselves.
func unmarked(clause string) string {
	said := strings.TrimRight(clause, " \n")
	if cut := strings.TrimSuffix(said, strings.TrimSpace(interruption)); cut != said {
		return strings.TrimRight(cut, " ") + clause[len(said):]
	}
	return clause
}

// take makes a speculative draft an awaited one.
func (d *draft) take() {
	if d.wanted != nil {
		close(d.wanted)
	}
}

// voicing is a clause's sound that is made ahead of time.
type voicing struct {
	chunks chan audio.PCM // The voice waits until they are taken. Closed at the end.
	err    error          // Holds once chunks is closed.

	mu    sync.Mutex
	words []tts.Word // That nobody has taken yet.
	told  int        // The end of the last one.
}

// place notes where a word lies, once.
func (v *voicing) place(w tts.Word) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.End > v.told {
		v.words, v.told = append(v.words, w), w.End
	}
}

// misplace forgets where words lie: the next attempt to speak them takes its own time over each.
func (v *voicing) misplace() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.words, v.told = nil, 0
}

// places returns where words lie that it has not returned before.
func (v *voicing) places() []tts.Word {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.words
	v.words = nil
	return w
}

// ahead is how many chunks of a clause's sound are made before it is wanted: the first is a fifth of a second, the second
// twice as much.
const ahead = 2

// voice begins to speak a clause.
func (s *Session) voice(ctx context.Context, text string, settings transport.Settings, u budget.Urgency) *voicing {
	v := &voicing{chunks: make(chan audio.PCM, ahead)}
	s.group.Go(func() error {
		defer func() {
			close(v.chunks)
			context.AfterFunc(ctx, func() { v.discard(s.Queues.Drafts) })
		}()
		made := 0 // Samples.
		for {
			v.err = s.sound(ctx, text, tts.Options{Speed: settings.Speed, Urgency: u, Words: v.place}, v.chunks, &made)
			if !errors.Is(v.err, budget.ErrPreempted) {
				return nil
			}
			v.misplace()
		}
	})
	return v
}

// discard throws away the sound that nobody will take, once all of it is made that will be.
func (v *voicing) discard(q *budget.Queue) {
	for range v.chunks {
		q.Discard(1)
	}
}

// sound speaks text into chunks, but for the samples at the beginning that were made before, which it counts on. It stops with
// budget.ErrPreempted to make room for work that is more urgent, and can then be called again.
func (s *Session) sound(ctx context.Context, text string, o tts.Options, chunks chan<- audio.PCM, made *int) error {
	skip := *made
	for pcm, err := range s.TTS.Speak(ctx, text, o) {
		if err != nil {
			return err
		}
		n := min(skip, len(pcm))
		skip -= n
		if n == len(pcm) {
			continue
		}
		if err := put(ctx, chunks, pcm[n:]); err != nil {
			return err
		}
		s.Queues.Drafts.Hold(int64(len(chunks)))
		*made += len(pcm) - n
	}
	return nil
}

// all returns the sound. It ends early, with the cause, when ctx does.
func (v *voicing) all(ctx context.Context) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		for {
			select {
			case pcm, more := <-v.chunks:
				if !more {
					if v.err != nil {
						yield(nil, v.err)
					}
					return
				}
				if !yield(pcm, nil) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}
