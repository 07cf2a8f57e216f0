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
