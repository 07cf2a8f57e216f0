package scenario

// Expect says what has to happen, or must not, after the last thing that the caller did.
type Expect struct {
	statement
	No      bool // It must not.
	Event   Wanted
	After   *Time // Nil for no such limit.
	Within  *Time
	OfOnset bool // The times count from the first sound of what the caller did, not from the last.
}

func expectLine(p *phrase) Statement {
	e := Expect{No: p.takes("no")}
	e.Event = p.wanted()
	for p.err == nil && len(p.tokens) > 0 {
		switch {
		case !e.No && p.takes("after"):
			t := p.duration()
			e.After = &t
		case !e.No && p.takes("within"), e.No && p.takes("for"):
			t := p.duration()
			e.Within = &t
		case p.takes("of"):
			p.expects("onset")
			e.OfOnset = true
		default:
			p.fail("%q says nothing of when", p.tokens[0].text)
		}
	}
	return e
}
