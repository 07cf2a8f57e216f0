package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"riposte/audio"
	"riposte/audio/room"
)

// Program is something that works on sound.
type Program struct {
	Name string // As it is called.

	resample func(ctx context.Context, p audio.PCM, in, out int) (audio.PCM, error)
	encode   func(ctx context.Context, law room.Law, p audio.PCM) ([]byte, error)
	decode   func(ctx context.Context, law room.Law, b []byte) (audio.PCM, error)
}

// Sox is SoX, with the quality that it has unless told otherwise, and without dither.
var Sox = Program{
	Name: "sox",
	resample: func(ctx context.Context, p audio.PCM, in, out int) (audio.PCM, error) {
		return samples(filter(ctx, p.AppendBytes(nil), "sox", append(append([]string{"-D"}, soxLinear(in)...), soxLinear(out)...)...))
	},
	encode: func(ctx context.Context, law room.Law, p audio.PCM) ([]byte, error) {
		return filter(ctx, p.AppendBytes(nil), "sox", append(append([]string{"-D"}, soxLinear(audio.G711Rate)...), soxLaw(law)...)...)
	},
	decode: func(ctx context.Context, law room.Law, b []byte) (audio.PCM, error) {
		return samples(filter(ctx, b, "sox", append(append([]string{"-D"}, soxLaw(law)...), soxLinear(audio.G711Rate)...)...))
	},
}

// soxLinear says to SoX what PCM is, read from standard input or written to standard output.
func soxLinear(rate int) []string {
	return []string{"-t", "raw", "-r", strconv.Itoa(rate), "-e", "signed", "-b", "16", "-L", "-c", "1", "-"}
}

func soxLaw(law room.Law) []string {
	name := map[room.Law]string{room.MuLaw: "ul", room.ALaw: "al"}[law]
	return []string{"-t", name, "-r", strconv.Itoa(audio.G711Rate), "-c", "1", "-"}
}

// FFmpeg is FFmpeg, with the resampler and the settings that it has unless told otherwise.
var FFmpeg = Program{
	Name: "ffmpeg",
	resample: func(ctx context.Context, p audio.PCM, in, out int) (audio.PCM, error) {
		return samples(ffmpeg(ctx, p.AppendBytes(nil), "s16le", in, "s16le", out))
	},
	encode: func(ctx context.Context, law room.Law, p audio.PCM) ([]byte, error) {
		return ffmpeg(ctx, p.AppendBytes(nil), "s16le", audio.G711Rate, string(law), audio.G711Rate)
	},
	decode: func(ctx context.Context, law room.Law, b []byte) (audio.PCM, error) {
		return samples(ffmpeg(ctx, b, string(law), audio.G711Rate, "s16le", audio.G711Rate))
	},
}

func ffmpeg(ctx context.Context, in []byte, from string, rate int, to string, out int) ([]byte, error) {
	return filter(ctx, in, "ffmpeg", "-v", "error", "-f", from, "-ar", strconv.Itoa(rate), "-ac", "1", "-i", "-", "-f", to, "-ar", strconv.Itoa(out), "-")
}

// missing reports whether the program is not on this machine.
func (p Program) missing() bool {
	_, err := exec.LookPath(p.Name)
	return err != nil
}

// filter returns what a program writes when it reads in.
func filter(ctx context.Context, in []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err == nil && len(out) == 0 {
		err = errors.New("it wrote nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// samples reads what filter returned.
func samples(b []byte, err error) (audio.PCM, error) { return audio.FromBytes(b), err }
