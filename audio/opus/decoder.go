package opus

import (
	"runtime"
	"time"
	"unsafe"

	"riposte/audio"
)

// MostPacket is the longest that one packet may sound.
const MostPacket = 120 * time.Millisecond

// Decoder decodes one stream. Set the exported field, then Open it. It must not be used by two goroutines at once.
type Decoder struct {
	Rate int // Of the sound that it makes: 8000, 12000, 16000, 24000 or 48000 Hz. Opus itself changes to it, without delay.

	lib    *library
	handle uintptr // 0 once freed.
	pcm    audio.PCM
	free   runtime.Cleanup
}

// Open makes it ready. The error is ErrMissing where there is no libopus.
func (d *Decoder) Open() error {
	lib, err := load()
	if err != nil {
		return err
	}
	var code int32
	h := lib.decoderCreate(int32(d.Rate), 1, &code)
	if h == 0 {
		return lib.failed("opening a decoder", code)
	}
	d.lib, d.handle = lib, h
	d.pcm = make(audio.PCM, audio.Samples(MostPacket, d.Rate))
	d.free = runtime.AddCleanup(d, lib.decoderDestroy, h)
	return nil
}

// Decode returns the sound of the next packet. It is valid until the next call, as are those of Recover and Conceal.
func (d *Decoder) Decode(packet []byte) (audio.PCM, error) {
	if len(packet) == 0 {
		return nil, ErrFailed
	}
	return d.decode(packet, len(d.pcm), false)
}

// Recover returns the sound of a packet of the given length that was lost, from what the packet after it, which comes next, says of it.
// Where that says nothing it is made up.
func (d *Decoder) Recover(next []byte, length time.Duration) (audio.PCM, error) {
	if len(next) == 0 {
		return d.Conceal(length)
	}
	return d.decode(next, d.whole(length), true)
}

// Conceal makes up sound of the given length, at most MostPacket, for what was lost: it goes on with what was heard, and fades.
func (d *Decoder) Conceal(length time.Duration) (audio.PCM, error) {
	return d.decode(nil, d.whole(length), false)
}

// whole returns so many samples, in whole steps of 2.5 ms, of which Opus makes up sound.
func (d *Decoder) whole(length time.Duration) int {
	step := d.Rate / 400
	n := (audio.Samples(length, d.Rate) + step/2) / step * step
	return max(step, min(n, len(d.pcm)))
}

func (d *Decoder) decode(packet []byte, samples int, fec bool) (audio.PCM, error) {
	if d.handle == 0 {
		return nil, ErrFailed
	}
	var p unsafe.Pointer
	if len(packet) > 0 {
		p = unsafe.Pointer(&packet[0])
	}
	again := int32(0)
	if fec {
		again = 1
	}
	n := d.lib.decode(d.handle, p, int32(len(packet)), unsafe.Pointer(&d.pcm[0]), int32(samples), again)
	runtime.KeepAlive(d)
	if n < 0 {
		return nil, d.lib.failed("decoding", n)
	}
	return d.pcm[:n], nil
}

// Close frees what it holds outside of Go's memory. A second call does nothing.
func (d *Decoder) Close() {
	if d.handle == 0 {
		return
	}
	d.free.Stop()
	d.lib.decoderDestroy(d.handle)
	d.handle = 0
}

// silkLengths and celtLengths are those of a frame, in samples of Clock, by the lower bits of a packet's first byte: RFC 6716, section 3.1.
var silkLengths, celtLengths = [4]int{480, 960, 1920, 2880}, [4]int{120, 240, 480, 960}

// Length returns how long a packet sounds, in samples of Clock; false for what is no packet.
func Length(packet []byte) (int, bool) {
	if len(packet) == 0 {
		return 0, false
	}
	config, frames := packet[0]>>3, 1
	switch packet[0] & 3 {
	case 1, 2:
		frames = 2
	case 3:
		if len(packet) < 2 {
			return 0, false
		}
		frames = int(packet[1] & 0x3f)
	}
	var length int
	switch {
	case config < 12:
		length = silkLengths[config&3]
	case config < 16: // hybrid: 10 or 20 ms
		length = silkLengths[config&1]
	default:
		length = celtLengths[config&3]
	}
	n := frames * length
	return n, n > 0 && n <= audio.Samples(MostPacket, Clock)
}
