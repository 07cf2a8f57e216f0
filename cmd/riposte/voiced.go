package main

import (
	"context"
	"slices"
	"time"

	"riposte/audio"
	"riposte/audio/silero"
	"riposte/native/onnx"
)

// voiceFinder finds where the talker in a recording falls silent: with Silero where it is here, as the service does, else
// by level alone, which takes a noisy room for a voice.
type voiceFinder struct{ vad *silero.Engine }

// voiceFinder opens one.
func (s *settings) voiceFinder() voiceFinder {
	store, err := s.store()
	if err != nil {
		return voiceFinder{}
	}
	library, err := store.ONNXRuntime()
	if err != nil {
		return voiceFinder{}
	}
	model, err := modelFile(store, s.VAD.Model)
	if err != nil {
		return voiceFinder{}
	}
	runtime, err := onnx.Start(library)
	if err != nil {
		return voiceFinder{}
	}
	vad := &silero.Engine{Model: model, Runtime: runtime}
	if err := vad.Open(context.Background()); err != nil {
		return voiceFinder{}
	}
	return voiceFinder{vad}
}

func (f voiceFinder) close() {
	if f.vad != nil {
		f.vad.Close()
	}
}

// voiced returns the first sample of the first voiced frame and the index after the last one, or false when there is no voice or no Silero.
func (f voiceFinder) voiced(pcm audio.PCM, rate int) (from, to int, ok bool) {
	if f.vad == nil {
		return 0, 0, false
	}
	before := audio.Samples(500*time.Millisecond, rate) // of silence, as in a call: what comes before a voice is part of its sound
	from, to, err := f.speech(append(make(audio.PCM, before), pcm...), rate)
	return max(0, from-before), max(0, to-before), err == nil && to > before
}

// lastVoiced returns the index after the last voiced sample, or 0 when there is no voice.
func (f voiceFinder) lastVoiced(pcm audio.PCM, rate int) int {
	if f.vad != nil {
		if _, n, err := f.speech(pcm, rate); err == nil && n > 0 {
			return n
		}
	}
	return audio.LastVoiced(pcm, rate)
}

// speech asks Silero.
func (f voiceFinder) speech(pcm audio.PCM, rate int) (from, to int, err error) {
	vad, err := f.vad.New()
	if err != nil {
		return 0, 0, err
	}
	defer vad.Close()
	speech, err := audio.Resample(pcm, rate, audio.SpeechRate)
	if err != nil {
		return 0, 0, err
	}
	var ends audio.Endpointer
	begun := false
	for frame := range slices.Chunk(append(speech, make(audio.PCM, audio.VADFrame)...), audio.VADFrame) {
		if len(frame) < audio.VADFrame {
			break
		}
		p, err := vad.Speech(frame)
		if err != nil {
			return 0, 0, err
		}
		ends.Step(p, frame)
		if ends.Voiced() && !begun {
			begun, from = true, int(ends.Position()-audio.VADFrame)*rate/audio.SpeechRate
		}
	}
	return from, min(len(pcm), int(ends.LastVoiced())*rate/audio.SpeechRate), nil
}
