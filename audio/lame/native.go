package lame

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrMissing reports that LAME is not installed.
var ErrMissing = errors.New("libmp3lame cannot be loaded; install it (Debian and Ubuntu: apt-get install libmp3lame0)")

// ErrFailed reports that LAME did not do what it was asked, and why.
var ErrFailed = errors.New("lame")

// library is the part of LAME that is used here. Its functions return a negative number when they fail.
type library struct {
	open      func() uintptr
	channels  func(h uintptr, n int32) int32
	rate      func(h uintptr, hz int32) int32
	bitrate   func(h uintptr, kilobits int32) int32
	quality   func(h uintptr, level int32) int32
	reservoir func(h uintptr, off int32) int32
	index     func(h uintptr, on int32) int32
	ready     func(h uintptr) int32
	encode    func(h uintptr, left, right unsafe.Pointer, samples int32, out unsafe.Pointer, room int32) int32
	flush     func(h uintptr, out unsafe.Pointer, room int32) int32
	close     func(h uintptr) int32
}

// load loads LAME, once.
var load = sync.OnceValues(func() (*library, error) {
	// The second name is the one that a machine has on which only the development package was unpacked.
	var h uintptr
	var err error
	for _, name := range []string{"libmp3lame.so.0", "libmp3lame.so"} {
		if h, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	var l library
	for name, f := range map[string]any{
		"lame_init": &l.open, "lame_set_num_channels": &l.channels, "lame_set_in_samplerate": &l.rate, "lame_set_brate": &l.bitrate,
		"lame_set_quality": &l.quality, "lame_set_disable_reservoir": &l.reservoir, "lame_set_bWriteVbrTag": &l.index,
		"lame_init_params": &l.ready, "lame_encode_buffer": &l.encode, "lame_encode_flush": &l.flush, "lame_close": &l.close,
	} {
		purego.RegisterLibFunc(f, h, name)
	}
	return &l, nil
})

// Check reports whether LAME can be used.
func Check() error {
	_, err := load()
	return err
}
