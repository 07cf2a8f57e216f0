package main

import (
	"riposte/budget"
	"riposte/budget/trace/store"
	"riposte/pipeline"
	"riposte/transport/realtime"
)

// queues count what waits in the service, over all calls.
type queues struct {
	calls                              pipeline.Queues
	events, executor, traces, requests *budget.Queue
}

// queues returns those of a service with the settings.
func (s *settings) queues() queues {
	return queues{
		calls:  pipeline.NewQueues(s.limits()),
		events: realtime.NewQueue(s.wire()),
		// More awaited work than the recogniser has time for refuses calls.
		executor: &budget.Queue{Name: "executor", Limit: int64(s.Budget.STT), Timed: true},
		traces:   &budget.Queue{Name: "traces", Limit: store.DefaultEntries},
		requests: &budget.Queue{Name: "requests", Limit: int64(s.REST.Max)},
	}
}

// all returns all of them.
func (q queues) all() []*budget.Queue {
	return append(q.calls.All(), q.events, q.executor, q.traces, q.requests)
}
