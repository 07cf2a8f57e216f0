package llama

// shelf keeps the memory of conversations that had to give up their slots, as many bytes of it as it may hold. It is
// not safe for concurrent use.
type shelf struct {
	room  int       // Bytes.
	held  int       // Bytes.
	saved []shelved // The one that was put there first goes first.
}

// shelved is the memory of one conversation.
type shelved struct {
	owner  string
	tokens []token
	state  []byte // As the machine saved it.
}

// put keeps the memory of a conversation, and throws away what there is no room for any more.
func (s *shelf) put(m shelved) {
	s.take(m.owner)
	if len(m.state) == 0 || len(m.state) > s.room {
		return
	}
	s.saved, s.held = append(s.saved, m), s.held+len(m.state)
	for s.held > s.room {
		s.take(s.saved[0].owner)
	}
}

// tokens returns those of a conversation, or none. They stay the shelf's.
func (s *shelf) tokens(owner string) []token {
	for i := range s.saved {
		if s.saved[i].owner == owner {
			return s.saved[i].tokens
		}
	}
	return nil
}

// take removes a conversation and returns it.
func (s *shelf) take(owner string) shelved {
	for i, m := range s.saved {
		if m.owner == owner {
			s.held -= len(m.state)
			last := copy(s.saved[i:], s.saved[i+1:]) + i
			s.saved[last] = shelved{}
			s.saved = s.saved[:last]
			return m
		}
	}
	return shelved{}
}
