package audio

import (
	"bufio"
	"encoding/binary"
	"io"
)

// mp3Repacker rewrites the frames of an MP3 at 22050 Hz so that go-mp3 understands them. At this rate, and no other that it
// reads below 32 kHz, frames are padded by a byte now and then to keep to their bit rate; go-mp3 takes such a frame for a
// byte too short, and loses the sound of many. So every frame is made anew at the highest bit rate, 160 kbit/s, which never
// needs padding for it. The sound's bits stay as they are. Bytes between frames are left out.
//
// A frame's sound may begin up to 255 bytes before it, in the room that the frame before left. Frames of 160 kbit/s leave
// enough for all that came in smaller ones.
type mp3Repacker struct {
	r     *bufio.Reader
	saved []byte // The last bytes of sound of the frames that were read: the next one's sound may begin among them.
	last  []byte // The last frame made anew, which waits for what the next one puts into it.
	used  int    // How much of last is taken.
	out   []byte // What is still to be handed on.
	ended bool
}

// mp3Header is the header of a frame.
type mp3Header uint32

const (
	// mp3Kind is the part of a header that must not change within a stream, and mp3Kind22 what it is in a frame of MPEG 2,
	// layer 3, at 22050 Hz.
	mp3Kind   mp3Header = 0xfffe0c00
	mp3Kind22 mp3Header = 0xfff20000

	// mp3Repacked are the bits that are set in a frame made anew: no checksum, and 160 kbit/s, which make mp3RepackedSize
	// bytes.
	mp3Repacked     mp3Header = 0x0001e000
	mp3RepackedSize           = 72 * 160000 / 22050

	// mp3Saved is how far back a frame's sound may begin.
	mp3Saved = 255
)

// mp3BitRates are the bit rates of MPEG 2, layer 3, in kbit/s. The first stands for any and the last is forbidden.
var mp3BitRates = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}

// valid returns whether h begins a frame that a Repacker is made for.
func (h mp3Header) valid() bool { return h&mp3Kind == mp3Kind22 && h.size() > 0 }

// size returns the length of the frame in bytes, or 0 when the header does not tell.
func (h mp3Header) size() int {
	rate := mp3BitRates[h>>12&15]
	if rate == 0 {
		return 0
	}
	return 72*1000*rate/22050 + int(h>>9&1)
}

// mono returns whether the frame has one channel.
func (h mp3Header) mono() bool { return h>>6&3 == 3 }

// side returns the length of the side information, which says how the sound is coded.
func (h mp3Header) side() int {
	if h.mono() {
		return 9
	}
	return 17
}

// head returns where the side information begins: after the header, and a checksum if there is one.
func (h mp3Header) head() int {
	if h>>16&1 == 0 {
		return 6
	}
	return 4
}

// Read returns the next bytes of the stream made anew.
func (m *mp3Repacker) Read(b []byte) (int, error) {
	for len(m.out) == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, m.out)
	m.out = m.out[n:]
	return n, nil
}

// next reads a frame and makes it anew, and hands on the one before.
func (m *mp3Repacker) next() error {
	if m.ended {
		return io.EOF
	}
	h, side, sound, err := m.frame()
	if err != nil { // The end, or a last frame that is cut.
		m.out, m.ended = m.last, true
		return nil
	}
	m.out = m.last
	m.pack(h, side, m.gather(h, side, sound))
	m.saved = append(m.saved, sound...)
	m.saved = append(m.saved[:0], m.saved[max(0, len(m.saved)-mp3Saved):]...)
	return nil
}

// frame reads the next frame.
func (m *mp3Repacker) frame() (h mp3Header, side, sound []byte, err error) {
	for {
		head, err := m.r.Peek(4)
		if err != nil {
			return 0, nil, nil, err
		}
		h = mp3Header(binary.BigEndian.Uint32(head))
		if h.valid() && h.size() >= h.head()+h.side() {
			break
		}
		if _, err := m.r.Discard(1); err != nil {
			return 0, nil, nil, err
		}
	}
	b := make([]byte, h.size())
	_, err = io.ReadFull(m.r, b)
	return h, b[h.head() : h.head()+h.side()], b[h.head()+h.side():], err
}

// gather returns all of a frame's sound, or nil when a part of it is missing, as after a cut.
func (m *mp3Repacker) gather(h mp3Header, side, sound []byte) []byte {
	back := int(side[0]) // How many bytes before this frame its sound begins.
	need := (soundBits(h, side) + 7) / 8
	if back > len(m.saved) || need > back+len(sound) {
		return nil
	}
	whole := append(append([]byte(nil), m.saved[len(m.saved)-back:]...), sound...)
	return whole[:need]
}

// pack makes a frame of the given sound, which begins in the last frame if there is room. Where the sound is missing, or
// does not fit, the frame is silence.
func (m *mp3Repacker) pack(h mp3Header, side, whole []byte) {
	next := make([]byte, mp3RepackedSize)
	binary.BigEndian.PutUint32(next, uint32(h&^(0xf<<12|1<<9)|mp3Repacked))
	used := 4 + h.side()
	back := min(mp3Saved, len(m.last)-m.used)
	if whole != nil && len(whole)-back <= len(next)-used {
		copy(next[4:], side)
		next[4] = byte(back)
		n := copy(m.last[len(m.last)-back:], whole)
		used += copy(next[used:], whole[n:])
	}
	m.last, m.used = next, used
}

// soundBits returns how many bits of sound the side information speaks of: a number of 12 bits for each channel, after
// what they share; each channel has 63 bits.
func soundBits(h mp3Header, side []byte) int {
	if h.mono() {
		return bitsAt(side, 9)
	}
	return bitsAt(side, 10) + bitsAt(side, 10+63)
}

// bitsAt returns the number of 12 bits that begins at bit i.
func bitsAt(b []byte, i int) int {
	v := uint32(b[i/8])<<16 | uint32(b[i/8+1])<<8
	if i/8+2 < len(b) {
		v |= uint32(b[i/8+2])
	}
	return int(v >> (12 - i%8) & 0xfff)
}
