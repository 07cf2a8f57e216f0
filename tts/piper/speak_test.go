package piper

import (
	"testing"
	"time"

	"riposte/audio"
	"riposte/native/onnx/onnxtest"
	"riposte/tts"
)

// Voices come at many rates: a pause and the rest of what is counted in time follow.
func TestAnyRate(t *testing.T) {
	for _, rate := range []int{8000, 16000, 22050, 44100, 48000} {
		description := tinyJSON()
		description["audio"] = map[string]any{"sample_rate": rate}
		e := &Engine{Model: writeVoice(t, tiny().Bytes(), description), Runtime: onnxtest.Runtime(t), Log: quiet(), Pause: 100 * time.Millisecond, Speaker: "bob"}
		openEngine(t, e)
		if e.Rate() != rate || e.net.decoder == nil {
			t.Errorf("a voice of %d hertz has %d, in windows: %v", rate, e.Rate(), e.net.decoder != nil)
		}
		pauses := 0
		for _, c := range say(t, e, "It is done. Is there more?", tts.Options{}) {
			if c.Duration(rate) == e.Pause && c.Level() < -90 {
				pauses++
			}
		}
		if pauses != 1 {
			t.Errorf("%d hertz: %d pauses of %v, want 1 of %d samples", rate, pauses, e.Pause, audio.Samples(e.Pause, rate))
		}
	}
}
