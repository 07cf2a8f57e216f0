package piper

import (
	"context"
	"fmt"
	"testing"
	"time"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/native/onnx/onnxtest"
	"riposte/tts"
)

// clauses are what a voice is timed with, by their number of words.
var clauses = []struct {
	words int
	text  string
}{
	{3, "Yes, of course."},
	{6, "I can help you with that."},
	{12, "Your table for four is booked for seven o'clock in the evening."},
	{24, "Your table for four is booked for seven o'clock this evening, and the kitchen knows that one of your guests eats no nuts."},
}

// BenchmarkSpeak reports the time to the first sound and the share of real time that a clause takes.
func BenchmarkSpeak(b *testing.B) {
	for _, threads := range []int{1, 2} {
		e := &Engine{Model: nativetest.File(b, realVoice), Runtime: onnxtest.Runtime(b), Threads: threads, Log: quiet()}
		openEngine(b, e)
		for _, c := range clauses {
			b.Run(fmt.Sprintf("threads=%d/words=%d", threads, c.words), func(b *testing.B) {
				var first, whole, sound time.Duration
				for b.Loop() {
					begin := time.Now()
					samples := 0
					for pcm, err := range e.Speak(context.Background(), c.text, tts.Options{}) {
						if err != nil {
							b.Fatal(err)
						}
						if samples == 0 {
							first += time.Since(begin)
						}
						samples += len(pcm)
					}
					whole += time.Since(begin)
					sound += audio.Duration(samples, e.Rate())
				}
				b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "first-ms")
				b.ReportMetric(whole.Seconds()/sound.Seconds(), "rtf")
			})
		}
	}
}

// BenchmarkOpen reports how long a voice takes to be ready.
func BenchmarkOpen(b *testing.B) {
	rt := onnxtest.Runtime(b)
	for b.Loop() {
		e := &Engine{Model: nativetest.File(b, realVoice), Runtime: rt, Log: quiet()}
		if err := e.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
