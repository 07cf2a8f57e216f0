package whisper

import (
	"context"
	"runtime"

	"riposte/audio"
)

// job is something to be done with an ear.
type job struct {
	ctx context.Context
	do  func(*ear) error
	out chan<- error // With room for one.
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
	ready <- e.serve(ear, job{ctx: ctx, do: e.warmUp})
	for {
		select {
		case <-e.life.Done():
			return
		case j := <-e.jobs:
			j.out <- e.serve(ear, j)
		}
	}
}

// warmUp lets an ear hear a second of noise.
func (e *Engine) warmUp(ear *ear) error {
	l := listener{ear: ear, threads: e.Threads, least: e.Window, sound: &spectrum{filters: e.filters}}
	_, err := l.decode(quietNoise(), request{window: l.fit(0), tokens: 1, language: "en"})
	return err
}

// serve does the job, and stops the ear when the job's context ends before: then the error is the cause.
func (e *Engine) serve(ear *ear, j job) error {
	fired := make(chan struct{})
	unhook := context.AfterFunc(j.ctx, func() {
		ear.stop()
		close(fired)
	})
	err := j.do(ear)
	if !unhook() {
		<-fired // A stop on its way must not reach the next job.
	}
	ear.ready()
	e.logWords(takeLog())
	if j.ctx.Err() != nil {
		return context.Cause(j.ctx)
	}
	return err
}

// borrow does something with an ear as soon as one is free, and returns when that is over: when ctx ends, soon after.
func (e *Engine) borrow(ctx context.Context, do func(*ear) error) error {
	out := make(chan error, 1)
	select {
	case e.jobs <- job{ctx, do, out}:
		return <-out
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
