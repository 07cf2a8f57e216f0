package audio

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// speexQuality is the only quality that is used; see Resampler for why.
const speexQuality = 4

// speexLib is the part of libspeexdsp that a Resampler needs.
type speexLib struct {
	init         func(channels, in, out uint32, quality int32, err *int32) uintptr
	destroy      func(st uintptr)
	process      func(st uintptr, channel uint32, in unsafe.Pointer, inLen *uint32, out unsafe.Pointer, outLen *uint32) int32
	skipZeros    func(st uintptr) int32
	resetMem     func(st uintptr) int32
	inputLatency func(st uintptr) int32
}

// speex loads libspeexdsp, once.
var speex = sync.OnceValues(func() (*speexLib, error) {
	// The second name is the one that a machine has on which only the development package was unpacked.
	var h uintptr
	var err error
	for _, name := range []string{"libspeexdsp.so.1", "libspeexdsp.so"} {
		if h, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoResampler, err)
	}
	var l speexLib
	purego.RegisterLibFunc(&l.init, h, "speex_resampler_init")
	purego.RegisterLibFunc(&l.destroy, h, "speex_resampler_destroy")
	purego.RegisterLibFunc(&l.process, h, "speex_resampler_process_int")
	purego.RegisterLibFunc(&l.skipZeros, h, "speex_resampler_skip_zeros")
	purego.RegisterLibFunc(&l.resetMem, h, "speex_resampler_reset_mem")
	purego.RegisterLibFunc(&l.inputLatency, h, "speex_resampler_get_input_latency")
	return &l, nil
})

// speexState is one native resampler. It is freed by close, or when it can no longer be reached.
type speexState struct {
	lib     *speexLib
	handle  uintptr // 0 once freed.
	latency int     // Samples, at the input rate, between what goes in and what comes out.
	free    runtime.Cleanup
}

// openSpeex returns a resampler whose first output sample belongs to the same moment as its first input sample.
func openSpeex(in, out int) (*speexState, error) {
	lib, err := speex()
	if err != nil {
		return nil, err
	}
	var code int32
	h := lib.init(1, uint32(in), uint32(out), speexQuality, &code)
	if h == 0 {
		return nil, fmt.Errorf("speex_resampler_init says %d", code)
	}
	lib.skipZeros(h)
	s := &speexState{lib: lib, handle: h, latency: int(lib.inputLatency(h))}
	s.free = runtime.AddCleanup(s, lib.destroy, h)
	return s, nil
}

// process resamples as much of in as it can and returns how many samples it took, and how many it wrote to out.
func (s *speexState) process(in, out PCM) (took, wrote int) {
	if s.handle == 0 || len(in) == 0 || len(out) == 0 {
		return 0, 0
	}
	n, m := uint32(len(in)), uint32(len(out))
	// The only errors it has are bad arguments and overlapping buffers, which cannot be.
	s.lib.process(s.handle, 0, unsafe.Pointer(&in[0]), &n, unsafe.Pointer(&out[0]), &m)
	runtime.KeepAlive(s)
	return int(n), int(m)
}

// restart forgets all sound, as if the resampler had just been opened.
func (s *speexState) restart() {
	if s.handle == 0 {
		return
	}
	s.lib.resetMem(s.handle)
	s.lib.skipZeros(s.handle)
	runtime.KeepAlive(s)
}

// close frees the native memory. A second call does nothing.
func (s *speexState) close() {
	if s.handle == 0 {
		return
	}
	s.free.Stop()
	s.lib.destroy(s.handle)
	s.handle = 0
}
