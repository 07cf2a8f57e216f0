package live

import "encoding/json"

// object is something that the caller sends.
type object map[string]any

// message is what the service sends. Which fields are there depends on Type.
type message struct {
	Type       string    `json:"type"`
	ItemID     string    `json:"item_id"`
	Previous   string    `json:"previous_item_id"`
	ResponseID string    `json:"response_id"`
	Transcript string    `json:"transcript"`
	Text       string    `json:"text"`
	Name       string    `json:"name"`
	Arguments  string    `json:"arguments"`
	Delta      string    `json:"delta"`
	Response   *response `json:"response"`
	Error      *fault    `json:"error"`
	Item       *item     `json:"item"`

	// Of riposte.turn.
	ItemIDs   []string           `json:"item_ids"`
	Answer    string             `json:"answer"`
	Verdict   string             `json:"verdict"`
	Continued bool               `json:"continued"`
	Calls     []json.RawMessage  `json:"calls"`
	Marks     map[string]float64 `json:"marks_ms"`
	Guesses   struct {
		Tries int  `json:"tries"`
		Stood bool `json:"stood"`
	} `json:"guesses"`
}

type response struct {
	ID         string   `json:"id"`
	Status     string   `json:"status"`
	Modalities []string `json:"output_modalities"`
	Output     []item   `json:"output"`
	Details    *struct {
		Reason string `json:"reason"`
	} `json:"status_details"`
}

// text returns the words of an answer.
func (r *response) text() string {
	var out string
	for _, it := range r.Output {
		if it.Type == "message" {
			out += it.text()
		}
	}
	return out
}

// item is a part of the conversation: a message, a call of a tool, or its result.
type item struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    *string `json:"output"`
	Content   []struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Transcript string `json:"transcript"`
	} `json:"content"`
}

// text returns the words of an item.
func (it item) text() string {
	if it.Output != nil {
		return *it.Output
	}
	var out string
	for _, c := range it.Content {
		out += c.Text + c.Transcript
	}
	return out
}

// written reports whether an item is one that the client added.
func (it item) written() bool {
	return it.Output != nil || len(it.Content) > 0 && (it.Content[0].Type == "input_text" || it.Content[0].Type == "output_text")
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// read reads a message.
func read(b []byte) (message, error) {
	var m message
	err := json.Unmarshal(b, &m)
	return m, err
}

// say returns an item that somebody is to have written.
func say(role, text string) object {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return create(object{"type": "message", "role": role, "content": []object{{"type": kind, "text": text}}})
}

// create adds an item to the conversation.
func create(item object) object { return object{"type": "conversation.item.create", "item": item} }
