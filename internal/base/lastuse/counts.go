package lastuse

import (
	"maps"
	"sync"
)

// Counts adds up how often things happened that is not written down yet. The zero value
// is ready and safe for concurrent use.
type Counts[K comparable] struct {
	mu sync.Mutex
	n  map[K]int64
}

// Add counts something that happened.
func (c *Counts[K]) Add(key K, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[K]int64)
	}
	c.n[key] += n
}

// Pending returns a copy of what is not written down yet.
func (c *Counts[K]) Pending() map[K]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// Take hands over what was counted and starts again.
func (c *Counts[K]) Take() map[K]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.n
	c.n = nil
	return taken
}

// GiveBack counts again what could not be written down.
func (c *Counts[K]) GiveBack(taken map[K]int64) {
	for key, n := range taken {
		c.Add(key, n)
	}
}
