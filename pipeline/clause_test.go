package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// cutUp returns the pieces of an answer that comes in tokens.
func cutUp(tokens ...string) []string {
	var c clauser
	var got []string
	for _, token := range tokens {
		got = append(got, c.push(token)...)
	}
	if r := c.rest(); r != "" {
		got = append(got, r)
	}
	return got
}

func TestClauser(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string // Nil for the whole in one piece.
	}{
		{"one sentence", "Paris is the capital of France.", nil},
		{"the first word is enough", "Sure! I can help you with that. What is your account number?",
			[]string{"Sure! ", "I can help you with that. ", "What is your account number?"}},
		{"the first ends at a comma", "Of course, I can help you with that. What is your account number?",
			[]string{"Of course, ", "I can help you with that. ", "What is your account number?"}},
		{"not after half a word's worth", "So, that is a good question, and it depends on where you live.",
			[]string{"So, that is a good question, ", "and it depends on where you live."}},
		{"later ones grow", "Well, it is a long story, which began, as they say, on a cold day, in a small town, far from here, long ago. It ended well, though.",
			[]string{"Well, ", "it is a long story, which began, ", "as they say, on a cold day, in a small town, far from here, long ago. ", "It ended well, though."}},
		{"short sentences go together", "Yes. No. Maybe. I do not know what to say about all of that. Ask me again.",
			[]string{"Yes. ", "No. Maybe. I do not know what to say about all of that. ", "Ask me again."}},
		{"without marks the first ends at a space", "this answer has no marks at all and goes for ever on without any pause",
			[]string{"this answer has no marks at all and goes ", "for ever on without any pause"}},
		{"but not behind a word that leans on the next", "these answers have no marks at all and in the end of the day go on without any pause",
			[]string{"these answers have no marks at all and in the end ", "of the day go on without any pause"}},
		{"nor beside a number", "this answer has no marks at all and is 100 km long so it goes on",
			[]string{"this answer has no marks at all and is 100 km ", "long so it goes on"}},
		{"lists", "1. Take the first one.\n2. Take the second one.\n", []string{"1. Take the first one.\n", "2. Take the second one.\n"}},
		{"a list behind a colon", "They are: 1. the first one, 2. the second.", []string{"They are: ", "1. the first one, 2. the second."}},
		{"a script without spaces", "好的。我可以帮你。请问你的账号是多少？", []string{"好的。", "我可以帮你。请问你的账号是多少？"}},
		{"its quotes", "他说「好的，没问题。」然后走了。他们去。", []string{"他说「好的，", "没问题。」然后走了。他们去。"}},
		{"a line of dots", "Hm... let me see.", []string{"Hm... ", "let me see."}},
		{"counting", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
			[]string{"1, 2, ", "3, 4, 5, 6, 7, 8, 9, 10, ", "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, ", "27, 28, 29, 30"}},
		{"numbers without marks", strings.Repeat("1 ", 60), []string{strings.Repeat("1 ", 41), strings.Repeat("1 ", 19)}},
		{"nothing", "  \n ", []string{}},

		// What stays whole.
		{"decimals", "3.5 is it", nil},
		{"thousands", "1,000 people", nil},
		{"thousands apart", "The total is about one of many 1 000 000 people", nil},
		{"a time", "12:30 it is", nil},
		{"a date", "July 4, 1999", nil},
		{"a date with an ordinal", "March 5th, 2024", nil},
		{"a range", "10 – 15 minutes", nil},
		{"money", "It costs 3,500.75 dollars in total, which is fair.", []string{"It costs 3,500.75 dollars in total, ", "which is fair."}},
		{"a title", "Dr. Smith", nil},
		{"titles and initials", "Please ask Dr. Smith or Mr. J. Jones about it. They know everything.",
			[]string{"Please ask Dr. Smith or Mr. J. Jones about it. ", "They know everything."}},
		{"for example", "Fruit e.g. this", nil},
		{"a country", "The U.S. Army", nil},
		{"a degree", "A Ph.D. in law", nil},
		{"a number", "Take no. 5 there", nil},
		{"no number", "I said no. But you did it.", []string{"I said no. ", "But you did it."}},
		{"a day", "On Sat. 5 it is", nil},
		{"a day as a word", "There we sat. But you left.", []string{"There we sat. ", "But you left."}},
		{"in the afternoon", "At 3 p.m. we go", nil},
		{"a new sentence in the afternoon", "It is 3 p.m. We go now.", []string{"It is 3 p.m. ", "We go now."}},
		{"and so on", "Cats, dogs, etc. are fine", []string{"Cats, ", "dogs, etc. are fine"}},
		{"addresses", "See www.example.com/a,b or mail a.b@c.de now", []string{"See www.example.com/a,b or mail a.b@c.de ", "now"}},
		{"addresses between marks", "Go to https://example.com/a,b;c?d=1. Then write to me@example.com, please, today.",
			[]string{"Go to https://example.com/a,b;c?d=1. ", "Then write to me@example.com, ", "please, today."}},
		{"bold", "**bold, text** is here", nil},
		{"bold that ends with a mark", "**Yes, of course!** I can do that.", []string{"**Yes, of course!** ", "I can do that."}},
		{"italic in bold", "**so *very, very* bold, you know** it is", nil},
		{"italic", "*look, here* it is", nil},
		{"stars that are no marks", "Well 2 * 3, and 4 * 5, are it", []string{"Well 2 * 3, ", "and 4 * 5, are it"}},
		{"about", "It is ~20 minutes, I say", []string{"It is ~20 minutes, ", "I say"}},
		{"code", "`a, b; c` is code", nil},
		{"a link", "[a link, here](http://x.y/z) is it", nil},
		{"a link with a title", "See [it](http://x.y/z \"so, there\") here", nil},
		{"a footnote", "See that [1], and more", []string{"See that [1], ", "and more"}},
		{"names with underscores", "Use some_name, and other_name, there", []string{"Use some_name, ", "and other_name, there"}},
		{"a mark that never ends", "**Look, " + strings.Repeat("it goes on, ", 14) + "and on.",
			[]string{"**Look, " + strings.Repeat("it goes on, ", 13), "it goes on, and on."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == nil {
				want = []string{tt.in}
			}
			if diff := cmp.Diff(want, cutUp(strings.Split(tt.in, "")...), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("letter by letter (-want +got):\n%s", diff)
			}
			for i := range len(tt.in) + 1 {
				if got := cutUp(tt.in[:i], tt.in[i:]); !slices.Equal(got, want) {
					t.Fatalf("in two at %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestEndMark(t *testing.T) {
	for in, want := range map[string][2]bool{
		"Yes.": {true, true}, "Yes,": {false, true}, "Yes": {}, "Yes!**": {true, true}, `"Yes."`: {true, true}, "Dr.": {}, "at 3 p.m.": {}, "": {},
		"no.": {true, true}, "对。": {true, true}, "1.": {}, "so –": {false, true}, "`x`.": {true, true},
	} {
		if sentence, mark := endMark(in); sentence != want[0] || mark != want[1] {
			t.Errorf("%q: %v, %v, want %v", in, sentence, mark, want)
		}
	}
}

// However an answer comes, its pieces are the same, and nothing of it is lost.
func FuzzClauser(f *testing.F) {
	for _, in := range []string{
		"Hello there, how are you? I am fine.", "日本語。テスト、です。 Ok. ", "**bold, text** and `code. x` and [a, b](c d), so.", "At 3 p.m. on July 4, 1999, Dr. Who (no. 5) said \"Hi.\"\n- so\n",
	} {
		f.Add(in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, step int) {
		if len(in) > 4000 {
			t.Skip("longer than answers are")
		}
		step = min(max(step, 1), max(len(in), 1))
		var tokens []string
		for i := 0; i < len(in); i += step {
			tokens = append(tokens, in[i:min(i+step, len(in))])
		}
		got := cutUp(tokens...)
		for _, piece := range got {
			if strings.TrimSpace(piece) == "" {
				t.Errorf("a piece without words: %q", piece)
			}
		}
		if joined := strings.Join(got, ""); strings.TrimSpace(joined) != strings.TrimSpace(in) || !strings.HasPrefix(in, joined) {
			t.Errorf("%q became %q", in, joined)
		}
		if whole := cutUp(in); !slices.Equal(whole, got) {
			t.Errorf("in steps of %d %q became %q, at once %q", step, in, got, whole)
		}
	})
}
