package webrtc

import "sync"

// Packets says what became of the packets of callers' sound, over all calls so far. No number ever gets smaller.
type Packets struct {
	Received   uint64 // Packets that came.
	Missed     uint64 // Packets that were given up, since they did not come in time;
	Late       uint64 // and of these, those that came after that.
	Twice      uint64 // Packets that came again.
	Unreadable uint64 // Packets that were no Opus.
	Recovered  uint64 // Packets in whose place stands what the one after them says of them.
	Concealed  uint64 // Pieces of 20 ms that were made up.
	LeftOut    uint64 // Pieces of silence that were left out, to catch up.
	Restarted  uint64 // Times that a caller's side began anew.
}

// tally sums up what became of the packets of all calls.
type tally struct {
	mu  sync.Mutex
	sum Packets
}

// add takes what a call has counted since it was last added: now is all, before what was added already.
func (t *tally) add(now, before counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sum
	s.Received += now.Packets - before.Packets
	s.Missed += now.Lost + now.Late - before.Lost - before.Late
	s.Late += now.Late - before.Late
	s.Twice += now.Twice - before.Twice
	s.Unreadable += now.Unreadable - before.Unreadable
	s.Recovered += now.Recovered - before.Recovered
	s.Concealed += now.Concealed - before.Concealed
	s.LeftOut += now.LeftOut - before.LeftOut
	s.Restarted += now.Restarted - before.Restarted
}

// Packets returns what became of the packets of callers' sound.
func (s *Server) Packets() Packets {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	return s.tally.sum
}
