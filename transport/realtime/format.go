package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"riposte/audio"
)

// PCMRate is the one rate of audio/pcm, in hertz, and of the sound that goes to Tracks.
const PCMRate = 24000

// format is how sound is written on the wire.
type format struct {
	Type string `json:"type"`
	Rate int    `json:"rate,omitempty"`
}

// formatAliases are the names that the protocol's beta used.
var formatAliases = map[string]string{"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}

// formatOf returns the format of a type, whose rate goes with it.
func formatOf(kind string) format {
	if kind == "audio/pcm" {
		return format{Type: kind, Rate: PCMRate}
	}
	return format{Type: kind, Rate: 8000}
}

// UnmarshalJSON takes the object, and the plain string that the protocol's beta used. A new type brings its own rate.
func (f *format) UnmarshalJSON(b []byte) error {
	var plain struct {
		Type *string `json:"type"`
		Rate *int    `json:"rate"`
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		plain.Type = &s
	} else {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&plain); err != nil {
			return badSession(err)
		}
	}
	if plain.Type != nil {
		kind := *plain.Type
		if a, ok := formatAliases[kind]; ok {
			kind = a
		}
		*f = formatOf(kind)
	}
	if plain.Rate != nil {
		f.Rate = *plain.Rate
	}
	return nil
}

// MarshalJSON leaves the rate out where the type says it.
func (f format) MarshalJSON() ([]byte, error) {
	if f.Type == "audio/pcm" {
		return json.Marshal(map[string]any{"type": f.Type, "rate": f.Rate})
	}
	return json.Marshal(map[string]any{"type": f.Type})
}

func (f format) validate(param string) error {
	switch {
	case f.Type != "audio/pcm" && f.Type != "audio/pcmu" && f.Type != "audio/pcma":
		return invalid(param+".type", "invalid_value", "The format %.64q is not known; it must be audio/pcm, audio/pcmu or audio/pcma.", f.Type)
	case f.Type == "audio/pcm" && f.Rate != PCMRate:
		return invalid(param+".rate", "invalid_value", "audio/pcm has a rate of %d Hz, not %d.", PCMRate, f.Rate)
	case f.Type != "audio/pcm" && f.Rate != 8000:
		return invalid(param+".rate", "invalid_value", "%s has a rate of 8000 Hz, not %d.", f.Type, f.Rate)
	}
	return nil
}

// errOdd says that sound was cut inside a sample.
var errOdd = errors.New("audio/pcm has two bytes a sample")

// decode returns the sound that b holds.
func (f format) decode(b []byte) (audio.PCM, error) {
	switch f.Type {
	case "audio/pcmu":
		return audio.FromMuLaw(b), nil
	case "audio/pcma":
		return audio.FromALaw(b), nil
	}
	if len(b)%2 != 0 {
		return nil, fmt.Errorf("%d bytes: %w", len(b), errOdd)
	}
	return audio.FromBytes(b), nil
}

// encode appends pcm to b.
func (f format) encode(b []byte, pcm audio.PCM) []byte {
	switch f.Type {
	case "audio/pcmu":
		return pcm.AppendMuLaw(b)
	case "audio/pcma":
		return pcm.AppendALaw(b)
	}
	return pcm.AppendBytes(b)
}
