package main

import (
	"bytes"
	"context"
	_ "embed" // Lets the recording be part of the program.
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"riposte/audio"
	"riposte/bench"
	"riposte/bench/stub"
)

// recording is what callers of stubs say, and what the voice of the stubs sounds like.
//
//go:embed testdata/question.flac
var recording []byte

// stubFlags are the times that stubs take, and how the service is held that has them.
type stubFlags struct {
	STT   time.Duration `default:"100ms" help:"With stubs: what the recogniser takes from the end of a turn, or a silence that may be it, to the words."`
	LLM   time.Duration `default:"80ms" help:"With stubs: what the model takes to its first token."`
	Token time.Duration `default:"15ms" help:"With stubs: what it takes for each token after that."`
	TTS   time.Duration `default:"50ms" help:"With stubs: what the voice takes to its first sound."`
	Pace  float64       `default:"0.2" help:"With stubs: what the voice takes for each second of sound after that, in seconds."`
	Words int           `default:"0" help:"With stubs: words of each answer; 0 is the usual 25."`

	Cores   int    `default:"-1" help:"With stubs: so many cores are the service's alone, and the callers have the others; 0 shares them all. -1 is 1, or 0 where there is but one."`
	Profile string `placeholder:"FILE" help:"With stubs: write a profile of what the service did with its cores, for go tool pprof."`
}

// delays returns the times.
func (f *stubFlags) delays() stub.Delays {
	return stub.Delays{STT: f.STT, LLM: f.LLM, Token: f.Token, TTS: f.TTS, Pace: f.Pace, Words: f.Words}
}

// validate reports what cannot be.
func (f *stubFlags) validate() error {
	if f.Cores < -1 {
		return errors.Join(f.delays().Validate(), fmt.Errorf("--stub-cores is %d: it must be 0 or more, or -1", f.Cores))
	}
	return f.delays().Validate()
}

// args returns them as they stand on a command line.
func (f *stubFlags) args() []string {
	return []string{
		"--stub-stt", f.STT.String(), "--stub-llm", f.LLM.String(), "--stub-token", f.Token.String(), "--stub-tts", f.TTS.String(),
		"--stub-pace", strconv.FormatFloat(f.Pace, 'g', -1, 64), "--stub-profile", f.Profile, "--stub-words", strconv.Itoa(f.Words),
	}
}

// stubSilence ends turns where stubs answer, unless talk-silence is set: long enough that the words are known by then.
const stubSilence = 400 * time.Millisecond

// suit changes settings for so many calls with stubs. What was set by hand stays.
func (f *stubFlags) suit(s *settings, calls int, k *kong.Context) {
	set := func(name string) bool { return setByHand(k, name) }
	s.STT.Model, s.LLM.Model, s.LLM.Hedge, s.TTS.Voice = "stub", "stub", "", "stub"
	s.Calls.Max = max(s.Calls.Max, calls+1)
	if !set("webrtc-offers") {
		s.WebRTC.Offers = calls + 1
	}
	if !set("calls-load") {
		s.Calls.Load = 1
	}
	if !set("talk-silence") {
		s.Talk.Silence = stubSilence
	}
	if f.Words > 0 && !set("llm-max-tokens") {
		s.LLM.MaxTokens = f.Words + 1
		s.LLM.Context = max(s.LLM.Context, 2*s.LLM.MaxTokens)
	}
	if !set("talk-guesses") { // else answers were begun in the silence, and nobody could tell what the service adds behind it
		s.Talk.Guesses = 0
	}
	if !set("vad-turn") { // it is an engine
		s.VAD.Turn = ""
	}
}

// setByHand reports whether a flag has its value from the command line, a config file or the environment.
func setByHand(k *kong.Context, name string) bool {
	if slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == name }) {
		return true
	}
	return slices.ContainsFunc(k.Selected().Flags, func(f *kong.Flag) bool {
		return f.Name == name && slices.ContainsFunc(f.Envs, func(env string) bool { _, ok := os.LookupEnv(env); return ok })
	})
}

// start starts a service with stubs, for so many calls, in a process of its own. stop ends it, and lets this process have all cores again.
func (f *stubFlags) start(ctx context.Context, s *settings, calls int, k *kong.Context) (c *child, stop func() error, err error) {
	f.suit(s, calls, k)
	return f.apart(func() (*child, error) {
		return startChild(ctx, k.Selected().Flags, os.Stderr, append([]string{"bench", "stub-service"}, f.args()...)...)
	})
}

// apart starts a service that has cores of its own.
func (f *stubFlags) apart(start func() (*child, error)) (c *child, stop func() error, err error) {
	var kept *partition
	undo := func() {}
	if f.Cores == -1 {
		f.Cores = min(1, runtime.NumCPU()-1)
	}
	if f.Cores > 0 {
		if kept, undo, err = keepApart(f.Cores); err != nil {
			return nil, nil, err
		}
	}
	err = kept.serving(func() error {
		c, err = start()
		return err
	})
	if err != nil {
		undo()
		return nil, nil, err
	}
	return c, func() error { defer undo(); return c.stop() }, nil
}

// talker returns a clip of somebody who asks something.
func talker() (bench.Clip, error) {
	pcm, rate, err := audio.Decode(bytes.NewReader(recording), "question.flac")
	return bench.Clip{File: "question.flac", PCM: pcm, Rate: rate, Transcript: "Should I get a dog or a cat?"}, err
}

// relax has a service with stubs give back the memory that it does not need.
func (c *child) relax(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return err
	}
	select {
	case <-time.After(relaxWait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// relaxWait is how long a service may take for that.
const relaxWait = 500 * time.Millisecond

// benchStubServiceCmd is the service that has stubs, for the benches. It does what riposte serve does otherwise.
type benchStubServiceCmd struct {
	Stub stubFlags `embed:"" prefix:"stub-"`
	settings
}

// Validate reports what is out of bounds. kong calls it.
func (c *benchStubServiceCmd) Validate() error {
	return errors.Join(c.Stub.validate(), c.settings.Validate())
}

// Run serves until ctx ends.
func (c *benchStubServiceCmd) Run(ctx context.Context) error {
	engines, err := c.Stub.engines()
	if err != nil {
		return err
	}
	if c.Stub.Profile != "" {
		f, err := os.Create(c.Stub.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	defer relaxing(ctx)()
	serve := serveCmd{c.settings}
	return serve.run(ctx, func(s *service) { s.stubs = engines })
}

// engines returns the stubs.
func (f *stubFlags) engines() (*stub.Engines, error) {
	clip, err := talker()
	if err != nil {
		return nil, err
	}
	return &stub.Engines{Delays: f.delays(), Sound: clip.PCM, Rate: clip.Rate}, nil
}

// relaxing gives memory that is not needed back to the system whenever relax asks for it, until ctx ends or stop is called.
func relaxing(ctx context.Context) (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	ctx, end := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-asked:
				debug.FreeOSMemory()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { signal.Stop(asked); end() }
}
