package realtime

import (
	"errors"

	"riposte/budget"
	"riposte/transport"
)

// NewQueue returns what counts the events that wait to be written, for a Server with these limits.
func NewQueue(l Limits) *budget.Queue {
	return &budget.Queue{Name: "events", Limit: int64(l.withDefaults().Queue)}
}

// lose counts an event that could not be written, and why.
func (c *call) lose(why error) {
	if errors.Is(why, transport.ErrSlowReader) {
		c.server.Queue.Refuse(1)
		return
	}
	c.server.Queue.Discard(1) // nobody is there to read it
}
