package live

import (
	"slices"
	"time"

	"riposte/audio"
)

// rules checks what holds in every call, whatever its script says.
func (p *play) rules() {
	p.ruleOfPace()
	p.ruleOfOrder()
	p.ruleOfHeardText()
	if !p.hungUp && !p.ends {
		p.ruleOfAnswers()
	}
}

// ruleOfPace: the caller's side never has more than the lead in hand, so that an interruption is silent at once.
func (p *play) ruleOfPace() {
	lead := p.Lead
	if lead == 0 {
		lead = 200 * time.Millisecond
	}
	if most := p.line.phone.most; most > lead+p.slack.Jitter {
		p.amiss("the caller's side had %s of sound in hand as more came, want at most %s", ms(most), ms(lead+p.slack.Jitter))
	}
}

// ruleOfOrder: everything of an answer lies between its beginning and its end, answers never overlap, and one that is held
// makes no sound.
func (p *play) ruleOfOrder() {
	var open string
	var held time.Time // Since when the answer is held; zero while it is not.
	for i, t := range p.line.told {
		var of string
		switch t.Type {
		case "response.created":
			if open != "" {
				p.amiss("an answer began in the middle of another")
			}
			open, of = t.Response.ID, t.Response.ID
		case "response.output_audio_transcript.delta", "response.output_text.delta":
			of = t.ResponseID
		case "response.output_audio.delta":
			of = t.ResponseID
			if !held.IsZero() && t.at.Sub(held) > p.slack.Jitter {
				p.amiss("event %d is sound %s after the answer was held", i, ms(t.at.Sub(held)))
				held = time.Time{} // once is enough to know it
			}
		case "response.done":
			of, held = t.Response.ID, time.Time{}
		case "riposte.hold":
			held = t.at
		case "riposte.release", "input_audio_buffer.speech_started":
			held = time.Time{}
		}
		if of != "" && of != open {
			p.amiss("event %d, %s, is outside of its answer", i, t.Type)
		}
		if t.Type == "response.done" {
			open = ""
		}
	}
}

// ruleOfHeardText: what the conversation is said to hold of an answer are the words of what was played of it, as a recogniser
// hears them. A recogniser that finds no words at all in what can be heard says nothing of it.
func (p *play) ruleOfHeardText() {
	if p.Ear == nil || p.hungUp {
		return
	}
	for _, t := range p.line.told {
		if t.Type != "riposte.turn" || t.ResponseID == "" || t.Continued || slices.Contains(p.corrected, t.ResponseID) {
			continue
		}
		pcm, all := p.line.phone.played(t.ResponseID, p.line.endedAt)
		if all || len(pcm) == 0 { // there is nothing to cut
			continue
		}
		if _, _, audible := audio.Audible(pcm, Rate); !audible {
			if t.Answer != "" {
				p.amiss("the conversation holds %q of an answer of which nothing could be heard", t.Answer)
			}
			continue
		}
		heard, err := p.Ear(p.ctx, pcm)
		switch {
		case err != nil:
			p.amiss("listening to what was played: %v", err)
		case heard == "":
		case !sounds(t.Answer, heard):
			p.amiss("the conversation holds %q of an answer of which %q was played", t.Answer, heard)
		}
	}
}

// ruleOfAnswers: every turn that was to be answered ends in sound, or in a reason why not.
func (p *play) ruleOfAnswers() {
	gone, unwanted, answered := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range p.line.told {
		switch t.Type {
		case "conversation.item.deleted":
			gone[t.ItemID] = true
		case "response.done":
			unwanted[t.Response.ID] = t.Response.Details != nil && t.Response.Details.Reason == "client_cancelled"
		case "riposte.turn":
			_, spoken := t.Marks["first_audible"]
			if spoken || len(t.Calls) > 0 || unwanted[t.ResponseID] || t.Verdict == "failed" || t.Answer != "" {
				for _, item := range t.ItemIDs {
					answered[item] = true
				}
			}
		}
	}
	for _, t := range p.line.told {
		if t.Type == "conversation.item.input_audio_transcription.completed" && t.Transcript != "" &&
			!gone[t.ItemID] && !answered[t.ItemID] && !p.unanswered {
			p.amiss("%q was heard and not answered", t.Transcript)
		}
	}
}
