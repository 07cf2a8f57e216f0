package live

import (
	"fmt"
	"slices"

	"riposte/scenario"
)

// Needs returns what of a script can only be had with fake engines, line by line; nothing where it can be acted.
func Needs(s scenario.Script) []string {
	var why []string
	need := func(at, what string) { why = append(why, fmt.Sprintf("%s: %s", at, what)) }
	answers := map[string]string{}
	var tools []string
	results := map[string]bool{}
	for _, line := range s.Lines {
		if r, ok := line.Statement.(scenario.Returns); ok {
			results[r.Text] = true
		}
	}
	for _, line := range s.Lines {
		if line.With == scenario.Fake {
			continue
		}
		switch s := line.Statement.(type) {
		case scenario.Takes:
			need(line.At, fmt.Sprintf("real engines take as long as they take, the %s too", s.Engine))
		case scenario.Fails:
			need(line.At, fmt.Sprintf("a real %s does not fail or hang when it is told to", s.Engine))
		case scenario.Recovers:
			need(line.At, fmt.Sprintf("a real %s does not fail and recover when it is told to", s.Engine))
		case scenario.Believes:
			need(line.At, "a real recogniser believes what it hears")
		case scenario.Finds, scenario.ProsodySays:
			need(line.At, "real models find what they find")
		case scenario.VADLags:
			need(line.At, "a real VAD cannot be made slower")
		case scenario.Asked:
			need(line.At, "how often an engine was asked cannot be seen from outside")
		case scenario.Read:
			need(line.At, "what the model read cannot be seen from outside")
		case scenario.Runs:
			need(line.At, "the service runs real tools only")
		case scenario.OpensWith, scenario.WaitsWith:
			need(line.At, "the service says what its settings are")
		case scenario.Stalls, scenario.Breaks:
			need(line.At, "a real line has buffers of its own, which take a while to be full")
		case scenario.SetTools:
			tools = s.Names
		case scenario.LimitTurns:
			need(line.At, "the service has no setting for that")
		case scenario.Answers:
			if old, ok := answers[s.Question]; ok && old != s.Text {
				need(line.At, "a real model is taught its answers before the call, and cannot be taught others in the middle of it")
			}
			answers[s.Question] = s.Text
			if s.Text == "" && len(s.Calls) == 0 {
				need(line.At, "a real model says something")
			}
			for _, c := range s.Calls {
				switch {
				case !slices.Contains(tools, c.Tool):
					need(line.At, "a real model only calls tools that there are")
				case results[s.Question]:
					need(line.At, "a real model that has a result makes something of it")
				}
			}
		}
	}
	return why
}

// Limits are the settings of the service under which a script is acted. Nil leaves the service as it is.
type Limits struct {
	Utterance *scenario.Time
	Guesses   *int
	Steps     *int
}

// Wants returns the limits of a script, and whether it takes the service down.
func Wants(s scenario.Script) (l Limits, down bool) {
	for _, line := range s.Lines {
		if line.With == scenario.Fake {
			continue
		}
		switch s := line.Statement.(type) {
		case scenario.LimitUtterance:
			l.Utterance = &s.To
		case scenario.LimitGuesses:
			l.Guesses = &s.To
		case scenario.LimitSteps:
			l.Steps = &s.To
		case scenario.ShutsDown:
			down = true
		}
	}
	return l, down
}
