package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"riposte/llm"
	"riposte/remote"
)

// Of an engine elsewhere that fails clients are told whether to come again, and who runs the service what to mend.
func TestEnginesElsewhere(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		code   string
		retry  string
		says   string
	}{
		{remote.ErrResting, 503, "engine_unreachable", "5", "llm.model"},
		{fmt.Errorf("asking: %w", remote.ErrUnreachable), 503, "engine_unreachable", "5", "/readyz"},
		{&remote.Refused{Status: 429, Why: "busy", Retry: 20 * time.Second}, 503, "engine_busy", "20", "busy"},
		{&remote.Refused{Status: 503}, 503, "engine_busy", "5", "llm.model"},
		{remote.ErrLate, 504, "engine_timeout", "", "llm.timeout"},
		{remote.ErrStalled, 504, "engine_timeout", "", "remote.idle"},
		{&remote.Refused{Status: 504}, 504, "engine_timeout", "", "llm.timeout"},
		{remote.ErrGarbage, 502, "engine_failed", "", "riposte doctor"},
		{remote.ErrCut, 502, "engine_failed", "", "llm.model"},
		{remote.ErrBig, 502, "engine_failed", "", "llm.model"},
		{&remote.Refused{Status: 500, Why: "out of memory"}, 502, "engine_failed", "", "out of memory"},
		{&remote.Refused{Status: 401}, 502, "engine_failed", "", "set the stage's key"},
		{errors.Join(errors.New("the one here failed"), remote.ErrResting), 503, "engine_unreachable", "5", "llm.model"},
		{errors.New("broken"), 500, "internal_error", "", "broken"},
	} {
		for _, path := range []string{chats, "/v1/responses"} {
			body := map[string]string{chats: chatBody(""), "/v1/responses": `{"model":"small","input":"Hi."}`}[path]
			w := ask(t, server(Engines{LLM: &brain{fail: tt.err}}), "POST", path, body)
			refused(t, w, tt.status, tt.code, "")
			if got := w.Header().Get("Retry-After"); got != tt.retry || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("%v: to come again after %q, %s", tt.err, got, w.Body)
			}
		}
	}
	late := ask(t, server(Engines{TTS: &mouth{fail: remote.ErrLate}}), "POST", speech, `{"model":"joe","input":"x"}`)
	refused(t, late, http.StatusGatewayTimeout, "engine_timeout", "")
	if !strings.Contains(late.Body.String(), "The voice") || !strings.Contains(late.Body.String(), "tts.timeout") {
		t.Errorf("of a voice it says %s", late.Body)
	}
	// In a stream that has begun the last event says the same.
	b := answering(llm.FinishStop, "Hel")
	b.pieces, b.fail = b.pieces[:1], remote.ErrCut
	_, data := events(t, ask(t, server(Engines{LLM: b}), "POST", chats, chatBody(`"stream":true`)).Body.String())
	if last := data[len(data)-1]; !strings.Contains(last, "engine_failed") {
		t.Errorf("a stream ends with %s", last)
	}
}
