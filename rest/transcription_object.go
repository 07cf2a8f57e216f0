package rest

import (
	"bytes"
	"compress/zlib"
	"math"
	"time"
)

// verboseObject is a transcript with times.
type verboseObject struct {
	Task     string          `json:"task"`
	Language string          `json:"language"`
	Duration float64         `json:"duration"`
	Text     string          `json:"text"`
	Segments []segmentObject `json:"segments,omitempty"`
	Words    []wordObject    `json:"words,omitempty"`
	Usage    any             `json:"usage"`
}

type segmentObject struct {
	ID          int     `json:"id"`
	Seek        int     `json:"seek"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Text        string  `json:"text"`
	Tokens      []int   `json:"tokens"`
	Temperature float64 `json:"temperature"`
	LogProb     float64 `json:"avg_logprob"`
	Compression float64 `json:"compression_ratio"`
	NoSpeech    float64 `json:"no_speech_prob"`
}

type wordObject struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// verbose says everything, of segments and words what is asked for.
func (t *transcript) verbose(parts map[string]bool) verboseObject {
	o := verboseObject{Task: t.task, Language: languageName(t.language), Duration: seconds(t.length), Text: t.text(), Usage: t.usage()}
	for i, s := range t.segments {
		if parts["segment"] {
			tokens := s.Tokens
			if tokens == nil {
				tokens = []int{}
			}
			o.Segments = append(o.Segments, segmentObject{
				ID: i, Seek: int(s.From.Milliseconds() / 10), Start: seconds(s.From), End: seconds(s.To), Text: s.Text, Tokens: tokens,
				LogProb: float64(s.LogProb), Compression: compression(s.Text), NoSpeech: float64(s.NoSpeech),
			})
		}
		for _, w := range s.Words {
			o.Words = append(o.Words, wordObject{Word: w.Text, Start: seconds(w.From), End: seconds(w.To)})
		}
	}
	return o
}

// seconds writes a time to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// compression is how much shorter a text becomes: one that goes in circles becomes much shorter.
func compression(text string) float64 {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a buffer takes everything
	_ = z.Close()
	return float64(len(text)) / float64(b.Len())
}
