package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"riposte/llm"
	"riposte/transport"
)

// maxInput is how many items may be brought to be answered.
const maxInput = 256

// request reads the wish for an answer.
func (c *call) request(e *responseCreate, id string) (transport.Inbound, error) {
	s := c.current()
	s.tooled = c.defaults.Tooled
	if s.Type == listens {
		return nil, invalid("type", "invalid_value", "This session only transcribes: nothing is answered. Connect without ?intent=transcription to be answered.")
	}
	out, err := e.request(id, s, c.server.Voice)
	if err != nil {
		return nil, err
	}
	if out.Aside && c.tracks != nil {
		written := len(s.Modalities) == 1 && s.Modalities[0] == "text"
		if out.Written != nil {
			written = *out.Written
		}
		if !written {
			return nil, invalid("response.output_modalities", "invalid_value",
				"The one track of sound is the conversation's: an answer beside it is given in writing. Ask for output_modalities [\"text\"].")
		}
	}
	if c.tracks != nil {
		out.Rate, out.Encoding = 0, ""
	}
	return out, nil
}

// request reads the wish for an answer, in a session.
func (e *responseCreate) request(id string, s session, voice string) (transport.Respond, error) {
	out := transport.Respond{Ref: id}
	p := e.Response
	if p == nil {
		return out, nil
	}
	if err := p.validate(voice); err != nil {
		return out, err
	}
	out.Aside = p.Conversation == "none"
	if p.Modalities != nil {
		written := p.Modalities[0] == "text"
		out.Written = &written
	}
	if p.MaxOutputTokens != nil {
		out.MaxTokens = int(*p.MaxOutputTokens)
	}
	if f := p.Audio.Output.Format; f != nil {
		out.Rate, out.Encoding = f.Rate, f.Type
	}
	if err := p.offer(&out, s); err != nil {
		return out, err
	}
	if p.Input != nil {
		out.Input = make([]transport.Item, 0, len(*p.Input))
	}
	for i, it := range p.items() {
		read, err := inputItem(it)
		if wrong, ok := errors.AsType[*wireError](err); ok {
			wrong.param = fmt.Sprintf("response.input[%d]%s", i, strings.TrimPrefix(wrong.param, "item"))
		}
		if err != nil {
			return out, err
		}
		out.Input = append(out.Input, read)
	}
	out.Instructions, out.Metadata, out.OneCall = p.Instructions, p.Metadata, nil
	if p.ParallelCalls != nil {
		one := !*p.ParallelCalls
		out.OneCall = &one
	}
	return out, nil
}

func (p *responseParams) items() []item {
	if p.Input == nil {
		return nil
	}
	return *p.Input
}

// inputItem reads one thing to be answered: an item of its own, or with its ID one of the conversation's.
func inputItem(it item) (transport.Item, error) {
	if it.Type == "item_reference" {
		if it.ID == "" {
			return transport.Item{}, invalid("item.id", "missing_required_parameter", "An item_reference has to have the id of an item of the conversation.")
		}
		return transport.Item{ID: short(it.ID, maxID)}, nil
	}
	return (&itemCreate{Item: it}).read()
}

// validate says what cannot be had for one answer.
func (p *responseParams) validate(voice string) error {
	if c := p.Conversation; c != "" && c != "auto" && c != "none" {
		return invalid("response.conversation", "invalid_value", "response.conversation is %.64q; it must be \"auto\", or \"none\" for an answer beside the conversation.", c)
	}
	if p.Modalities != nil {
		if err := validModalities("response.output_modalities", p.Modalities); err != nil {
			return err
		}
	}
	if p.Instructions != nil {
		if err := validInstructions("response.instructions", *p.Instructions); err != nil {
			return err
		}
	}
	if len(p.Metadata) > 16 {
		return invalid("response.metadata", "invalid_value", "response.metadata has %d pairs; it may have 16.", len(p.Metadata))
	}
	for k, v := range p.Metadata {
		if len(k) > 64 || len(v) > 512 {
			return invalid("response.metadata", "invalid_value", "A key of response.metadata may have 64 characters and a value 512.")
		}
	}
	if t := p.MaxOutputTokens; t != nil && *t > maxTokens {
		return invalid("response.max_output_tokens", "invalid_value", "max_output_tokens is %d; it must be 1 to %d or \"inf\".", *t, maxTokens)
	}
	if f := p.Audio.Output.Format; f != nil {
		if err := f.validate("response.audio.output.format"); err != nil {
			return err
		}
	}
	if v := p.Audio.Output.Voice; v != nil {
		if err := validVoice("response.audio.output.voice", string(*v), voice); err != nil {
			return err
		}
	}
	if len(p.items()) > maxInput {
		return invalid("response.input", "invalid_value", "response.input has %d items; it may have %d.", len(p.items()), maxInput)
	}
	if !isNull(p.Prompt) {
		return invalid("response.prompt", "invalid_value", "This service keeps no prompts: put the text into response.instructions.")
	}
	return validReasoning("response.reasoning", p.Reasoning)
}

// offer reads the tools of one answer, and the choice of one, over the session's.
func (p *responseParams) offer(out *transport.Respond, s session) error {
	if p.Tools == nil && p.ToolChoice == nil {
		return nil
	}
	if p.Tools != nil {
		s.Tools, out.Tools = p.Tools, p.Tools.offered()
	}
	switch {
	case p.ToolChoice != nil:
		s.ToolChoice = *p.ToolChoice
	case len(s.Tools) == 0:
		s.ToolChoice = toolChoice(llm.ChoiceAuto) // whatever the session wants of its own
	}
	if len(p.Tools.servers()) > 0 {
		return invalid("response.tools", "invalid_value", "An MCP server is named for the session, and not for one answer.")
	}
	if err := validTools("response", s.Tools, s.ToolChoice, s.tooled && p.Tools == nil); err != nil {
		return err
	}
	choice := s.ToolChoice.choice()
	out.Choice = &choice
	return nil
}

// responseAudio is how the sound of one answer is to be.
type responseAudio struct {
	Output struct {
		Format *format    `json:"format,omitempty"`
		Voice  *voiceName `json:"voice,omitempty"`
	} `json:"output,omitzero"`
}

// betaParams reads what one answer may do differently under the beta's names as well.
func betaParams(b []byte) (json.RawMessage, error) { return rename(b, betaResponse) }
