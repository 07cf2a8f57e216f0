package scenario

// Call is a call of a tool. Tools of scripts take one argument: what they are about.
type Call struct{ Tool, About string }

// These are about tools.
type (
	// SetTools says which tools the model may call.
	SetTools struct {
		statement
		Names []string
	}
	// SetChoice says whether the model may, must or must not call one: auto, required, none, or the name of the one that it must.
	SetChoice struct {
		statement
		Choice string
	}
	// SetOneCall lets an answer make no more than one call.
	SetOneCall struct{ statement }
	// LimitSteps is how many answers in a row may call tools.
	LimitSteps struct {
		statement
		To int
	}
	// Runs is a tool that the service runs, from here on, and what comes of it: a text, after a time, or nothing at all.
	Runs struct {
		statement
		Tool    string
		Takes   Time
		Text    string
		Outcome string // Empty where that is a result; failed, wrong_arguments or unavailable; or hangs.
	}
	// OpensWith is what is said where an answer would be late.
	OpensWith struct {
		statement
		Text string
	}
	// WaitsWith is what is said while tools take long, after so much silence.
	WaitsWith struct {
		statement
		After Time
		Text  string
	}
	// Returns is the result of the newest call of a tool, which the client adds to the conversation.
	Returns struct {
		statement
		Tool, Text string
	}
)

func setTools(p *phrase) Statement {
	var s SetTools
	for more := true; more && p.err == nil; more = len(p.tokens) > 0 {
		s.Names = append(s.Names, p.word())
	}
	return s
}

func setOneCall(p *phrase) Statement {
	p.expects("call")
	return SetOneCall{}
}

func returns(p *phrase) Statement { return Returns{Tool: p.word(), Text: p.text()} }

// runs reads what the service runs: tool weather 3s says "sunny", fails "no clouds" or hangs.
func runs(p *phrase) Statement {
	s := Runs{Tool: p.word()}
	if p.sees("time") {
		s.Takes = p.duration()
	}
	return choose(p, "thing that a tool does", map[string]verb{
		"says":    func(p *phrase) Statement { s.Text = p.text(); return s },
		"fails":   func(p *phrase) Statement { s.Text, s.Outcome = p.text(), "failed"; return s },
		"refuses": func(p *phrase) Statement { s.Text, s.Outcome = p.text(), "wrong_arguments"; return s },
		"is":      func(p *phrase) Statement { p.expects("gone"); s.Text, s.Outcome = "gone", "unavailable"; return s },
		"hangs":   func(p *phrase) Statement { s.Outcome = "hangs"; return s },
	})
}

func opens(p *phrase) Statement {
	p.expects("with")
	return OpensWith{Text: p.text()}
}

func waitsWith(p *phrase) Statement {
	s := WaitsWith{After: p.duration()}
	p.expects("with")
	s.Text = p.text()
	return s
}

// calling reads what the model calls, if anything.
func (p *phrase) calling() (calls []Call) {
	if !p.takes("calling") {
		return nil
	}
	for more := true; more && p.err == nil; more = len(p.tokens) > 0 {
		calls = append(calls, Call{p.word(), p.text()})
	}
	return calls
}
