package realtime

import (
	"errors"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// conversation is the name of the call's one conversation.
func (c *call) conversation() string { return "conv" + c.ID()[len("sess"):] }

// response writes the response object. One beside the conversation belongs to none.
func (c *call) response(r transport.Response, status string, output []item) fields {
	s := c.current()
	conversation, sound := c.conversation(), s.Audio.Output.Format
	if r.Aside {
		conversation = ""
	}
	if r.Encoding != "" {
		sound = formatOf(r.Encoding)
	}
	modalities := []string{"audio"}
	if r.Written {
		modalities = []string{"text"}
	}
	if output == nil {
		output = []item{}
	}
	return fields{
		"object": "realtime.response", "id": r.ID, "status": status, "status_details": nil, "output": output,
		"conversation_id": orNull(conversation), "output_modalities": modalities, "max_output_tokens": s.MaxOutputTokens,
		"audio": fields{"output": fields{"format": sound, "voice": s.Audio.Output.Voice}},
		"usage": nil, "metadata": r.Metadata,
	}
}

// details says why an answer ended as it did.
func details(out transport.ResponseDone) any {
	switch out.Status {
	case transport.Completed:
		return nil
	case transport.Failed:
		return fields{"type": "failed", "error": failure(out.Err)}
	}
	reason := out.Reason
	if reason == "shutdown" || reason == "hung_up" {
		reason = "client_cancelled" // the protocol has no other name for what the caller did not talk over
	}
	return fields{"type": out.Status, "reason": reason}
}

// failure says what was wrong, where the client can mend it; the rest is in the service's log.
func failure(err error) fields {
	switch {
	case errors.Is(err, llm.ErrTooLong):
		return fields{"type": "invalid_request_error", "code": "context_length_exceeded", "message": err.Error()}
	case errors.Is(err, llm.ErrBusy):
		return fields{"type": "server_error", "code": "server_busy", "message": err.Error()}
	}
	return fields{"type": "server_error", "code": "answer_failed", "message": "The answer could not be made or spoken."}
}

// usage counts tokens. All of ours are of text: sound is recognised and spoken without any.
func usage(u llm.Usage) fields {
	return fields{
		"total_tokens": u.Prompt + u.Output, "input_tokens": u.Prompt, "output_tokens": u.Output,
		"input_token_details": fields{
			"text_tokens": u.Prompt, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": u.Cached,
			"cached_tokens_details": fields{"text_tokens": u.Cached, "audio_tokens": 0, "image_tokens": 0},
		},
		"output_token_details": fields{"text_tokens": u.Output, "audio_tokens": 0},
	}
}

// textEvent is what the words of an answer are called.
func textEvent(r transport.Response) string {
	if r.Written {
		return "response.output_text"
	}
	return "response.output_audio_transcript"
}

// answerItem writes an answer as an item; text is nil while it is not known.
func answerItem(r transport.Response, status string, text *string) item {
	it := item{ID: r.Item, Object: "realtime.item", Type: "message", Status: status, Role: string(llm.Assistant), Content: []content{}}
	if text == nil {
		return it
	}
	if r.Written {
		it.Content = append(it.Content, content{Type: "output_text", Text: *text})
	} else {
		it.Content = append(it.Content, content{Type: "output_audio", Transcript: text})
	}
	return it
}

// writtenItem writes an item that is complete as it stands: a message in writing, a call, or the result of one.
func writtenItem(m transport.Item) item {
	switch {
	case m.Call != nil && m.Role == llm.ToolRole:
		return item{ID: m.ID, Object: "realtime.item", Type: "function_call_output", Status: "completed", CallID: m.Call.ID, Output: &m.Text}
	case m.Call != nil && m.Server != "":
		return serverCall(m)
	case m.Call != nil:
		arguments := string(m.Call.Arguments)
		return item{
			ID: m.ID, Object: "realtime.item", Type: "function_call", Status: "completed", CallID: m.Call.ID, Name: m.Call.Name, Arguments: &arguments,
		}
	}
	kind := "input_text"
	if m.Role == llm.Assistant {
		kind = "output_text"
	}
	return item{
		ID: m.ID, Object: "realtime.item", Type: "message", Status: "completed", Role: string(m.Role),
		Content: []content{{Type: kind, Text: m.Text}},
	}
}

// retrieved writes an item as it is now.
func (c *call) retrieved(out transport.Found) item {
	it := writtenItem(out.Item)
	if !out.Aloud && !out.Open {
		return it
	}
	spoken := content{Type: inputAudio}
	if it.Role == string(llm.Assistant) {
		spoken.Type = "output_audio"
	}
	if out.Item.Text != "" && (it.Role != string(llm.User) || c.current().Audio.Input.Transcription != nil) {
		spoken.Transcript = &out.Item.Text
	}
	it.Content = []content{spoken}
	switch {
	case out.Open:
		it.Status = "in_progress"
	case out.Cut:
		it.Status = "incomplete"
	}
	return it
}

// report writes what a turn took. It is our own event: only clients that include it are sent it.
func report(out transport.TurnReport) fields {
	stages := fields{}
	for _, s := range budget.Stages {
		if d, ok := out.Report.Stages[s]; ok {
			stages[string(s)] = ms(d)
		}
	}
	marks := fields{}
	for m, d := range out.Report.Marks {
		marks[string(m)] = ms(d)
	}
	shares := fields{}
	for _, s := range budget.Stages {
		shares[string(s)] = ms(out.Report.Plan.Share(s))
	}
	actions := make([]fields, 0, len(out.Report.Actions))
	for _, a := range out.Report.Actions {
		actions = append(actions, fields{"stage": a.Stage, "kind": a.Kind, "at_ms": ms(a.At)})
	}
	return fields{
		"response_id": out.Response, "item_ids": append([]string{}, out.Items...), "transcript": out.Transcript, "answer": out.Answer,
		"calls":     append([]string{}, out.Calls...),
		"continued": out.Continued, "guesses": fields{"tries": out.Guesses.Tries, "stood": out.Guesses.Stood, "wasted_tokens": out.Guesses.Wasted},
		"verdict": out.Report.Verdict, "blame": out.Report.Blame, "actions": actions,
		"stages_ms": stages, "total_ms": ms(out.Report.Total), "marks_ms": marks, "shares_ms": shares,
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
