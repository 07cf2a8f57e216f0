package llama

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// Engine is a language model on this machine. Its exported fields are its options and must not change once it is open.
// The zero values of those that have a default mean that default.
type Engine struct {
	LibDir string // The folder with llama.cpp's shared objects.
	Model  string // The GGUF file.

	Threads       int // It defaults to 2, or to the number of cores if that is less.
	ContextTokens int // For each conversation, the answer included. It defaults to 2048, or what the model was trained for if that is less.
	Conversations int // How many can be answered, or kept for their next turns, at once. It defaults to 4 and is at most 256.

	// Batch is how many tokens of prompts one step computes while nobody is being spoken to. Larger is hardly faster on
	// a CPU, and somebody new waits for the step to end. It defaults to 64: an eighth of a second for a small model.
	Batch int
	// Chunk is the same while somebody is. It defaults to 32, or Batch if that is less.
	Chunk int
	// Ahead is how many tokens an answer may be ahead of its reader before it pauses. It defaults to 32: two clauses.
	Ahead int
	// Waiting is how many requests may wait beyond those that are answered. It defaults to four times Conversations.
	Waiting int

	GPULayers   int       // How many of the model's layers a GPU computes: none by default, all if negative.
	Devices     []string  // Which GPUs, by llama.cpp's names, like "CUDA0". It defaults to all.
	TensorSplit []float32 // Which part of the layers each GPU gets. It defaults to parts by their free memory.

	// IdleBytes is how much memory of conversations that had to make room for others may be kept, so that they need not
	// be read again when they go on. It defaults to 256 MiB; less than 0 is none.
	IdleBytes int

	// Executor lets every step run when its turn among all native work has come. Without one they run at once.
	Executor *budget.Executor

	Log *slog.Logger // It defaults to none.

	reserve atomic.Int64 // Tokens that the last answer was allowed.

	mu    sync.RWMutex // Held for reading while the model is used outside of the loop.
	model *nativeModel // Nil unless open.
	ask   *prompter

	loop   *loop
	cancel context.CancelFunc
	done   chan struct{} // Closed when the loop has ended and its machine is freed.
}

var _ llm.Generator = (*Engine)(nil)

