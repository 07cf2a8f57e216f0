package rest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"riposte/budget"
	"riposte/remote"
)

// asks says of each stage what it is called, and which settings say where it is.
var asks = map[budget.Stage]struct{ name, settings, patience string }{
	budget.STT: {"recogniser", "stt.model and stt.fallback", "stt.timeout"},
	budget.LLM: {"language model", "llm.model", "llm.timeout"},
	budget.TTS: {"voice", "tts.voice and tts.fallback", "tts.timeout"},
}

// resting is how soon a client may ask again where a server does not say when.
const resting = 5 * time.Second

// elsewhere returns what a client is told where an engine that is served elsewhere has failed; nil where that is not what went wrong.
func elsewhere(stage budget.Stage, err error) *Problem {
	refused, _ := errors.AsType[*remote.Refused](err)
	says := func(status int) bool { return refused != nil && refused.Status == status }
	is := func(any ...error) bool {
		for _, e := range any {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	p := &Problem{}
	var what, mend string
	switch {
	case is(remote.ErrLate, remote.ErrStalled) || says(http.StatusGatewayTimeout) || says(http.StatusRequestTimeout):
		p.Status, p.Code = http.StatusGatewayTimeout, "engine_timeout"
		what, mend = "was too slow", "Ask again later. If it is always that slow, %[3]s and remote.idle say how long to wait."
	case says(http.StatusTooManyRequests) || says(http.StatusServiceUnavailable):
		p.Status, p.Code, p.Retry = http.StatusServiceUnavailable, "engine_busy", cmp.Or(refused.Retry, resting)
		what, mend = "has too much to do", "Ask again later. If that does not help, see how the server does that %[2]s names: /readyz tells."
	case is(remote.ErrResting, remote.ErrUnreachable):
		p.Status, p.Code, p.Retry = http.StatusServiceUnavailable, "engine_unreachable", resting
		what, mend = "cannot be asked now", "Ask again later. If that does not help, start the server that %[2]s names: /readyz tells how it does."
	case refused != nil || is(remote.ErrBig, remote.ErrCut, remote.ErrGarbage):
		p.Status, p.Code = http.StatusBadGateway, "engine_failed"
		what, mend = "gave no answer that makes sense", "Mend that server, or what %[2]s says of it; riposte doctor checks both."
	default:
		return nil
	}
	a := asks[stage]
	p.Message = fmt.Sprintf("The %[1]s, which is served elsewhere, "+what+": %[4]v. "+mend, a.name, a.settings, a.patience, err)
	return p
}
