package scenario

// These are what happens to the line, and to the service.
type (
	// Echoes is a microphone that from now on hears what is played, so much later.
	Echoes struct {
		statement
		After Time
	}
	// Stalls is a line that takes nothing from the service for so long.
	Stalls struct {
		statement
		For Time
	}
	// Dies is a line that brings nothing from the caller for so long, not even silence.
	Dies struct {
		statement
		For Time
	}
	// Breaks is a line that takes nothing any more.
	Breaks struct{ statement }
	// Brings is a noise of the room that the VAD does not take for a voice.
	Brings struct {
		statement
		Noise string // Its name, for those who have recordings.
		For   Time
	}
	// ShutsDown is the service's end.
	ShutsDown struct{ statement }
)

var lineVerbs = map[string]verb{
	"echoes": timed(func(t Time) Statement { return Echoes{After: t} }),
	"stalls": timed(func(t Time) Statement { return Stalls{For: t} }),
	"dies":   timed(func(t Time) Statement { return Dies{For: t} }),
	"breaks": plain(Breaks{}),
}

func brings(p *phrase) Statement { return Brings{Noise: p.text(), For: p.duration()} }

func shuts(p *phrase) Statement {
	p.expects("down")
	return ShutsDown{}
}
