package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClauser(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"one sentence", "Paris is the capital of France.", []string{"Paris is the capital of France."}},
		{"the first ends at a comma", "Of course, I can help you with that. What is your account number?",
			[]string{"Of course, I can help you with that. ", "What is your account number?"}},
		{"the first ends early", "That is a good question, and the answer depends on where you live.",
			[]string{"That is a good question, ", "and the answer depends on where you live."}},
		{"numbers stay whole", "It costs 3,500.75 dollars in total, which is a fair price for it.",
			[]string{"It costs 3,500.75 dollars in total, ", "which is a fair price for it."}},
		{"abbreviations stay whole", "Please ask Dr. Smith or Mr. J. Jones about it. They know everything.",
			[]string{"Please ask Dr. Smith or Mr. J. Jones about it. ", "They know everything."}},
		{"addresses stay whole", "Go to https://example.com/a,b;c?d=1. Then write to me@example.com, please, today.",
			[]string{"Go to https://example.com/a,b;c?d=1. ", "Then write to me@example.com, please, today."}},
		{"without marks the first ends at a space", "this answer has no marks at all and goes on and on without any pause",
			[]string{"this answer has no marks at all and goes on and ", "on without any pause"}},
		{"short sentences go together", "Yes. No. Maybe. I do not know what to say about all of that. Ask me again.",
			[]string{"Yes. No. Maybe. ", "I do not know what to say about all of that. ", "Ask me again."}},
		{"lists", "1. Take the first one.\n2. Take the second one.\n",
			[]string{"1. Take the first one.\n", "2. Take the second one.\n"}},
		{"nothing", "  \n ", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1, 3, len(tt.in)} {
				var c clauser
				var got []string
				for i := 0; i < len(tt.in); i += step {
					got = append(got, c.push(tt.in[i:min(i+step, len(tt.in))])...)
				}
				if r := c.rest(); r != "" {
					got = append(got, r)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("in steps of %d (-want +got):\n%s", step, diff)
				}
			}
		})
	}
}

// However an answer is cut, nothing of it is lost.
func FuzzClauser(f *testing.F) {
	f.Add("Hello there, how are you? I am fine.", 3)
	f.Add("日本語。テスト、です。 Ok. ", 2)
	f.Fuzz(func(t *testing.T, in string, step int) {
		if step < 1 {
			step = 1
		}
		var c clauser
		var got strings.Builder
		for i := 0; i < len(in); i += step {
			for _, piece := range c.push(in[i:min(i+step, len(in))]) {
				if strings.TrimSpace(piece) == "" {
					t.Errorf("a piece without words: %q", piece)
				}
				got.WriteString(piece)
			}
			if step > len(in) {
				break
			}
		}
		got.WriteString(c.rest())
		if strings.TrimSpace(got.String()) != strings.TrimSpace(in) {
			t.Errorf("%q became %q", in, got.String())
		}
	})
}
