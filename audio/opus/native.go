package opus

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrMissing reports that libopus is not installed.
var ErrMissing = errors.New("libopus cannot be loaded; install it (Debian and Ubuntu: apt-get install libopus0)")

// ErrFailed reports that libopus did not do what it was asked, and why.
var ErrFailed = errors.New("opus")

// Numbers of opus_defines.h.
const (
	applicationVoIP   = 2048
	setBitrate        = 4002
	setInbandFEC      = 4012
	setPacketLossPerc = 4014
	setComplexity     = 4010
	setDTX            = 4016
	setSignal         = 4024
	signalVoice       = 3001
)

// library is the part of libopus that is used here.
type library struct {
	encoderCreate  func(rate, channels, application int32, err *int32) uintptr
	encoderDestroy func(st uintptr)
	encode         func(st uintptr, pcm unsafe.Pointer, samples int32, out unsafe.Pointer, room int32) int32
	// The C function takes any number of arguments. With integers alone the calling conventions of Linux pass them no differently.
	encoderCtl     func(st uintptr, request int32, value int32) int32
	decoderCreate  func(rate, channels int32, err *int32) uintptr
	decoderDestroy func(st uintptr)
	decode         func(st uintptr, packet unsafe.Pointer, size int32, pcm unsafe.Pointer, samples int32, fec int32) int32
	strerror       func(code int32) string
}

// load loads libopus, once.
var load = sync.OnceValues(func() (*library, error) {
	// The second name is the one that a machine has on which only the development package was unpacked.
	var h uintptr
	var err error
	for _, name := range []string{"libopus.so.0", "libopus.so"} {
		if h, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	var l library
	purego.RegisterLibFunc(&l.encoderCreate, h, "opus_encoder_create")
	purego.RegisterLibFunc(&l.encoderDestroy, h, "opus_encoder_destroy")
	purego.RegisterLibFunc(&l.encode, h, "opus_encode")
	purego.RegisterLibFunc(&l.encoderCtl, h, "opus_encoder_ctl")
	purego.RegisterLibFunc(&l.decoderCreate, h, "opus_decoder_create")
	purego.RegisterLibFunc(&l.decoderDestroy, h, "opus_decoder_destroy")
	purego.RegisterLibFunc(&l.decode, h, "opus_decode")
	purego.RegisterLibFunc(&l.strerror, h, "opus_strerror")
	return &l, nil
})

// Check reports whether libopus can be used.
func Check() error {
	_, err := load()
	return err
}

// failed says what a negative result of the library means.
func (l *library) failed(what string, code int32) error {
	return fmt.Errorf("%w: %s: %s", ErrFailed, what, l.strerror(code))
}
