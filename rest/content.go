package rest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// content is what a message says: a text, or parts of one. Only text can be read by the model.
type content struct {
	text string
	set  bool // Not null.
	odd  string
}

// UnmarshalJSON reads a text, a list of parts, or null.
func (c *content) UnmarshalJSON(raw []byte) error {
	*c = content{}
	raw = bytes.TrimSpace(raw)
	switch {
	case isNull(raw):
		return nil
	case raw[0] == '"':
		c.set = true
		return json.Unmarshal(raw, &c.text)
	}
	var parts []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal string  `json:"refusal"`
	}
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		c.odd = "neither a text nor a list of parts"
		return nil
	}
	c.set = true
	var all []string
	for _, p := range parts {
		switch {
		case (p.Type == "text" || p.Type == "input_text" || p.Type == "output_text") && p.Text != nil:
			all = append(all, *p.Text)
		case p.Type == "refusal":
			all = append(all, p.Refusal)
		default:
			c.odd = "a part of the type " + quoted(p.Type) + " in it; this model reads text only"
			return nil
		}
	}
	c.text = strings.Join(all, "\n")
	return nil
}

// check reports content that cannot be read.
func (c content) check(param string) error {
	if c.odd == "" {
		return nil
	}
	return unsupported(param, "%s is, or has, %s.", param, c.odd)
}
