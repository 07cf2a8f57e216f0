package piper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// ErrVoice reports a voice file that cannot be used, and says what to do about it.
var ErrVoice = errors.New("piper: unusable voice")

// voice is the description that lies beside a Piper model, as far as it matters for speaking.
type voice struct {
	Audio struct {
		SampleRate int `json:"sample_rate"`
	} `json:"audio"`
	Espeak struct {
		Voice string `json:"voice"`
	} `json:"espeak"`
	Inference struct {
		NoiseScale  *float32 `json:"noise_scale"`
		LengthScale *float32 `json:"length_scale"`
		NoiseW      *float32 `json:"noise_w"`
	} `json:"inference"`
	PhonemeType  string              `json:"phoneme_type"`
	PhonemeMap   map[string][]string `json:"phoneme_map"`
	PhonemeIDs   map[string][]int64  `json:"phoneme_id_map"`
	NumSpeakers  int                 `json:"num_speakers"`
	SpeakerIDs   map[string]int64    `json:"speaker_id_map"`
	LanguageInfo struct {
		Code   string `json:"code"`
		Family string `json:"family"`
	} `json:"language"`
}

// readVoice reads and checks the description in the file at path.
func readVoice(path string) (*voice, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: every Piper model needs its .json file beside it: %w", ErrVoice, err)
	}
	v := new(voice)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%w: %s: fetch the voice again: %w", ErrVoice, path, err)
	}
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrVoice, path, err)
	}
	return v, nil
}

// check reports everything that keeps the voice from speaking.
func (v *voice) check() error {
	var errs []error
	if v.Audio.SampleRate < 8000 || v.Audio.SampleRate > 96000 {
		errs = append(errs, fmt.Errorf("audio.sample_rate is %d hertz, want 8000 to 96000", v.Audio.SampleRate))
	}
	if v.PhonemeType != "" && v.PhonemeType != "espeak" {
		errs = append(errs, fmt.Errorf("phoneme_type is %q, only voices that speak espeak's phonemes are supported", v.PhonemeType))
	}
	if v.Espeak.Voice == "" {
		errs = append(errs, errors.New("espeak.voice is missing"))
	}
	if len(v.PhonemeIDs) == 0 {
		errs = append(errs, errors.New("phoneme_id_map is missing: this is not the description of a Piper voice, fetch it again"))
	} else {
		for _, p := range []string{bos, pad, eos} {
			if len(v.PhonemeIDs[p]) == 0 {
				errs = append(errs, fmt.Errorf("phoneme_id_map lacks %q", p))
			}
		}
	}
	return errors.Join(errs...)
}

// language returns the code of the voice's language, such as "en", as tts.Normalize takes it.
func (v *voice) language() string {
	if v.LanguageInfo.Family != "" {
		return v.LanguageInfo.Family
	}
	return v.Espeak.Voice
}

// scales returns what the network takes besides the phonemes: noise of the sound, length, noise of the durations.
// Zero stands for the voice's own value, and anything negative for none.
func (v *voice) scales(noise, length, width float32) [3]float32 {
	pick := func(want float32, own *float32, usual float32) float32 {
		switch {
		case want < 0:
			return 0
		case want > 0:
			return want
		case own != nil:
			return *own
		}
		return usual
	}
	in := v.Inference
	s := [3]float32{pick(noise, in.NoiseScale, 0.667), pick(length, in.LengthScale, 1), pick(width, in.NoiseW, 0.8)}
	if s[1] <= 0 {
		s[1] = 1 // Speech without length is no speech.
	}
	return s
}

// speaker returns the number of the speaker of that name or number; "" is the first one.
func (v *voice) speaker(name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	if id, ok := v.SpeakerIDs[name]; ok {
		return id, nil
	}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil && id >= 0 && id < int64(max(1, v.NumSpeakers)) {
		return id, nil
	}
	known := make([]string, 0, len(v.SpeakerIDs))
	for n := range v.SpeakerIDs {
		known = append(known, n)
	}
	slices.Sort(known)
	return 0, fmt.Errorf("%w: it has no speaker %q: choose a number below %d or one of %q", ErrVoice, name, max(1, v.NumSpeakers), known)
}
