package whisper

import (
	"encoding/binary"
	"fmt"
	"io"
)

// cursor reads little-endian numbers one after the other. After its first error it returns zeros.
type cursor struct {
	r    io.ReaderAt
	at   int64
	size int64
	buf  []byte // What was read ahead, ending at end.
	end  int64
	err  error
}

// bytes returns the next n bytes, valid until the next call.
func (c *cursor) bytes(n int64) []byte {
	const ahead = 64 << 10
	if c.err == nil && n > c.size-c.at {
		c.err = io.ErrUnexpectedEOF
	}
	if c.err != nil {
		return make([]byte, n)
	}
	start := c.end - int64(len(c.buf))
	if c.at < start || c.at+n > c.end {
		c.buf = make([]byte, min(max(n, ahead), c.size-c.at))
		if _, err := c.r.ReadAt(c.buf, c.at); err != nil && err != io.EOF {
			c.err = err
			return make([]byte, n)
		}
		start, c.end = c.at, c.at+int64(len(c.buf))
	}
	b := c.buf[c.at-start:][:n]
	c.at += n
	return b
}

func (c *cursor) skip(n int64) {
	if c.err == nil && n > c.size-c.at {
		c.err = io.ErrUnexpectedEOF
	}
	if c.err == nil {
		c.at += n
	}
}

func (c *cursor) int32() int32 {
	return int32(binary.LittleEndian.Uint32(c.bytes(4)))
}

// length reads a number that counts bytes, of which there are no more than limit.
func (c *cursor) length(limit int32) int32 {
	n := c.int32()
	if c.err == nil && (n < 0 || n > limit) {
		c.err = fmt.Errorf("a length of %d where %d is the most", n, limit)
	}
	if c.err != nil {
		return 0
	}
	return n
}

func (c *cursor) text(n int32) string {
	return string(c.bytes(int64(n)))
}

func (c *cursor) value(v any) {
	binary.Decode(c.bytes(int64(binary.Size(v))), binary.LittleEndian, v)
}
