package realtime

import (
	"bytes"
	"encoding/json"
)

// truncation is what is done about a conversation that the model's context has no room for: "auto" leaves out the oldest, "disabled" lets the
// answer fail, and retention_ratio says how much is kept when something is left out.
type truncation struct {
	Type  string   // "auto", "disabled" or "retention_ratio".
	Ratio *float32 // For that: above 0 and at most 1.
}

// UnmarshalJSON takes a word, or the object of a ratio.
func (t *truncation) UnmarshalJSON(b []byte) error {
	var word string
	if json.Unmarshal(b, &word) == nil && !isNull(b) {
		if word != "auto" && word != "disabled" {
			return invalid("truncation", "invalid_value", "truncation is %.64q; it must be auto, disabled, or {\"type\": \"retention_ratio\", \"retention_ratio\": …}.", word)
		}
		*t = truncation{Type: word}
		return nil
	}
	if isNull(b) {
		*t = truncation{Type: "auto"}
		return nil
	}
	var object struct {
		Type   string          `json:"type"`
		Ratio  *float32        `json:"retention_ratio"`
		Limits json.RawMessage `json:"token_limits"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return invalid("truncation", "invalid_type", "truncation must be auto, disabled, or an object with the type retention_ratio and the retention_ratio.")
	}
	switch {
	case object.Type != "retention_ratio":
		return invalid("truncation.type", "invalid_value", "truncation.type is %.64q; it must be retention_ratio.", object.Type)
	case object.Ratio == nil:
		return invalid("truncation.retention_ratio", "missing_required_parameter", "truncation.retention_ratio is missing: how much of the context is to be kept?")
	case *object.Ratio <= 0 || *object.Ratio > 1:
		return invalid("truncation.retention_ratio", "invalid_value", "truncation.retention_ratio is %v; it must be above 0 and at most 1.", *object.Ratio)
	case !isNull(object.Limits):
		return invalid("truncation.token_limits", "invalid_value", "truncation.token_limits cannot be had: the model's own context is the limit.")
	}
	*t = truncation{object.Type, object.Ratio}
	return nil
}

// MarshalJSON writes what UnmarshalJSON takes.
func (t truncation) MarshalJSON() ([]byte, error) {
	if t.Type == "retention_ratio" {
		return json.Marshal(fields{"type": t.Type, "retention_ratio": t.Ratio})
	}
	return json.Marshal(t.Type)
}

// keep is how much of the context is used again where something is left out; 0 leaves that to the model.
func (t truncation) keep() float32 {
	if t.Ratio == nil {
		return 0
	}
	return *t.Ratio
}

// validTracing takes what the protocol knows of tracing.
func validTracing(raw json.RawMessage) error {
	if isNull(raw) || string(raw) == `"auto"` {
		return nil
	}
	var object struct {
		Workflow string                     `json:"workflow_name"`
		Group    string                     `json:"group_id"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return invalid("session.tracing", "invalid_value", "tracing must be auto, null, or an object with workflow_name, group_id and metadata. What is kept of calls is the service's own to say, whichever it is.")
	}
	return nil
}

// validReasoning takes what the protocol knows of reasoning.
func validReasoning(param string, raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var object struct {
		Effort *string `json:"effort"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return invalid(param, "invalid_value", "reasoning must be null or an object with an effort. The model here answers without reasoning, whichever it is.")
	}
	return nil
}
