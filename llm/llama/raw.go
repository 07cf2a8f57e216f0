package llama

import (
	"context"
	"runtime"
	"time"

	"riposte/llm"
)

// Raw has llama.cpp continue a conversation by itself, for comparison: the likeliest token, n times, one after the other,
// on as many threads as the engine has and in a memory of its own for one conversation. Nothing is kept, shared, made
// text of or passed on. It returns the time for all tokens but the first, the prompt not included. It must not run
// beside other work whose speed matters.
func (e *Engine) Raw(ctx context.Context, r llm.Request, n int) (time.Duration, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return 0, ErrClosed
	}
	prompt, err := e.ask.build(r.Messages, e.ContextTokens-min(n, e.ContextTokens/2))
	if err != nil {
		return 0, err
	}
	var took time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // For good, as in work.
		took, err = e.raw(ctx, prompt, n)
	}()
	<-done
	return took, err
}

func (e *Engine) raw(ctx context.Context, prompt []token, n int) (time.Duration, error) {
	k, err := newMachine(e.model, machineParams{
		threads: e.Threads, sequences: 1, contextTokens: e.ContextTokens, batch: e.Batch, gpu: e.GPULayers != 0,
	})
	if err != nil {
		return 0, err
	}
	defer k.close()
	if err := warm(k, e.model.size, min(e.Batch, e.ContextTokens), e.Threads); err != nil {
		return 0, err
	}
	last := 0
	for pos := 0; pos < len(prompt); {
		var batch []entry
		for ; pos < len(prompt) && len(batch) < e.Batch; pos++ {
			batch = append(batch, entry{token: prompt[pos], pos: pos, last: pos == len(prompt)-1})
		}
		if err := k.Decode(batch, e.Threads, nil); err != nil {
			return 0, err
		}
		last = len(batch) - 1
	}
	pick := likeliest{k}
	t, err := pick.Pick(last)
	began := time.Now()
	for i := 1; i < n && err == nil && ctx.Err() == nil; i++ {
		if err = k.Decode([]entry{{token: t, pos: len(prompt) + i - 1, last: true}}, e.Threads, nil); err == nil {
			t, err = pick.Pick(0)
		}
	}
	took := time.Since(began)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return took, err
}
