package live

import (
	"cmp"
	"strings"

	"riposte/scenario"
)

// settings are what the call is to be like.
type settings struct {
	detection    *detection // Nil: the client says where turns end.
	holds        bool
	instructions string // Empty leaves the service's own.
	tools        []string
	choice       string // Of a tool; empty is auto.
	oneCall      bool
}

// detection says how the service finds that the caller speaks.
type detection struct {
	silence   scenario.Time // How much ends a turn; 0 goes by what was said.
	eagerness string
	padding   scenario.Time
	idle      scenario.Time // Silence on both sides after which the model speaks up; 0 leaves that to the service.
	answers   bool
	yields    bool // Answers can be interrupted.
}

// newSettings returns those with which a call begins if its script says nothing of them. A script that speaks of an answer being
// held is acted by a client that pauses meanwhile, since only those are told of it.
func newSettings(s scenario.Script) settings {
	out := settings{detection: usualDetection()}
	for _, line := range s.Lines {
		var w scenario.Wanted
		switch s := line.Statement.(type) {
		case scenario.Expect:
			w = s.Event
		case scenario.WaitsFor:
			w = s.Event
		case scenario.Happened:
			w = s.Event
		}
		if line.With != scenario.Fake && (w.Name == "held" || w.Name == "released") {
			out.holds = true
		}
	}
	return out
}

func usualDetection() *detection {
	return &detection{silence: 300e6, padding: 300e6, answers: true, yields: true}
}

// change changes settings as a line says. It reports whether the line does so.
func (s *settings) change(by scenario.Statement) bool {
	d := usualDetection()
	if s.detection != nil {
		*d = *s.detection
	}
	switch by := by.(type) {
	case scenario.SetSilence:
		d.silence = by.For
	case scenario.SetMeaning:
		d.silence, d.eagerness = 0, by.Eagerness
	case scenario.SetPadding:
		d.padding = by.For
	case scenario.SetIdle:
		d.idle = by.After
	case scenario.SetNoAnswers:
		d.answers = false
	case scenario.SetNoInterruptions:
		d.yields = false
	case scenario.SetPushToTalk:
		d = nil
	case scenario.SetTools:
		s.tools = by.Names
		return true
	case scenario.SetChoice:
		s.choice = by.Choice
		return true
	case scenario.SetOneCall:
		s.oneCall = true
		return true
	case scenario.SetHolds:
		s.holds = true
		return true
	case scenario.SetInstructions:
		s.instructions = by.Text
		return true
	default:
		return false
	}
	s.detection = d
	return true
}

// update asks the service for them.
func (s settings) update() object {
	include := []string{"riposte.turn", "riposte.hypothesis"}
	if s.holds {
		include = append(include, "riposte.hold")
	}
	var turns object
	if d := s.detection; d != nil {
		turns = object{
			"threshold": 0.5, "prefix_padding_ms": d.padding.Milliseconds(), "create_response": d.answers, "interrupt_response": d.yields,
		}
		if d.silence > 0 {
			turns["type"], turns["silence_duration_ms"] = "server_vad", d.silence.Milliseconds()
			if d.idle > 0 {
				turns["idle_timeout_ms"] = d.idle.Milliseconds()
			}
		} else {
			turns["type"], turns["eagerness"] = "semantic_vad", strings.ToLower(d.eagerness)
		}
	}
	session := object{"type": "realtime", "include": include, "audio": object{"input": object{"turn_detection": turns}}}
	if len(s.tools) > 0 {
		session["tools"], session["tool_choice"], session["parallel_tool_calls"] = offered(s.tools), choice(cmp.Or(s.choice, "auto")), !s.oneCall
	}
	if s.instructions != "" {
		session["instructions"] = s.instructions
	}
	return object{"type": "session.update", "session": session}
}
