package whisper

import (
	"context"
	"runtime"

	"riposte/audio"
	"riposte/stt"
)

// job is one piece of speech on its way to a worker.
type job struct {
	ctx     context.Context
	samples []float32 // Owned by the worker from here on.
	o       stt.Options
	out     chan<- outcome // With room for one, so that a worker never waits for a caller who has gone.
}

type outcome struct {
	said saying
	err  error
}

// work is one recogniser's life. Its thread is its own and dies with it: OpenMP keeps a team of threads for each thread
// that computes, and a goroutine that wandered would leave one on every thread it met.
func (e *Engine) work(ctx context.Context, ready chan<- error) {
	runtime.LockOSThread()
	ear, words, err := e.model.newEar()
	e.logWords(words)
	if err != nil {
		ready <- err
		return
	}
	defer ear.close()
	err = e.serve(ear, ctx, func() error {
		_, err := ear.decode(quietNoise(), request{threads: e.Threads, window: minWindow, tokens: 1, language: "en"})
		return err
	})
	ready <- err
	for {
		select {
		case <-e.life.Done():
			return
		case j := <-e.jobs:
			var said saying
			err := e.serve(ear, j.ctx, func() (err error) {
				said, err = (&listener{ear: ear, threads: e.Threads}).listen(j.samples, j.o)
				return err
			})
			j.out <- outcome{said, err}
		}
	}
}

// serve runs f, and stops the ear when ctx ends before f does: then the error is the cause.
func (e *Engine) serve(ear *ear, ctx context.Context, f func() error) error {
	fired := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		ear.stop()
		close(fired)
	})
	err := f()
	if !unhook() {
		<-fired // A stop on its way must not reach the next job.
	}
	ear.ready()
	e.logWords(takeLog())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// quietNoise returns a second of noise at about -60 dBFS, always the same.
func quietNoise() []float32 {
	noise := make([]float32, audio.SpeechRate)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = (float32(x>>8)/(1<<23) - 1) * 0.0017
	}
	return noise
}
