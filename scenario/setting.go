package scenario

// These change what the call is to be like: those with which it begins, or those that it has.
type (
	// SetSilence lets so much silence end a turn.
	SetSilence struct {
		statement
		For Time
	}
	// SetMeaning lets what is said, and how, end a turn. Eagerness is low, medium or high.
	SetMeaning struct {
		statement
		Eagerness string
	}
	// SetPadding says how much sound before a turn belongs to it.
	SetPadding struct {
		statement
		For Time
	}
	// SetIdle says after how much silence on both sides the model is to speak up.
	SetIdle struct {
		statement
		After Time
	}
	// SetPushToTalk lets the client say where turns end.
	SetPushToTalk struct{ statement }
	// SetHolds says that the client pauses what it plays while an answer is held.
	SetHolds struct{ statement }
	// SetNoAnswers lets turns be heard and not answered.
	SetNoAnswers struct{ statement }
	// SetNoInterruptions lets answers be said to their end.
	SetNoInterruptions struct{ statement }
	// SetInstructions tells the model how to be.
	SetInstructions struct {
		statement
		Text string
	}
)

// These are limits, with which the call begins.
type (
	// LimitUtterance is how much sound a turn may have.
	LimitUtterance struct {
		statement
		To Time
	}
	// LimitTurns is how many turns may wait for an answer.
	LimitTurns struct {
		statement
		To int
	}
	// LimitGuesses is how many answers may be begun before a turn is decided.
	LimitGuesses struct {
		statement
		To int
	}
)

var settingVerbs = map[string]verb{
	"silence": timed(func(t Time) Statement { return SetSilence{For: t} }),
	"meaning": meaning,
	"idle":    timed(func(t Time) Statement { return SetIdle{After: t} }),
	"padding": timed(func(t Time) Statement { return SetPadding{For: t} }),
	"push": func(p *phrase) Statement {
		p.expects("to", "talk")
		return SetPushToTalk{}
	},
	"holds": plain(SetHolds{}),
	"no": among("thing to do without", map[string]verb{
		"answers":       plain(SetNoAnswers{}),
		"interruptions": plain(SetNoInterruptions{}),
	}),
	"instructions": quoting(func(s string) Statement { return SetInstructions{Text: s} }),
	"tools":        setTools,
	"one":          setOneCall,
	"choice":       func(p *phrase) Statement { return SetChoice{Choice: p.word()} },
}

func meaning(p *phrase) Statement {
	s := SetMeaning{Eagerness: "medium"}
	for _, e := range []string{"low", "medium", "high"} {
		if p.takes(e) {
			s.Eagerness = e
		}
	}
	return s
}

var limitVerbs = map[string]verb{
	"utterance": timed(func(t Time) Statement { return LimitUtterance{To: t} }),
	"turns":     counted(func(n int) Statement { return LimitTurns{To: n} }),
	"guesses":   counted(func(n int) Statement { return LimitGuesses{To: n} }),
	"steps":     counted(func(n int) Statement { return LimitSteps{To: n} }),
}
