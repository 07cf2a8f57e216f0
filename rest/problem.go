package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is why a request is not answered. It is written in OpenAI's form.
type Problem struct {
	Status  int
	Code    string // For programs, such as "model_not_found".
	Param   string // The field that is wrong; empty for none.
	Message string // For people: how to mend it.
	Retry   time.Duration
}

func (p *Problem) Error() string { return p.Message }

// object returns the error in OpenAI's form.
func (p *Problem) object() map[string]any {
	o := map[string]any{"message": short(p.Message), "type": p.kind(), "param": nil, "code": nil}
	if p.Param != "" {
		o["param"] = p.Param
	}
	if p.Code != "" {
		o["code"] = p.Code
	}
	return o
}

// mostMessage is how long a message is, in bytes, which may repeat some of a request.
const mostMessage = 2 << 10

// short returns a message without its middle, if it is too long: what is to be done stands at its end.
func short(message string) string {
	if len(message) <= mostMessage {
		return message
	}
	return strings.ToValidUTF8(message[:mostMessage/2], "") + " … " + strings.ToValidUTF8(message[len(message)-mostMessage/2:], "")
}

func (p *Problem) kind() string {
	switch {
	case p.Status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case p.Status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func (p *Problem) write(w http.ResponseWriter) {
	if p.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(p.Retry.Round(time.Second).Seconds()))))
	}
	writeJSON(w, cmp.Or(p.Status, http.StatusInternalServerError), map[string]any{"error": p.object()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked may be gone
}

// wrong says what is wrong with a field of a request, and how to mend it.
func wrong(param, format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_value", Param: param, Message: fmt.Sprintf(format, args...)}
}

// missing says that a request lacks a field.
func missing(param string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "missing_required_parameter", Param: param, Message: "The request lacks " + param + "."}
}

// unsupported says that a field asks for what this service does not do.
func unsupported(param, format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: param, Message: fmt.Sprintf(format, args...)}
}
