package metrics

import (
	"strconv"

	"riposte/budget"
	"riposte/budget/trace"
)

// RequestEnded counts a request over REST and what it took.
func (m *Metrics) RequestEnded(r trace.Request) {
	endpoint, model := m.endpoints.of(r.Endpoint), m.requested.of(r.Model)
	m.requests.WithLabelValues(endpoint, model, strconv.Itoa(r.Status)).Inc()
	if r.Stage == "" {
		return
	}
	if r.Status < 400 {
		m.restTook.WithLabelValues(endpoint, model).Observe(r.Ended.Sub(r.Began).Seconds())
	}
	if r.First > 0 {
		m.restFirst.WithLabelValues(endpoint, model).Observe(r.First.Seconds())
	}
	if r.Work.Runs > 0 {
		m.restQueued.WithLabelValues(endpoint).Observe(r.Work.Waited.Seconds())
	}
	if r.Stage == budget.LLM {
		spend(m.restTokens, r.Tokens, endpoint, model)
	} else {
		m.restSound.WithLabelValues(endpoint, model).Add(r.Sound.Seconds())
	}
}

// AsideEnded counts an answer beside a conversation.
func (m *Metrics) AsideEnded(a trace.Aside) {
	m.asides.WithLabelValues(m.routes.of(a.Route), a.Status).Inc()
	spend(m.asideTokens, a.Tokens, m.models.of(a.Model))
}
