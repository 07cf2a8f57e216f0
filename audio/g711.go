package audio

import "github.com/zaf/g711"

// G711Rate is the rate, in hertz, of telephone sound: what A-law and mu-law carry.
const G711Rate = 8000

// AppendALaw appends p as A-law (G.711, PCMA), one byte a sample, to b and returns the result.
func (p PCM) AppendALaw(b []byte) []byte {
	for _, s := range p {
		b = append(b, g711.EncodeAlawFrame(s))
	}
	return b
}

// AppendMuLaw appends p as mu-law (G.711, PCMU), one byte a sample, to b and returns the result.
func (p PCM) AppendMuLaw(b []byte) []byte {
	for _, s := range p {
		b = append(b, g711.EncodeUlawFrame(s))
	}
	return b
}

// FromALaw decodes A-law sound, one sample a byte. Every byte is a valid code.
func FromALaw(b []byte) PCM {
	p := make(PCM, len(b))
	for i, c := range b {
		p[i] = g711.DecodeAlawFrame(c)
	}
	return p
}

// FromMuLaw decodes mu-law sound, one sample a byte. Every byte is a valid code.
func FromMuLaw(b []byte) PCM {
	p := make(PCM, len(b))
	for i, c := range b {
		p[i] = g711.DecodeUlawFrame(c)
	}
	return p
}
