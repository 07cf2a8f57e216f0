package metrics

import "sync"

// names keeps a label to few values: each makes time series that Prometheus keeps for weeks. Of values that others choose, such
// as models, the first ones are told apart and the rest is "other".
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

// most is how many values one label has.
const most = 16

// of returns the value to use for v.
func (n *names) of(v string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[v] {
		return v
	}
	if len(n.known) >= most {
		return "other"
	}
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[v] = true
	return v
}
