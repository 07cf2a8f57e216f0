package llama

import "slices"

// token is a model's number for a piece of text.
type token = int32

// cache knows what the model's memory holds: one slot for each sequence, with the tokens that were decoded into it.
// It decides which slot a conversation gets and how much of its prompt need not be decoded again. It does not touch
// the memory itself, and is not safe for concurrent use.
type cache struct {
	slots []slot
	gain  int // How many tokens a copy from another slot must save.
	clock uint64
}

// minGain is a tenth of a second of a small model's work on a CPU, where a copy takes about a hundredth.
const minGain = 16

// slot is one sequence of the model's memory.
type slot struct {
	owner  string  // The conversation it was last used for. Empty for nobody's.
	tokens []token // Exactly what the memory holds, from position 0.
	busy   bool    // Somebody is being answered with it.
	used   uint64  // When it was last taken or released, in ticks of the cache's clock.
}

// placement is where a prompt goes and where its beginning comes from.
type placement struct {
	slot int
	from int // The slot whose beginning is shared. The same as slot if its own beginning is kept.
	keep int // How many tokens that is.

	restore bool    // The beginning comes from the shelf.
	gone    shelved // What the slot held of another conversation and is worth keeping; without its state.
}

func newCache(slots, contextTokens, gain int) *cache {
	c := &cache{slots: make([]slot, slots), gain: gain}
	for i := range c.slots {
		c.slots[i].tokens = make([]token, 0, contextTokens)
	}
	return c
}

// take finds a slot for the prompt of a conversation and marks it busy. The slot's tokens are already cut, or copied,
// to what the placement keeps. At least one token of the prompt is always left to decode, because only decoding says
// what comes next. saved is what the shelf has of the conversation. It returns false if every slot is busy.
func (c *cache) take(conversation string, prompt, saved []token) (placement, bool) {
	to := c.pick(conversation, prompt)
	if to < 0 {
		return placement{}, false
	}
	p := placement{slot: to, from: to, keep: c.common(to, prompt)}
	best := p.keep + c.gain
	for i := range c.slots {
		// Busy slots may be copied from as well: what they have decoded stays as it is while they go on.
		if n := c.common(i, prompt); i != to && n >= best {
			p.from, p.keep, best = i, n, n+1
		}
	}
	// Memory that was saved comes back as fast as a copy from another slot.
	if n := common(saved, prompt); n >= max(p.keep+c.gain, best) {
		p.from, p.keep, p.restore = to, n, true
	}
	c.clock++
	s := &c.slots[to]
	if s.owner != "" && s.owner != conversation && len(s.tokens) >= c.gain {
		p.gone = shelved{owner: s.owner, tokens: slices.Clone(s.tokens)}
	}
	s.tokens = append(s.tokens[:0], prompt[:p.keep]...)
	s.owner, s.busy, s.used = conversation, true, c.clock
	return p, true
}

// pick chooses an idle slot: the conversation's own, then an empty one, then nobody's, then the one that was not used
// for the longest time. Among several of the first and third kind, the one that saves most.
func (c *cache) pick(conversation string, prompt []token) int {
	best, rank, saves := -1, 0, 0
	for i := range c.slots {
		s := &c.slots[i]
		if s.busy {
			continue
		}
		r, n := 1, 0
		switch {
		case conversation != "" && s.owner == conversation:
			r, n = 4, c.common(i, prompt)
		case len(s.tokens) == 0:
			r = 3
		case s.owner == "":
			r, n = 2, c.common(i, prompt)
		}
		if best < 0 || r > rank || r == rank && (n > saves || n == saves && s.used < c.slots[best].used) {
			best, rank, saves = i, r, n
		}
	}
	return best
}

// common counts the tokens that a slot and a prompt share at the beginning, but for the prompt's last.
func (c *cache) common(i int, prompt []token) int { return common(c.slots[i].tokens, prompt) }

func common(held, prompt []token) int {
	n := min(len(held), len(prompt)-1)
	for k := range n {
		if held[k] != prompt[k] {
			return k
		}
	}
	return max(n, 0)
}

// extend records that tokens were decoded into a slot.
func (c *cache) extend(i int, decoded ...token) {
	c.slots[i].tokens = append(c.slots[i].tokens, decoded...)
}

// forget records that the memory no longer holds anything of a slot.
func (c *cache) forget(i int) { c.slots[i].tokens = c.slots[i].tokens[:0] }

// release makes a slot available again. What it holds stays for the conversation's next turn, until the slot is needed.
func (c *cache) release(i int) {
	c.clock++
	c.slots[i].busy, c.slots[i].used = false, c.clock
}

// disown makes what a conversation's slots hold nobody's.
func (c *cache) disown(conversation string) {
	for i := range c.slots {
		if c.slots[i].owner == conversation {
			c.slots[i].owner = ""
		}
	}
}

// idle reports whether a slot is free.
func (c *cache) idle() bool {
	for i := range c.slots {
		if !c.slots[i].busy {
			return true
		}
	}
	return false
}
