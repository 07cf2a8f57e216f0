package llm

import (
	"math"
	"strings"
	"testing"
)

func TestSamplingCheck(t *testing.T) {
	nan := float32(math.NaN())
	for _, s := range []Sampling{
		{},
		{Temperature: 0.8, TopP: 0.95, TopK: 40, MinP: 0.05, RepeatPenalty: 1.1, PresencePenalty: -2, FrequencyPenalty: 2, Seed: 1},
		{Temperature: 5, TopP: 1, MinP: 1, RepeatPenalty: 10},
	} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for says, s := range map[string]Sampling{
		"temperature is -1":     {Temperature: -1},
		"temperature is NaN":    {Temperature: nan},
		"top_p is 1.5":          {TopP: 1.5},
		"top_k is -1":           {TopK: -1},
		"min_p is 2":            {MinP: 2},
		"repeat_penalty is -1":  {RepeatPenalty: -1},
		"presence_penalty is 3": {PresencePenalty: 3},
		"frequency_penalty is -3: it can be from -2 to 2": {FrequencyPenalty: -3},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, should say %q", err, says)
		}
	}
}
