package scenario

// Engine is one of the engines of a call.
type Engine string

// The engines that a script can speak of.
const (
	STT   Engine = "stt"
	Model Engine = "model"
	Voice Engine = "voice"
)

// These are what the engines do from there on.
type (
	// Takes says how long an engine takes to its result, or to the first part of it. Next is how much sound makes a hypothesis,
	// how long the model takes to each other word, and how long the voice speaks a letter; 0 leaves that as it is.
	Takes struct {
		statement
		Engine      Engine
		First, Next Time
	}
	// Fails is an engine that fails or hangs, after so many words of the model or clauses of the voice.
	Fails struct {
		statement
		Engine Engine
		Hangs  bool
		After  int
	}
	// Recovers is an engine that works again.
	Recovers struct {
		statement
		Engine Engine
	}
	// Believes is what all hypotheses say, whatever was said.
	Believes struct {
		statement
		Text string
	}
	// Answers is what the model answers: always, or where the last message has the words of the question.
	Answers struct {
		statement
		Question string // Empty for all others.
		Text     string
		Calls    []Call // What it calls then.
	}
	// Finds is how likely the model finds it that the caller has finished; 0 says nothing.
	Finds struct {
		statement
		Percent int
	}
	// ProsodySays is how likely it is by the sound of the caller's voice; 0 says nothing.
	ProsodySays struct {
		statement
		Percent int
	}
	// PlacesWords is a voice that tells where in its sound each word lies.
	PlacesWords struct{ statement }
	// VADLags is how long a voice has to sound before it is taken for one.
	VADLags struct {
		statement
		For Time
	}
)

// engine returns the verbs of an engine: how long it takes, how it fails, and those of its own.
func engine(e Engine, own map[string]verb) verb {
	fails := func(hangs bool) verb {
		return func(p *phrase) Statement {
			f := Fails{Engine: e, Hangs: hangs}
			if e != STT && p.takes("after") {
				f.After = p.number()
			}
			return f
		}
	}
	verbs := map[string]verb{"fails": fails(false), "hangs": fails(true), "recovers": plain(Recovers{Engine: e})}
	for w, v := range own {
		verbs[w] = v
	}
	return func(p *phrase) Statement {
		if !p.sees("time") {
			return choose(p, "thing that the "+string(e)+" does", verbs)
		}
		t := Takes{Engine: e, First: p.duration()}
		switch {
		case e == STT && p.takes("every"), e != STT && p.sees("time"):
			t.Next = p.duration()
		}
		return t
	}
}

var sttVerbs = map[string]verb{
	"believes": quoting(func(s string) Statement { return Believes{Text: s} }),
}

var modelVerbs = map[string]verb{
	"says":  func(p *phrase) Statement { return Answers{Text: p.text(), Calls: p.calling()} },
	"finds": counted(func(n int) Statement { return Finds{Percent: n} }),
	"answers": func(p *phrase) Statement {
		a := Answers{Question: p.text()}
		if !p.sees("calling") {
			p.expects("with")
			a.Text = p.text()
		}
		a.Calls = p.calling()
		return a
	},
}

var voiceVerbs = map[string]verb{
	"places": func(p *phrase) Statement {
		p.expects("words")
		return PlacesWords{}
	},
}
