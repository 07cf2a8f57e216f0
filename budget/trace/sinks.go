package trace

// Sinks are several, each of which is told everything.
type Sinks []Sink

var _ Sink = Sinks(nil)

// CallBegan tells all of them.
func (s Sinks) CallBegan(c Call) {
	for _, sink := range s {
		sink.CallBegan(c)
	}
}

// TurnEnded tells all of them.
func (s Sinks) TurnEnded(t Turn) {
	for _, sink := range s {
		sink.TurnEnded(t)
	}
}

// CallEnded tells all of them.
func (s Sinks) CallEnded(c Call) {
	for _, sink := range s {
		sink.CallEnded(c)
	}
}
