// Package lame writes MP3 with LAME, which is loaded when it is first used. Sound is mono here, as everywhere in this service.
package lame

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"unsafe"

	"riposte/audio"
)

// Encoder writes sound as MP3 while it comes. Set the exported fields, then Open it. It must not be used by two goroutines at once.
type Encoder struct {
	Out     io.Writer
	Rate    int // Of the sound that it gets, in hertz: one that MP3 has, or LAME changes it to one.
	Bitrate int // In kilobits a second. It defaults to 64: for one voice more is not heard.

	lib    *library
	handle uintptr // 0 once freed.
	packet []byte
	free   runtime.Cleanup
}

// quality is LAME's own level for good sound at a small cost: a second takes some milliseconds of a core.
const quality = 5

// Open makes it ready. The error is ErrMissing where there is no LAME.
func (e *Encoder) Open() error {
	lib, err := load()
	if err != nil {
		return err
	}
	h := lib.open()
	if h == 0 {
		return fmt.Errorf("%w: no memory for an encoder", ErrFailed)
	}
	for _, code := range []int32{
		lib.channels(h, 1), lib.rate(h, int32(e.Rate)), lib.bitrate(h, int32(cmp.Or(e.Bitrate, 64))), lib.quality(h, quality),
		lib.reservoir(h, 1), // no frame waits for bits that another saves
		lib.index(h, 0),     // a stream has no index in front
		lib.ready(h),
	} {
		if code < 0 {
			lib.close(h)
			return fmt.Errorf("%w: it cannot make MP3 of %d Hz with %d kbit/s (%d)", ErrFailed, e.Rate, e.Bitrate, code)
		}
	}
	e.lib, e.handle = lib, h
	e.free = runtime.AddCleanup(e, func(h uintptr) { lib.close(h) }, h)
	return nil
}

// block is how many samples are encoded at a time.
const block = 4096

// Write encodes sound of any length and writes the frames that are complete.
func (e *Encoder) Write(p audio.PCM) error {
	for len(p) > 0 {
		n := min(len(p), block)
		if err := e.encode(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (e *Encoder) encode(p audio.PCM) error {
	if e.handle == 0 {
		return ErrFailed
	}
	out := e.room()
	// Of one channel the left one is taken.
	n := e.lib.encode(e.handle, unsafe.Pointer(&p[0]), unsafe.Pointer(&p[0]), int32(len(p)), unsafe.Pointer(&out[0]), int32(len(out)))
	runtime.KeepAlive(e)
	return e.write(n)
}

// room returns as much as LAME asks for: 1.25 bytes a sample and 7200 more.
func (e *Encoder) room() []byte {
	if e.packet == nil {
		e.packet = make([]byte, block*5/4+7200)
	}
	return e.packet
}

// write writes what LAME has put there.
func (e *Encoder) write(n int32) error {
	if n < 0 {
		return fmt.Errorf("%w: encoding: %d", ErrFailed, n)
	}
	if n == 0 {
		return nil
	}
	_, err := e.Out.Write(e.packet[:n])
	return err
}

// Close writes what is left, and frees what it holds outside of Go's memory. A second call does nothing.
func (e *Encoder) Close() error {
	if e.handle == 0 {
		return nil
	}
	out := e.room()
	err := e.write(e.lib.flush(e.handle, unsafe.Pointer(&out[0]), int32(len(out))))
	e.free.Stop()
	e.lib.close(e.handle)
	e.handle = 0
	return err
}
