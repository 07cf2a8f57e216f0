package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
)

func TestReadCorpus(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\n" +
		"a.flac\tread;pause\ten\thello there\t0.25\t1.50\n" +
		"b.flac\tnoise\t\t\t\t\n" +
		"c.flac\tread\tes\thola\t0\t1\n")
	clips, err := ReadCorpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(clips) != 3 {
		t.Fatalf("%d clips, want 3", len(clips))
	}
	want := []Clip{{
		File: filepath.Join(dir, "a.flac"), Kinds: []string{"read", "pause"}, Language: "en", Transcript: "hello there",
		SpeechStart: 250 * time.Millisecond, SpeechEnd: 1500 * time.Millisecond,
		Row: filepath.Join(dir, manifestName) + ":2",
	}}
	if diff := cmp.Diff(want, Spoken(clips, "en")); diff != "" {
		t.Errorf("spoken (-want +got):\n%s", diff)
	}

	for _, bad := range []string{"", "file\tkind\n", "file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\na\tb\ten\tx\tsoon\t1\n",
		"file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\na\tb\ten\tx\t0\t-1\n", "file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\na\tb\ten\tx\t0\tNaN\n"} {
		write(bad)
		if _, err := ReadCorpus(dir); err == nil {
			t.Errorf("%q was taken for a corpus", bad)
		}
	}
	if _, err := ReadCorpus(t.TempDir()); !errors.Is(err, ErrCorpus) {
		t.Errorf("an empty folder: %v", err)
	}
}

// A manifest that has a talker speak on when the clip is over is not believed; it may be rounded.
func TestClipEndsBeforeItsSpeech(t *testing.T) {
	c := Clip{File: "a.flac", Row: "manifest.tsv:2", PCM: make(audio.PCM, 16000*8/5), Rate: 16000}
	for end, ok := range map[time.Duration]bool{1500 * time.Millisecond: true, 1650 * time.Millisecond: true, 9550 * time.Millisecond: false} {
		c.SpeechEnd = end
		_, _, err := c.Sound()
		if ok != (err == nil) || !ok && err.Error() != "manifest.tsv:2: speech_end is 9.55 s, and a.flac ends after 1.60 s" {
			t.Errorf("an end at %v: %v", end, err)
		}
	}
}

func TestPercentiles(t *testing.T) {
	var samples []time.Duration
	for i := 100; i >= 1; i-- {
		samples = append(samples, time.Duration(i)*time.Millisecond)
	}
	if got, want := percentiles(samples), (Percentiles{50, 95, 99}); got != want {
		t.Errorf("of 1 to 100: %v, want %v", got, want)
	}
	if got, want := percentiles(samples[:1]), (Percentiles{100, 100, 100}); got != want {
		t.Errorf("of one: %v, want %v", got, want)
	}
	if got := percentiles(nil); got != (Percentiles{}) {
		t.Errorf("of none: %v", got)
	}
}
