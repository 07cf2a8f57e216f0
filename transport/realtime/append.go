package realtime

import (
	"bytes"
	"encoding/base64"
)

// appendType is the type of the one event that is frequent: fifty a second bring a caller's sound.
const appendType = "input_audio_buffer.append"

// plainAppend reads an event that brings sound, as clients write it: an object of the type, the audio and perhaps an event_id, each once,
// without escapes. ok is false for all else, be it right or wrong: decode knows what it means. The sound is decoded into room, which grows where
// it is too small.
//
// encoding/json reads each byte of such an event four times, and copies it as often.
func plainAppend(b, room []byte) (e *audioAppend, id string, ok bool) {
	p := plainJSON{rest: b}
	var kind, audio []byte
	var seen [3]bool
	for more := p.takes('{'); more; more = p.takes(',') {
		name := p.text()
		if !p.takes(':') {
			return nil, "", false
		}
		value, at := p.text(), 0
		switch string(name) {
		case "type":
			kind, at = value, 0
		case "audio":
			audio, at = value, 1
		case "event_id":
			id, at = string(value), 2
		default:
			return nil, "", false
		}
		if seen[at] || value == nil {
			return nil, "", false
		}
		seen[at] = true
	}
	if !p.takes('}') || !p.over() || string(kind) != appendType || len(audio) == 0 || len(id) > maxEventID {
		return nil, "", false
	}
	room = append(room[:0], make([]byte, base64.StdEncoding.DecodedLen(len(audio)))...)
	n, err := base64.StdEncoding.Decode(room, audio)
	return &audioAppend{Audio: room[:n]}, id, err == nil && n > 0
}

// plainJSON reads JSON from its beginning on, as far as it needs no thought.
type plainJSON struct{ rest []byte }

// space skips what means nothing.
func (p *plainJSON) space() {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
}

// takes skips c if it comes next.
func (p *plainJSON) takes(c byte) bool {
	p.space()
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// text returns the string that comes next, nil where there is none, or one that is more than printable ASCII without escapes.
func (p *plainJSON) text() []byte {
	if !p.takes('"') {
		return nil
	}
	end := bytes.IndexByte(p.rest, '"')
	if end < 0 {
		return nil
	}
	s := p.rest[:end:end]
	for _, c := range s {
		if c < ' ' || c > '~' || c == '\\' {
			return nil
		}
	}
	p.rest = p.rest[end+1:]
	return s
}

// over reports whether nothing is left.
func (p *plainJSON) over() bool {
	p.space()
	return len(p.rest) == 0
}
