package token

import (
	"sync"
	"time"

	"tenon/internal/base/lru"
	"tenon/internal/core/authz"
)

// How long and how many bearers are remembered.
const (
	cacheAge  = 10 * time.Second
	cacheSize = 10_000
	cacheCost = 600 // bytes of one, roughly
)

// tokenCache remembers bearers by digest, so that a request costs no statement for its
// token. Whatever changes what a token may do evicts it after the commit.
type tokenCache struct {
	mu      sync.Mutex
	bearers map[string]*bearer
	gen     uint64 // counts evictions
	hits    uint64
	misses  uint64
}

func newTokenCache() *tokenCache { return &tokenCache{bearers: make(map[string]*bearer)} }

// generation is taken before a bearer is read; put drops what was read before an eviction.
func (c *tokenCache) generation() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen
}

func (c *tokenCache) get(digest string, now time.Time) *bearer {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.bearers[digest]
	if ok {
		if age := now.Sub(b.at); age >= 0 && age < cacheAge {
			c.hits++
			return b
		}
		delete(c.bearers, digest)
	}
	c.misses++
	return nil
}

func (c *tokenCache) stats() lru.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lru.Stats{Hits: c.hits, Misses: c.misses, Bytes: int64(len(c.bearers)) * cacheCost}
}

func (c *tokenCache) put(digest string, b *bearer, seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen != seen {
		return
	}
	if len(c.bearers) >= cacheSize {
		c.shrink(b.at)
	}
	c.bearers[digest] = b
}

// shrink drops what is too old, and an arbitrary half where that is not enough.
func (c *tokenCache) shrink(now time.Time) {
	for digest, b := range c.bearers {
		if now.Sub(b.at) >= cacheAge {
			delete(c.bearers, digest)
		}
	}
	for digest := range c.bearers {
		if len(c.bearers) <= cacheSize/2 {
			return
		}
		delete(c.bearers, digest)
	}
}

// evict forgets every bearer that drop picks, and whatever is being read meanwhile.
func (c *tokenCache) evict(drop func(*bearer) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	for digest, b := range c.bearers {
		if drop(b) {
			delete(c.bearers, digest)
		}
	}
}

func (c *tokenCache) evictUser(id authz.UserID) {
	c.evict(func(b *bearer) bool { return b.UserID == id })
}

func (c *tokenCache) evictToken(id ID) {
	c.evict(func(b *bearer) bool { return b.ID == id })
}
