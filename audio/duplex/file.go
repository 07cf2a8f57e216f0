// Package duplex keeps the sound of a whole call, both sides of it side by side.
package duplex

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"riposte/audio"
)

// File is a call's sound in a WAV file of two channels, the caller left and the agent right, which is written while the call lasts. Its clock is
// the caller's samples: what the agent says begins where the caller was when it was sent, and what was thrown away of it is not there. Where nothing
// comes from the caller for a second, time goes on in silence.
//
// Whoever hands sound in goes on at once: what the disk does not take in time is silence. Set the exported fields, then Start it. It is safe for use
// by several goroutines.
type File struct {
	Path   string
	Buffer time.Duration // How much sound may wait for the disk, of both sides together. It defaults to 10 s.
	Log    *slog.Logger  // It defaults to slog.Default().

	mu     sync.Mutex
	parts  []part
	waits  time.Duration // How much sound is in parts.
	missed time.Duration // How much of the caller's was thrown away since the last part. Of the agent's nobody has to know: time goes by the caller.
	closed bool
	drop   bool // What there is is to be removed.

	create func(path string, rate int, began time.Time) (*track, error) // Of this package, but in tests of full disks.

	wake chan struct{}
	done chan struct{}
	made bool  // There is a file. This and what follows are read when done is closed.
	err  error // Why it ended early.
}

// part is something that happened in the call.
type part struct {
	side int
	cut  bool // What the agent said and nobody has heard is thrown away.
	pcm  audio.PCM
	rate int
	gap  time.Duration // Of the caller's sound before it: it was thrown away.
	at   time.Time
}

// The sides.
const (
	caller = iota
	agent
)

// Start begins the file.
func (f *File) Start() {
	if f.Buffer == 0 {
		f.Buffer = 10 * time.Second
	}
	if f.Log == nil {
		f.Log = slog.Default()
	}
	if f.create == nil {
		f.create = create
	}
	f.wake, f.done = make(chan struct{}, 1), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(f.done)
		if f.err = f.run(began); f.err != nil {
			f.Log.Error("a recording ended early", "file", f.Path, "err", f.err)
		}
	}()
}

// Caller adds sound that came from the caller.
func (f *File) Caller(p audio.PCM, rate int) { f.add(part{side: caller, pcm: p, rate: rate}) }

// Agent adds sound that was sent to the caller.
func (f *File) Agent(p audio.PCM, rate int) { f.add(part{side: agent, pcm: p, rate: rate}) }

// Cut throws away what was sent and not heard yet.
func (f *File) Cut() { f.add(part{side: agent, cut: true}) }

func (f *File) add(p part) {
	if !p.cut && (len(p.pcm) == 0 || p.rate <= 0) {
		return
	}
	p.at = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	length := audio.Duration(len(p.pcm), max(p.rate, 1))
	if f.waits+length > f.Buffer {
		if p.side == caller {
			f.missed += length
		}
		return
	}
	p.pcm = append(audio.PCM(nil), p.pcm...) // it is only lent
	if p.side == caller {
		p.gap, f.missed = f.missed, 0
	}
	f.parts, f.waits = append(f.parts, p), f.waits+length
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// lastWrites is how long Close waits for the disk.
const lastWrites = 2 * time.Second

// Close ends the file and waits until it is whole, but not for long: a disk that hangs is left behind.
func (f *File) Close() error { return f.end(false) }

// Made reports, once the file is closed, whether there is one: without any sound there is none.
func (f *File) Made() bool {
	select {
	case <-f.done:
		return f.made
	default:
		return true // a slow disk may still be making it
	}
}

// Discard ends the file and removes it.
func (f *File) Discard() error { return f.end(true) }

func (f *File) end(drop bool) error {
	f.mu.Lock()
	f.closed = true
	f.drop = f.drop || drop
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	select {
	case <-f.done:
		if drop {
			return f.remove()
		}
		return f.err
	case <-time.After(lastWrites):
		if drop {
			go func() {
				<-f.done
				_ = f.remove() // nobody is there any more who could be told
			}()
		}
		return fmt.Errorf("the recording %s is not whole: the disk is too slow", f.Path)
	}
}

// remove removes the file that was made.
func (f *File) remove() error {
	if !f.made {
		return nil
	}
	if err := os.Remove(f.Path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// take returns what waits to be written, and whether more may come.
func (f *File) take() (parts []part, closed, drop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts, f.parts, f.waits = f.parts, nil, 0
	return parts, f.closed, f.drop
}

// patient is how often what is written is made a whole file, so that one of a service that was killed can be played.
const patient = 10 * time.Second

// run writes until the file is closed.
func (f *File) run(began time.Time) (err error) {
	var t *track
	defer func() {
		if t != nil {
			if err != nil {
				f.made = t.rescue()
			}
			err = errors.Join(err, t.close())
		}
		f.mu.Lock()
		f.closed, f.parts = true, nil
		f.mu.Unlock()
	}()
	whole := time.Now()
	for {
		<-f.wake
		parts, closed, drop := f.take()
		if drop {
			return nil
		}
		for _, p := range parts {
			if t == nil {
				made, err := f.create(f.Path, rateOf(p.rate), began)
				if err != nil {
					return err
				}
				t = made
				f.made = true
			}
			if err := t.write(p); err != nil {
				return err
			}
		}
		if t != nil && (closed || time.Since(whole) > patient) {
			whole = time.Now()
			if err := t.finish(closed); err != nil {
				return err
			}
		}
		if closed {
			return nil
		}
	}
}

// rateOf returns the rate of a file whose first sound has this one: telephones' as it is, and 16 kHz for all others.
func rateOf(rate int) int {
	if rate > 0 && rate <= 8000 {
		return 8000
	}
	return audio.SpeechRate
}

// track is the file while it is open.
type track struct {
	file  *os.File
	out   *bufio.Writer
	rate  int
	began time.Time
	sides [2]side
	at    int64     // How many samples of each side are written,
	quiet int64     // and how many of the last were silence, since nothing came from the caller.
	right audio.PCM // What the agent says from there on.
}

// side brings what comes of one side to the file's rate.
type side struct {
	rate      int
	resampler *audio.Resampler // nil where there is nothing to do.
}

const (
	header = 44 // Bytes before the sound.
	frame  = 4  // Bytes of two samples.
)

// create makes the file.
func create(path string, rate int, began time.Time) (*track, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it has what people said
	if err != nil {
		return nil, err
	}
	t := &track{file: file, out: bufio.NewWriterSize(file, 64<<10), rate: rate, began: began}
	_, err = t.out.Write(t.header())
	return t, err
}

// header returns the beginning of the file as it is now.
func (t *track) header() []byte {
	size := uint32(min(t.at*frame, math.MaxUint32-header))
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), header-8+size)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), 2) // integers, two channels
	b = le.AppendUint32(le.AppendUint32(b, uint32(t.rate)), uint32(t.rate*frame))
	b = le.AppendUint16(le.AppendUint16(b, frame), 16)
	return le.AppendUint32(append(b, "data"...), size)
}

