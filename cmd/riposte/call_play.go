package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"riposte/audio"
)

// players are the programs that can play a WAV file, in order of preference, with what they need to do it quietly.
var players = [][]string{
	{"pw-play"},
	{"paplay"},
	{"aplay", "-q"},
	{"ffplay", "-nodisp", "-autoexit", "-loglevel", "error"},
}

// findPlayer returns the first of players that is installed.
func findPlayer() ([]string, error) {
	for _, p := range players {
		if _, err := exec.LookPath(p[0]); err == nil {
			return p, nil
		}
	}
	return nil, errors.New("nothing here can play sound: install pw-play, paplay, aplay or ffplay, or write the answer to a file with -o")
}

// play plays p to its end, or until ctx ends.
func play(ctx context.Context, player []string, p audio.PCM, rate int) error {
	dir, err := os.MkdirTemp("", "riposte-call-*")
	if err != nil {
		return fmt.Errorf("play the answer: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "answer.wav")
	if err := audio.WriteWAV(file, p, rate); err != nil {
		return fmt.Errorf("play the answer: %w", err)
	}
	args := append(player[1:len(player):len(player)], file)
	said, err := exec.CommandContext(ctx, player[0], args...).CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("play the answer with %s: %w: %s; write it to a file with -o instead", player[0], err, bytes.TrimSpace(said))
	}
	return nil
}
