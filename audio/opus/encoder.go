// Package opus encodes and decodes Opus, the codec of WebRTC, with libopus, which is loaded when it is first used. Sound is mono here, as
// everywhere in this service.
package opus

import (
	"cmp"
	"runtime"
	"unsafe"

	"riposte/audio"
)

// Clock is the rate of Opus's timestamps, in hertz, whatever the sound's own is.
const Clock = 48000

// mostPacket is more than a packet of one frame can have: RFC 6716 bounds a frame to 1275 bytes.
const mostPacket = 1500

// Encoder encodes one stream of speech. Set the exported fields, then Open it. It must not be used by two goroutines at once.
type Encoder struct {
	Rate    int // Of the sound: 8000, 12000, 16000, 24000 or 48000 Hz.
	Bitrate int // In bits a second. It defaults to 32000.
	// Effort is how hard it tries, from 1 to 10. It defaults to 5: that takes half of the time of libopus' own default, 9, and of read
	// speech at 32 kbit/s it brings back as much (a signal-to-noise ratio of 9.1 dB either way).
	Effort int
	DTX    bool // Frames of silence become packets of at most two bytes, which need not be sent.

	lib    *library
	handle uintptr // 0 once freed.
	loss   int
	packet []byte
	free   runtime.Cleanup
}

// Open makes it ready. The error is ErrMissing where there is no libopus.
func (e *Encoder) Open() error {
	lib, err := load()
	if err != nil {
		return err
	}
	var code int32
	h := lib.encoderCreate(int32(e.Rate), 1, applicationVoIP, &code)
	if h == 0 {
		return lib.failed("opening an encoder", code)
	}
	e.lib, e.handle, e.packet = lib, h, make([]byte, mostPacket)
	e.free = runtime.AddCleanup(e, lib.encoderDestroy, h)
	dtx := 0
	if e.DTX {
		dtx = 1
	}
	for _, o := range []struct {
		name    string
		request int32
		value   int
	}{
		{"bitrate", setBitrate, cmp.Or(e.Bitrate, 32000)}, {"effort", setComplexity, cmp.Or(e.Effort, 5)}, {"fec", setInbandFEC, 1}, {"dtx", setDTX, dtx}, {"signal", setSignal, signalVoice},
	} {
		if code := lib.encoderCtl(h, o.request, int32(o.value)); code < 0 {
			e.Close()
			return lib.failed("setting its "+o.name, code)
		}
	}
	return nil
}

// Loss says what part of the packets is lost on their way, from 0 to 1: the more, the more of each packet is spent on saying again what
// the one before it said.
func (e *Encoder) Loss(part float64) {
	percent := max(0, min(100, int(part*100+0.5)))
	if e.handle == 0 || percent == e.loss {
		return
	}
	e.loss = percent
	e.lib.encoderCtl(e.handle, setPacketLossPerc, int32(percent)) // cannot fail within these bounds
	runtime.KeepAlive(e)
}

// Encode encodes one frame, of 2.5, 5, 10, 20, 40 or 60 ms. The packet is valid until the next call.
func (e *Encoder) Encode(frame audio.PCM) ([]byte, error) {
	if e.handle == 0 || len(frame) == 0 {
		return nil, ErrFailed
	}
	n := e.lib.encode(e.handle, unsafe.Pointer(&frame[0]), int32(len(frame)), unsafe.Pointer(&e.packet[0]), int32(len(e.packet)))
	runtime.KeepAlive(e)
	if n < 0 {
		return nil, e.lib.failed("encoding", n)
	}
	return e.packet[:n], nil
}

// Close frees what it holds outside of Go's memory. A second call does nothing.
func (e *Encoder) Close() {
	if e.handle == 0 {
		return
	}
	e.free.Stop()
	e.lib.encoderDestroy(e.handle)
	e.handle = 0
}
