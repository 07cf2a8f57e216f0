package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"riposte/bench"
)

// benchSoakServiceCmd is the service of a soak: its engines have faults now and then, and it logs them.
type benchSoakServiceCmd struct {
	Engines string        `default:"stub" enum:"stub,real" help:"What hears, answers and speaks."`
	Faults  time.Duration `default:"0" help:"From one fault to the next, on average; 0 is none."`
	Seed    uint64        `default:"1" help:"Draws them."`

	Stub stubFlags `embed:"" prefix:"stub-"`
	settings
}

// Validate reports what is out of bounds. kong calls it.
func (c *benchSoakServiceCmd) Validate() error {
	return errors.Join(c.Stub.validate(), c.settings.Validate())
}

// Run serves until ctx ends.
func (c *benchSoakServiceCmd) Run(ctx context.Context) error {
	engines, err := c.Stub.engines()
	if err != nil {
		return err
	}
	defer relaxing(ctx)()
	var faults bench.Injector
	if c.Faults > 0 {
		log := c.logger()
		drip := bench.Drip{Injector: &faults, Every: c.Faults, Seed: c.Seed, Struck: func(f bench.Fault, what bench.Rubbish) {
			log.LogAttrs(ctx, slog.LevelWarn, faultStruck, slog.String("fault", f.String()), slog.String("rubbish", string(what)))
		}}
		ctx, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() { drip.Run(ctx) })
		defer work.Wait()
		defer stop()
	}
	serve := serveCmd{c.settings}
	return serve.run(ctx, func(s *service) {
		if c.Engines == "stub" {
			s.stubs = engines
		}
		s.around = around{stt: faults.Ear, llm: faults.Model, tts: faults.Voice}
	})
}
