package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"riposte/audio"
	"riposte/caller"
)

// CallCmd calls a running service with sound files, as if someone were talking.
type CallCmd struct {
	Files        []string      `arg:"" name:"file" help:"WAV, FLAC, MP3 or raw files: the turns of one call, in order."`
	URL          string        `name:"url" default:"ws://127.0.0.1:8080" help:"Server to call; any that speaks OpenAI Realtime will do."`
	Key          string        `help:"Sent as a bearer token."`
	Model        string        `help:"Model to ask the server for."`
	Voice        string        `help:"Voice of the answers."`
	Language     string        `help:"Language that is spoken, such as en."`
	Instructions string        `help:"What the model is told before the conversation."`
	Wire         string        `default:"ws" enum:"ws,webrtc" help:"How to call: ws (WebSocket) or webrtc."`
	Format       string        `default:"pcm" enum:"pcm,pcmu,pcma" help:"Sound on a WebSocket: pcm at 24 kHz, or pcmu or pcma (telephone) at 8 kHz."`
	Rate         int           `placeholder:"HZ" help:"The files are raw 16-bit little-endian mono at this rate."`
	Wait         time.Duration `default:"20s" help:"How long the server may be silent while it owes an answer."`
	Output       string        `short:"o" placeholder:"FILE.wav" help:"Write the answers here, half a second apart."`
	Play         bool          `help:"Play each answer when it is complete."`
	JSON         bool          `name:"json" help:"Print one JSON object a turn instead of text."`
	Standalone   bool          `help:"Start a service for this call alone, with the settings below, instead of calling one."`

	settings // Of the standalone service; and where to find what tells speech from noise.
}

// Run makes the call. The error says which turn was not answered and why.
func (c *CallCmd) Run(ctx context.Context) error {
	return c.run(ctx, os.Stdout)
}

// run makes the call and prints what came of it to out.
func (c *CallCmd) run(ctx context.Context, out io.Writer) error {
	// What can be wrong on this side is found before anybody is called.
	turns, err := c.read()
	if err != nil {
		return err
	}
	if c.Output != "" {
		if info, err := os.Stat(filepath.Dir(c.Output)); err != nil || !info.IsDir() {
			return fmt.Errorf("the answer cannot be written to %s: there is no folder %s (make it first)", c.Output, filepath.Dir(c.Output))
		}
	}
	var player []string
	if c.Play {
		if player, err = findPlayer(); err != nil {
			return err
		}
	}
	if c.Standalone {
		c.Log.Level = max(c.Log.Level, slog.LevelWarn) // what is printed is the call
		url, stop, err := standalone(ctx, &c.settings, c.logger())
		if err != nil {
			return err
		}
		defer stop()
		c.URL = url
	}
	call, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer call.Close()

	show := showTurn
	if c.JSON {
		show = showTurnJSON
	}
	var answers audio.PCM
	var rate int
	for i, speech := range turns {
		turn, err := call.Say(ctx, speech)
		if err == nil && turn.Audible == 0 {
			err = fmt.Errorf("%w that can be heard", caller.ErrNoAnswer)
		}
		if err := show(out, c.Files[i], turn, err); err != nil {
			return err
		}
		if len(turn.Audio) > 0 {
			answers, rate = appendAnswer(answers, turn), turn.Rate
		}
		if err != nil {
			err = fmt.Errorf("turn %d, %s: %w", i+1, c.Files[i], err)
			return errors.Join(err, c.write(answers, rate)) // What came is still worth hearing.
		}
		if c.Play {
			if err := play(ctx, player, turn.Audio, turn.Rate); err != nil {
				return err
			}
		}
	}
	return c.write(answers, rate)
}

// read reads the files.
func (c *CallCmd) read() ([]caller.Speech, error) {
	find := c.voiceFinder()
	defer find.close()
	var turns []caller.Speech
	for _, path := range c.Files {
		s := caller.Speech{Rate: c.Rate}
		var err error
		if c.Rate != 0 {
			s.Sound, err = audio.ReadRaw(path, c.Rate)
		} else {
			s.Sound, s.Rate, err = audio.ReadFile(path)
		}
		if errors.Is(err, audio.ErrFormat) && c.Rate == 0 {
			return nil, fmt.Errorf("%w; convert it with: ffmpeg -i IN OUT.wav, or say its --rate if it is raw 16-bit sound", err)
		}
		if err != nil {
			return nil, err
		}
		if s.Voiced = find.lastVoiced(s.Sound, s.Rate); s.Voiced == 0 {
			return nil, fmt.Errorf("%s: %w", path, caller.ErrNoVoice)
		}
		turns = append(turns, s)
	}
	return turns, nil
}

// dial begins the call.
func (c *CallCmd) dial(ctx context.Context) (*caller.Call, error) {
	dialer := caller.Caller{
		URL: c.URL, Key: c.Key, Model: c.Model, Voice: c.Voice, Language: c.Language, Instructions: c.Instructions,
		Wire: caller.Wire(c.Wire), Format: caller.Format(c.Format), Wait: c.Wait,
	}
	call, err := dialer.Dial(ctx)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w; nothing serves there: start it with riposte serve, or say where it is with --url", err)
	}
	if errors.Is(err, caller.ErrKey) {
		return nil, fmt.Errorf("%w Here, say one with --key or RIPOSTE_KEY", err)
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return nil, fmt.Errorf("%w; if it made its certificate itself (tls-self-signed), say where that is: SSL_CERT_FILE=~/.local/state/riposte/tls/cert.pem riposte call …", err)
	}
	return call, err
}

// write writes the answers, where that is wanted.
func (c *CallCmd) write(answers audio.PCM, rate int) error {
	if c.Output == "" || len(answers) == 0 {
		return nil
	}
	return audio.WriteWAV(c.Output, answers, rate)
}

// appendAnswer adds a turn's answer to those before it, half a second apart.
func appendAnswer(answers audio.PCM, turn caller.Turn) audio.PCM {
	if len(answers) > 0 {
		answers = append(answers, make(audio.PCM, audio.Samples(500*time.Millisecond, turn.Rate))...)
	}
	return slices.Concat(answers, turn.Audio)
}
