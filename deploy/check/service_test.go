// Package check lets an OpenTelemetry collector and Prometheus read what the service tells, and the files of this folder.
package check

import (
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/metrics"
)

const msec = time.Millisecond

// speechEnd is when the turns' callers fell silent.
var speechEnd = time.Date(2026, 9, 1, 12, 0, 0, 123456789, time.UTC)

// turn is one whose stages took this long.
func turn(call, id string, mic, stt, llm, tts time.Duration) trace.Turn {
	clock := budget.NewTurn(speechEnd)
	clock.Mark(budget.Received, speechEnd.Add(mic))
	clock.Mark(budget.Final, speechEnd.Add(mic+stt))
	clock.Mark(budget.FirstToken, speechEnd.Add(mic+stt+llm/2))
	clock.Mark(budget.FirstClause, speechEnd.Add(mic+stt+llm))
	clock.Mark(budget.FirstAudible, speechEnd.Add(mic+stt+llm+tts))
	clock.Mark(budget.Answered, speechEnd.Add(mic+stt+llm+tts))
	clock.Mark(budget.Done, speechEnd.Add(mic+stt+llm+tts+2*time.Second))
	return trace.Turn{
		ID: id, Call: call, Number: 1, Route: "default", Version: "v1", Status: "completed", Report: clock.Report(budget.DefaultPlan),
		Said: "What is it worth?", Answer: "Nothing at all.",
		Models: map[budget.Stage]string{budget.STT: "whisper-tiny", budget.LLM: "smollm2", budget.TTS: "joe"},
		Tokens: trace.Tokens{Input: 120, Cached: 100, Output: 20}, Guesses: trace.Guesses{Tries: 2, Stood: true, Wasted: 5},
		Work:   map[budget.Stage]trace.Work{budget.STT: {Runs: 4, Waited: 3 * msec, Ran: 200 * msec}},
		Events: []trace.Event{{At: 720 * msec, Kind: trace.KindEar}, {At: 1500 * msec, Kind: trace.KindBargeIn, Detail: "stop"}},
	}
}

// failed is a turn whose model never answered.
func failed(call, id string) trace.Turn {
	t := turn(call, id, 20*msec, 250*msec, 0, 0)
	clock := budget.NewTurn(speechEnd)
	clock.Mark(budget.Received, speechEnd.Add(20*msec))
	clock.Mark(budget.Final, speechEnd.Add(270*msec))
	t.Report, t.Status, t.Reason = clock.Report(budget.DefaultPlan), "failed", "llm_timeout"
	t.Events = []trace.Event{{At: 3 * time.Second, Kind: trace.KindFault, Detail: "no token came"}}
	return t
}

// service is what metrics are of, for tests: it answers turns.
type service struct {
	metrics.Metrics
	queue time.Duration
	lost  uint64
}

func newService() *service {
	s := &service{}
	s.Metrics = metrics.Metrics{
		Version: "v1", Places: 8, Calls: func() int { return 3 }, Load: func() budget.Load { return budget.Load{Queue: s.queue} },
		Lost:   func() []metrics.Lost { return []metrics.Lost{{Sink: "otlp", Reason: "queue_full", Count: s.lost}} },
		Queues: []*budget.Queue{{Name: "events", Limit: 256}, {Name: "sound", Limit: int64(400 * msec), Timed: true}},
	}
	s.Open()
	return s
}

// live lets a little of everything happen.
func (s *service) live() {
	c := trace.Call{ID: "call", Route: "default", Wire: "websocket"}
	s.CallBegan(c)
	s.TurnEnded(turn("call", "a", 20*msec, 250*msec, 300*msec, 100*msec))
	s.TurnEnded(turn("call", "b", 20*msec, 250*msec, 350*msec, 120*msec))
	over := turn("call", "c", 20*msec, 250*msec, 900*msec, 100*msec)
	over.Report.Actions = []budget.Action{{Stage: budget.LLM, Kind: budget.Opener, At: 690 * msec}}
	s.TurnEnded(over)
	s.TurnEnded(failed("call", "d"))
	c.Reason = "hung_up"
	s.CallEnded(c)
	s.Refused("too_many_calls")
	s.RequestEnded(trace.Request{
		Endpoint: "/v1/chat/completions", Stage: budget.LLM, Model: "smollm2", Status: 200, Began: speechEnd, Ended: speechEnd.Add(2 * time.Second), First: 300 * msec,
		Tokens: trace.Tokens{Input: 120, Cached: 100, Output: 20}, Work: trace.Work{Runs: 4, Waited: 3 * msec},
	})
	s.RequestEnded(trace.Request{Endpoint: "/v1/audio/speech", Stage: budget.TTS, Model: "joe", Status: 200, Began: speechEnd, Ended: speechEnd.Add(time.Second), Sound: 3 * time.Second})
	s.AsideEnded(trace.Aside{Route: "default", Model: "smollm2", Status: "completed"})
	s.Queues[0].Hold(12)
	s.Queues[0].Refuse(1)
	s.Queues[1].Hold(int64(400 * msec))
	s.Queues[1].Discard(int64(300 * msec))
	s.lost++
}
