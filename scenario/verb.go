package scenario

// verb reads the rest of a line and returns what it says.
type verb = func(*phrase) Statement

// among returns a verb that is one of several, by its next word.
func among(what string, by map[string]verb) verb {
	return func(p *phrase) Statement { return choose(p, what, by) }
}

// plain returns a verb without anything behind it.
func plain(s Statement) verb { return func(*phrase) Statement { return s } }

// timed returns a verb with a time behind it.
func timed(of func(Time) Statement) verb {
	return func(p *phrase) Statement { return of(p.duration()) }
}

// counted returns a verb with a number behind it.
func counted(of func(int) Statement) verb {
	return func(p *phrase) Statement { return of(p.number()) }
}

// quoting returns a verb with a text behind it.
func quoting(of func(string) Statement) verb {
	return func(p *phrase) Statement { return of(p.text()) }
}