// Open loads the model, checks it and warms it up. If ctx ends meanwhile it gives up. An engine that was opened must be
// closed.
func (e *Engine) Open(ctx context.Context) error {
	if e.loop != nil {
		return errors.New("the language model was opened before")
	}
	if err := e.complete(); err != nil {
		return err
	}
	file, err := readModelFile(e.Model)
	if err != nil {
		return err
	}
	if file.ContextTokens > 0 && file.ContextTokens < e.ContextTokens {
		e.Log.Warn("the model was trained for less context than is asked for", "trained", file.ContextTokens, "asked", e.ContextTokens)
		e.ContextTokens = file.ContextTokens
	}
	if err := loadLibrary(e.LibDir, e.Log); err != nil {
		return err
	}

	began := time.Now()
	m, err := loadModel(e.Model, modelParams{gpuLayers: e.GPULayers, devices: e.Devices, tensorSplit: e.TensorSplit},
		func() bool { return ctx.Err() == nil })
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	first, bos, eos := m.begin()
	template, err := newChatTemplate(file.Template, bos, eos)
	if err != nil {
		e.Log.Warn("the model gets ChatML", "model", e.Model, "why", err)
	}
	control, cuts := m.control()
	m.heed(template.style.Signs())
	ask := newPrompter(template, m.tokenize, control, cuts)
	ask.begin, ask.beginsAs, ask.longest = first, bos, m.longest()

	run, cancel := context.WithCancel(context.Background())
	done, ready := make(chan struct{}), make(chan error, 1)
	l := newLoop(nil, &nativeWords{model: m}, newCache(e.Conversations, e.ContextTokens, minGain))
	l.context, l.batch, l.chunk, l.room = e.ContextTokens, e.Batch, e.Chunk, e.Waiting
	l.executor, l.threads, l.shelf.room = e.Executor, e.Threads, e.IdleBytes
	go e.work(run, l, m, ready, done)
	if err := <-ready; err != nil {
		cancel()
		<-done
		m.close()
		return err
	}
	e.mu.Lock()
	e.model, e.ask, e.loop, e.cancel, e.done = m, ask, l, cancel, done
	e.mu.Unlock()
	e.Log.Info("language model ready", "model", m.description(), "file", e.Model, "threads", e.Threads,
		"context", e.ContextTokens, "conversations", e.Conversations, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// complete sets the defaults and refuses what makes no sense.
func (e *Engine) complete() error {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&e.Threads, min(2, runtime.NumCPU()))
	set(&e.ContextTokens, 2048)
	set(&e.Conversations, 4)
	set(&e.Batch, 64)
	set(&e.Chunk, min(32, e.Batch))
	set(&e.Ahead, 32)
	set(&e.Waiting, 4*e.Conversations)
	set(&e.IdleBytes, 256<<20)
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	for _, o := range []struct {
		name           string
		is, from, upTo int
	}{
		{"Threads", e.Threads, 1, 1024},
		{"ContextTokens", e.ContextTokens, 64, 1 << 24},
		{"Conversations", e.Conversations, 1, 256},
		{"Batch", e.Batch, 1, 1 << 16},
		{"Chunk", e.Chunk, 1, e.Batch},
		{"Ahead", e.Ahead, 1, 1 << 20},
		{"Waiting", e.Waiting, 1, 1 << 20},
	} {
		if o.is < o.from || o.is > o.upTo {
			return fmt.Errorf("language model: %s is %d, it can be from %d to %d", o.name, o.is, o.from, o.upTo)
		}
	}
	return nil
}

// work owns the machine. It keeps its OS thread to itself, because OpenMP keeps a team of threads for each thread that
// calls it, and it never gives the thread back, so that the team ends with it.
func (e *Engine) work(ctx context.Context, l *loop, m *nativeModel, ready chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer close(done)
	k, err := newMachine(m, machineParams{
		threads: e.Threads, sequences: e.Conversations, contextTokens: e.ContextTokens,
		batch: e.Batch + e.Conversations, gpu: e.GPULayers != 0,
	})
	if err != nil {
		ready <- err
		return
	}
	defer k.close()
	if err := warm(k, m.size, min(e.Batch, e.ContextTokens), e.Threads); err != nil {
		ready <- fmt.Errorf("warm up: %w", err)
		return
	}
	l.machine = k
	ready <- nil
	l.run(ctx)
}

// warm computes a prompt and one token more, so that the first caller does not pay for pages and buffers that are
// touched for the first time.
func warm(m machine, words, batch, threads int) error {
	prompt := make([]entry, batch)
	for i := range prompt {
		prompt[i] = entry{token: token(i % words), pos: i, last: i == batch-1}
	}
	defer m.Keep(0, 0)
	if err := m.Decode(prompt, threads, nil); err != nil {
		return err
	}
	p := m.Picker(llm.Sampling{}, nil)
	defer p.Close()
	t, err := p.Pick(batch - 1)
	if err != nil {
		return err
	}
	m.Keep(0, batch-1)
	return m.Decode([]entry{{token: t, pos: batch - 1, last: true}}, threads, nil)
}

// Close ends every answer with ErrClosed, waits until nothing uses the model any more and frees it. It may be called
// more than once, and on an engine that was never opened.
func (e *Engine) Close() error {
	e.mu.RLock()
	cancel, done := e.cancel, e.done
	e.mu.RUnlock()
	if done == nil {
		return nil
	}
	cancel()
	<-done
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.model != nil {
		e.model.close()
		e.model = nil
	}
	return nil
}

// Load says how much the engine has to do. It is safe for use at any time.
func (e *Engine) Load() Load {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return Load{}
	}
	return *e.loop.load.Load()
}

