package piper

import (
	"container/list"
	"slices"
	"sync"

	"riposte/audio"
)

const (
	// usualCache is how much sound is kept, in bytes: six minutes at 22.05 kHz.
	usualCache = 16 << 20
	// cacheShare is the part of the cache that one text may take, so that a long one does not drive out all openers.
	cacheShare = 8
)

// cacheBytes returns the bound that an engine's setting means.
func cacheBytes(set int) int {
	if set == 0 {
		return usualCache
	}
	return max(0, set)
}

// utteranceKey is all that the sound of a text depends on, but for noise.
type utteranceKey struct {
	text    string // As it is spoken.
	speaker int64
	scales  [3]float32
}

// cache keeps what was spoken to its end, in the chunks in which it was spoken, and forgets what was not wanted for longest.
// Its zero value keeps nothing.
type cache struct {
	limit int // Bytes of sound.

	mu     sync.Mutex
	size   int
	lookup map[utteranceKey]*list.Element
	recent list.List // Of *kept, the most recent first.
	counts CacheStats
}

// kept is what the cache holds of one text.
type kept struct {
	key    utteranceKey
	chunks []audio.PCM
	units  []*sounding // Where they lie in it.
	size   int
}

// CacheStats says what became of the requests, and what is kept.
type CacheStats struct {
	Hits, Misses int64 // Texts that were there, and that were not.
	Clauses      int   // Texts that are kept.
	Bytes        int   // Their sound.
}

// Cache returns the state of the cache of what was spoken.
func (e *Engine) Cache() CacheStats { return e.spoken.stats() }

// get returns what is kept of a text, which must not be changed.
func (c *cache) get(k utteranceKey) (*kept, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.lookup[k]
	if !ok {
		c.counts.Misses++
		return nil, false
	}
	c.counts.Hits++
	c.recent.MoveToFront(at)
	return at.Value.(*kept), true
}

// put keeps the sound of a text, and of others as much as still fits.
func (c *cache) put(r *recording) {
	if r.size == 0 || r.size > c.share() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lookup == nil {
		c.lookup = map[utteranceKey]*list.Element{}
	}
	if at, ok := c.lookup[r.key]; ok { // it was spoken twice at the same time
		c.drop(at)
	}
	c.lookup[r.key] = c.recent.PushFront(&r.kept)
	c.size += r.size
	for c.size > c.limit {
		c.drop(c.recent.Back())
	}
}

// drop forgets a text. The caller holds the lock.
func (c *cache) drop(at *list.Element) {
	k := c.recent.Remove(at).(*kept)
	delete(c.lookup, k.key)
	c.size -= k.size
}

// share returns how many bytes one text may take.
func (c *cache) share() int { return c.limit / cacheShare }

func (c *cache) stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.counts
	s.Clauses, s.Bytes = c.recent.Len(), c.size
	return s
}

// recording collects a text's sound while it is spoken.
type recording struct {
	kept
	limit int
}

// record returns an empty recording.
func (c *cache) record(k utteranceKey) *recording {
	return &recording{kept: kept{key: k}, limit: c.share()}
}

// add copies a chunk, unless there is too much already.
func (r *recording) add(pcm audio.PCM) {
	r.size += 2 * len(pcm)
	if r.size > r.limit {
		r.chunks = nil
		return
	}
	r.chunks = append(r.chunks, slices.Clone(pcm))
}

// note keeps where a unit lies, once.
func (r *recording) note(s *sounding) {
	if n := len(r.units); n == 0 || r.units[n-1] != s {
		r.units = append(r.units, s)
	}
}
