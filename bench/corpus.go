// Package bench measures a service from the outside, as a caller would, over recorded speech.
package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"riposte/audio"
)

// Clip is one recording of a corpus.
type Clip struct {
	File        string // Its path.
	Kinds       []string
	Language    string // ISO 639-1; empty for clips without speech.
	Transcript  string // Empty where nobody wrote it down.
	SpeechStart time.Duration
	SpeechEnd   time.Duration // Where the talker falls silent for good; about 0.1 s exact.

	Row  string    // Where a manifest names it, as file:line; empty where none does.
	PCM  audio.PCM // Its sound, where it is in no file,
	Rate int       // and the rate of that in hertz.
}

// manifestName is the file that describes a corpus: tab-separated, with a line of column names.
const manifestName = "manifest.tsv"

// ErrCorpus says that a folder is no corpus.
var ErrCorpus = errors.New("not a corpus of speech")

// ReadCorpus reads what a folder holds: manifest.tsv and the clips that it names. The clips' sound is not read yet.
func ReadCorpus(dir string) ([]Clip, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w (a corpus is a folder with a %s)", ErrCorpus, err, manifestName)
	}
	defer f.Close()

	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		return nil, fmt.Errorf("%s: %w: it is empty", f.Name(), ErrCorpus)
	}
	columns := strings.Split(lines.Text(), "\t")
	for _, want := range []string{"file", "kind", "language", "transcript", "speech_start", "speech_end"} {
		if !slices.Contains(columns, want) {
			return nil, fmt.Errorf("%s: %w: there is no column %q", f.Name(), ErrCorpus, want)
		}
	}
	var clips []Clip
	for n := 2; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		cell := func(column string) string {
			if i := slices.Index(columns, column); i < len(fields) {
				return strings.TrimSpace(fields[i])
			}
			return ""
		}
		c := Clip{
			File: filepath.Join(dir, cell("file")), Kinds: strings.Split(cell("kind"), ";"),
			Language: cell("language"), Transcript: cell("transcript"), Row: fmt.Sprintf("%s:%d", f.Name(), n),
		}
		for column, at := range map[string]*time.Duration{"speech_start": &c.SpeechStart, "speech_end": &c.SpeechEnd} {
			if s := cell(column); s != "" {
				seconds, err := strconv.ParseFloat(s, 64)
				if err == nil && !(seconds >= 0 && seconds < longestClip.Seconds()) {
					err = fmt.Errorf("it is %s: it must be seconds from 0 to %.0f", s, longestClip.Seconds())
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", c.Row, column, err)
				}
				*at = time.Duration(seconds * float64(time.Second))
			}
		}
		clips = append(clips, c)
	}
	return clips, lines.Err()
}

// Spoken returns the clips in a language that have a transcript.
func Spoken(clips []Clip, language string) []Clip {
	return slices.DeleteFunc(slices.Clone(clips), func(c Clip) bool { return c.Language != language || c.Transcript == "" })
}

// longestClip is how far into a clip a manifest may point.
const longestClip = 24 * time.Hour

// inexact is how far behind the end of its clip a manifest's speech_end may lie: it is rounded.
const inexact = 100 * time.Millisecond

// Sound returns the clip up to where the talker falls silent, so that what follows is the bench's own silence.
func (c Clip) Sound() (pcm audio.PCM, rate int, err error) {
	if pcm, rate = c.PCM, c.Rate; pcm == nil {
		pcm, rate, err = audio.ReadFile(c.File)
	}
	if err != nil || c.SpeechEnd == 0 {
		return pcm, rate, err
	}
	if long := pcm.Duration(rate); c.SpeechEnd > long+inexact {
		return nil, 0, fmt.Errorf("%s: speech_end is %.2f s, and %s ends after %.2f s", c.Row, c.SpeechEnd.Seconds(), c.File, long.Seconds())
	}
	return pcm[:min(len(pcm), audio.Samples(c.SpeechEnd, rate))], rate, nil
}

// room returns all of the clip at audio.SpeechRate, with its own room behind the last word, and then silence enough for
// anybody to be sure that nothing follows.
func (c Clip) room() (audio.PCM, error) {
	pcm, rate, err := audio.ReadFile(c.File)
	if err != nil {
		return nil, err
	}
	if pcm, err = audio.Resample(pcm, rate, audio.SpeechRate); err != nil {
		return nil, err
	}
	return append(pcm, make(audio.PCM, 3*audio.SpeechRate)...), nil
}