// Generate implements llm.Generator. Its errors are ErrClosed, llm.ErrBusy, ErrNoMessages, llm.ErrTooLong, llm.ErrFormat, what
// ended ctx, and what llama.cpp fails with. A conversation that is longer than the context loses its oldest messages but for the
// system's, unless it is to be whole; an answer without MaxTokens may fill what is left of the context. A reader that does not read stops only
// its own answer.
func (e *Engine) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, l, err := e.prepare(ctx, r, false)
		if err != nil {
			yield(llm.Piece{}, err)
			return
		}
		if len(r.Tools) > 0 {
			yield = hearing(e.ask.template.style, r.Tools, yield)
		}
		began := r.Began
		l.answer(s, func(p llm.Piece, err error) bool {
			if began != nil && err == nil {
				began(llm.Reading{Prompt: s.usage.Prompt, Cached: s.usage.Cached})
				began = nil
			}
			return yield(p, err)
		})
	}
}

// Read implements llm.Generator. Its errors are those of Generate, and budget.ErrLate when the deadline of what nobody
// waits for has passed, or something newer of the same conversation was asked for. What was read until then stays.
// MaxTokens, where it is set, says how much of the context the answer will want, which decides how old a message may be
// to be read; it defaults to what the last answer of any conversation was allowed.
func (e *Engine) Read(ctx context.Context, r llm.Request) (llm.Reading, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, l, err := e.prepare(ctx, r, true)
	if err != nil {
		return llm.Reading{}, err
	}
	l.answer(s, func(_ llm.Piece, e error) bool {
		err = e
		return e == nil
	})
	if err != nil {
		return llm.Reading{}, err
	}
	return llm.Reading{Prompt: s.usage.Prompt, Cached: s.usage.Cached, Over: s.over}, nil
}

// Forget implements llm.Forgetter: a conversation that is over has no slot of its own any more, and nothing on the shelf. What its slot
// holds may still be the beginning of another conversation.
func (e *Engine) Forget(conversation string) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.loop != nil && conversation != "" {
		e.loop.over.add(conversation)
		e.loop.poke()
	}
}

// Tokens returns how many tokens of answers were made since the engine was opened. It is safe for use at any time.
func (e *Engine) Tokens() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.loop == nil {
		return 0
	}
	return int(e.loop.said.Load())
}

// prepare makes the tokens of a request.
func (e *Engine) prepare(ctx context.Context, r llm.Request, reading bool) (*sequence, *loop, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return nil, nil, ErrClosed
	}
	ask := e.ask.with(r.Tools, r.Keep)
	text := newAnswerText(append(ask.template.stops(), r.Stop...))
	var form *form
	if reading && len(r.Tools) > 0 {
		e.model.lexicon() // It takes a while the first time, and the answer will need it.
	} else if !reading {
		var err error
		if form, err = newForm(r, ask.template.style, e.model.lexicon); err != nil {
			return nil, nil, err
		}
		if len(r.Tools) > 0 {
			text.calls = &ask.template.style
		}
	}
	if !reading && !r.Whole {
		e.reserve.Store(int64(r.MaxTokens))
	} else if reading && r.MaxTokens <= 0 {
		r.MaxTokens = int(e.reserve.Load())
	}
	s := &sequence{
		ctx: ctx, conversation: r.Conversation, sampling: r.Sampling, urgency: r.Urgency, form: form, most: r.MaxTokens,
		reading: reading, out: make(chan llm.Piece, e.Ahead), slot: -1, text: text,
	}
	build := ask.build
	if reading {
		build = func(m []llm.Message, room int) (tokens []token, err error) {
			tokens, s.closing, err = ask.unfinished(m, room)
			return tokens, err
		}
	}
	// At least half of the context is the prompt's, however long the answer may become; a quarter of it is the
	// answer's if nobody says how long.
	reserve := r.MaxTokens
	if s.most <= 0 {
		s.most, reserve = e.ContextTokens, e.ContextTokens/4
	}
	room := e.ContextTokens - min(reserve, e.ContextTokens/2)
	if r.Whole {
		build, room = ask.whole, e.ContextTokens-1
	}
	tokens, err := build(r.Messages, room)
	if errors.Is(err, llm.ErrTooLong) && !r.Whole {
		// A shorter answer is better than none.
		tokens, err = build(r.Messages, e.ContextTokens-e.ContextTokens/8)
	}
	if err != nil {
		return nil, nil, err
	}
	s.tokens, s.prompt, s.usage.Prompt = tokens, len(tokens), len(tokens)
	return s, e.loop, nil
}