// most is how many samples of each side a file holds: WAV counts bytes in 32 bits. At 16 kHz that is 18 hours.
const most = (math.MaxUint32 - header) / 4

// slack is how far the caller's sound may be behind the time.
const slack = time.Second

// write takes what happened.
func (t *track) write(p part) error {
	gap := max(0, int64(audio.Samples(p.gap, t.rate))-t.quiet) // which time may have gone over already
	if late := int64(audio.Samples(p.at.Sub(t.began)-slack, t.rate)) - t.at - gap; late > 0 {
		if err := t.advance(make(audio.PCM, late)); err != nil {
			return err
		}
		t.quiet += late
	}
	if p.cut {
		t.right = nil
		return nil
	}
	pcm, err := t.sides[p.side].bring(p.pcm, p.rate, t.rate)
	if err != nil {
		return err
	}
	if p.side == agent {
		t.right = append(t.right, pcm...)
		return nil
	}
	t.quiet = 0
	return t.advance(append(make(audio.PCM, gap), pcm...))
}

// bring returns sound at the file's rate.
func (s *side) bring(pcm audio.PCM, from, to int) (audio.PCM, error) {
	if from == to {
		return pcm, nil
	}
	if s.resampler == nil || s.rate != from {
		s.close()
		r, err := audio.OpenResampler(from, to)
		if err != nil {
			return nil, err
		}
		s.resampler, s.rate = r, from
	}
	return s.resampler.Write(pcm), nil
}

func (s *side) close() {
	if s.resampler != nil {
		s.resampler.Close()
	}
}

// advance writes what the caller said, beside what the agent did meanwhile.
func (t *track) advance(left audio.PCM) error {
	if room := most - t.at; int64(len(left)) > room {
		return fmt.Errorf("it has %v already: %w", audio.Duration(int(t.at), t.rate), audio.ErrTooLong)
	}
	n := min(len(t.right), len(left))
	b := make([]byte, 0, 4*len(left))
	for i, l := range left {
		var r int16
		if i < n {
			r = t.right[i]
		}
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, uint16(l)), uint16(r))
	}
	t.right = t.right[n:]
	t.at += int64(len(left))
	_, err := t.out.Write(b)
	return err
}

// finish makes what there is a whole file. In the end that has what the agent said last.
func (t *track) finish(end bool) error {
	if end && len(t.right) > 0 {
		if err := t.advance(make(audio.PCM, len(t.right))); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	_, err := t.file.WriteAt(t.header(), 0)
	return err
}

// rescue makes a whole file of what the disk has taken before it failed, and reports whether there is one: without any sound it is removed.
func (t *track) rescue() bool {
	_ = t.out.Flush() // it says again what is wrong, if that is the disk
	info, err := t.file.Stat()
	if err != nil {
		return true // nobody knows
	}
	if t.at = max(0, info.Size()-header) / frame; t.at == 0 {
		return os.Remove(t.file.Name()) != nil
	}
	if _, err := t.file.WriteAt(t.header(), 0); err == nil { // there is room for that: it is there
		_ = t.file.Truncate(header + t.at*frame) // half a frame at the end does no harm either
	}
	return true
}

func (t *track) close() error {
	for i := range t.sides {
		t.sides[i].close()
	}
	return t.file.Close()
}
