package caller

import (
	"encoding/json"
	"fmt"
	"time"
)

// clientEvent is what the caller sends.
type clientEvent struct {
	Type    string `json:"type"`
	EventID string `json:"event_id,omitempty"`
	Session any    `json:"session,omitempty"`
	Audio   []byte `json:"audio,omitempty"` // base64 on the wire.
}

// serverEvent is what the caller reads of the server's events. Which fields are there depends on Type.
type serverEvent struct {
	Type       string          `json:"type"`
	ItemID     string          `json:"item_id"`
	ResponseID string          `json:"response_id"`
	Transcript string          `json:"transcript"`
	Delta      string          `json:"delta"`
	AudioEndMS float64         `json:"audio_end_ms"` // Of input_audio_buffer.speech_stopped.
	Response   *serverResponse `json:"response"`
	Error      *serverError    `json:"error"`
	Session    *struct {
		Include []string `json:"include"`
	} `json:"session"`

	// Of riposte.turn.
	ItemIDs   []string           `json:"item_ids"`
	Answer    string             `json:"answer"`
	Verdict   string             `json:"verdict"`
	Blame     string             `json:"blame"`
	Continued bool               `json:"continued"`
	Stages    map[string]float64 `json:"stages_ms"`
	Shares    map[string]float64 `json:"shares_ms"`
	Marks     map[string]float64 `json:"marks_ms"`
	Total     float64            `json:"total_ms"`
	Actions   []serverAction     `json:"actions"`
	Guesses   Guesses            `json:"guesses"`
}

type serverAction struct {
	Stage string  `json:"stage"`
	Kind  string  `json:"kind"`
	At    float64 `json:"at_ms"`
}

type serverResponse struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Details *struct {
		Reason string       `json:"reason"`
		Error  *serverError `json:"error"`
	} `json:"status_details"`
}

type serverError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	EventID string `json:"event_id"`
}

// String returns the message, or the code when there is none.
func (e *serverError) String() string {
	switch {
	case e == nil:
		return "it does not say why"
	case e.Message == "":
		return e.Code
	}
	return e.Message
}

// parse reads one event.
func parse(b []byte) (serverEvent, error) {
	var e serverEvent
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%w: %q: %w", ErrGarbage, clip(b), err)
	}
	if e.Type == "" {
		return e, fmt.Errorf("%w: %q", ErrGarbage, clip(b))
	}
	return e, nil
}

// clip returns the beginning of b, for error messages.
func clip(b []byte) []byte { return b[:min(len(b), 80)] }

// durations converts the protocol's milliseconds.
func durations(ms map[string]float64) map[string]time.Duration {
	out := make(map[string]time.Duration, len(ms))
	for name, v := range ms {
		out[name] = milliseconds(v)
	}
	return out
}

// milliseconds converts v milliseconds.
func milliseconds(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
