package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"riposte/scenario"
)

// usual is what the model answers in scripts that do not say.
const usual = "It is noon."

// lesson is an example of what the model is to answer: even a small model says again what it finds to have said before.
type lesson struct {
	question, answer string
	calls            []scenario.Call
	results          []string // Of the calls, empty for none,
	then             string   // and what is answered to them.
}

// items returns the example as a part of the conversation. n tells its calls from those of others.
func (l lesson) items(n int) []object {
	out := []object{say("user", sentence(l.question))}
	if l.answer != "" {
		out = append(out, say("assistant", l.answer))
	}
	id := func(i int) string { return fmt.Sprintf("taught_%d_%d", n, i) }
	for i, c := range l.calls {
		out = append(out, calls(id(i), c))
	}
	for i, r := range l.results {
		if r != "" {
			out = append(out, result(id(i), r))
		}
	}
	if l.then != "" {
		out = append(out, say("assistant", l.then))
	}
	return out
}

// openers are what the caller seems to have said in examples where nothing may be given away of what will be said.
var openers = []string{"Hello.", "Go on, please."}

// lessons returns the examples for a script: each thing that the caller says with its answer, twice. Where meaning decides when
// turns are over, the model would learn from them where the caller's sentences end; there it is taught by other questions.
func lessons(s scenario.Script) []lesson {
	answer := usual
	var own []lesson
	var asked []string
	results := map[string]string{} // By tool.
	meaning := false
	for _, line := range s.Lines {
		if line.With == scenario.Fake {
			continue
		}
		switch l := line.Statement.(type) {
		case scenario.Answers:
			if l.Question == "" {
				answer = l.Text
			} else {
				own = append(own, lesson{question: l.Question, answer: l.Text, calls: l.Calls})
			}
		case scenario.Says:
			asked = append(asked, plain(l.Speech))
		case scenario.Floods:
			asked = append(asked, plain(l.Speech))
		case scenario.Adds:
			asked = append(asked, l.Text)
		case scenario.Returns:
			results[l.Tool] = l.Text
		case scenario.SetMeaning:
			meaning = true
		}
	}
	if meaning || len(asked) == 0 {
		asked = openers
	}
	var once []lesson
	for _, question := range asked {
		is := func(l lesson) bool { return l.question == question }
		if !slices.ContainsFunc(own, is) && !slices.ContainsFunc(once, is) {
			once = append(once, lesson{question: question, answer: answer})
		}
	}
	once = append(once, followed(own, results)...)
	return slices.Repeat(once, lectures)
}

// lectures is how often each example is given.
const lectures = 3

// followed gives the calls of lessons their results, and these the answers that are lessons of their own: to a result, not to
// what the caller says. A call that gets no result in the script gets none here.
func followed(own []lesson, results map[string]string) (out []lesson) {
	to := map[string]string{}
	for _, l := range own {
		to[l.question] = l.answer
	}
	given := map[string]bool{}
	for i := range own {
		for _, c := range own[i].calls {
			r := results[c.Tool]
			own[i].results = append(own[i].results, r)
			if r != "" {
				own[i].then = cmp.Or(to[r], own[i].then)
				given[r] = true
			}
		}
	}
	for _, l := range own {
		if !given[l.question] {
			out = append(out, l)
		}
	}
	return out
}

// plain returns the words of what is said.
func plain(s scenario.Speech) string {
	var words []string
	for _, u := range s {
		if u.Word != "" {
			words = append(words, u.Word)
		}
	}
	return strings.Join(words, " ")
}

// asking are words with which questions begin.
var asking = []string{"what", "when", "where", "who", "why", "how", "which", "is", "are", "can", "may", "do", "does", "should"}

// sentence writes what is said as recognisers do.
func sentence(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 || strings.ContainsAny(text, ".?![") {
		return text
	}
	end := "."
	if slices.Contains(asking, words[0]) {
		end = "?"
	}
	return strings.ToUpper(text[:1]) + text[1:] + end
}

// partOf reports whether a text is the beginning, and not all, of an answer that was taught.
func partOf(lessons []lesson, text string) bool {
	return slices.ContainsFunc(lessons, func(l lesson) bool { return begins(text, l.answer) || begins(text, l.then) })
}
