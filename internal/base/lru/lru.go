// Package lru keeps values in memory within a bound of bytes: what was not used for longest goes first.
package lru

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Stats are figures of a cache.
type Stats struct {
	Hits, Misses uint64 // since it was made
	Bytes        int64  // that it holds now
}

// Cache is a least-recently-used map, bounded by the bytes that its values take. It is safe
// for concurrent use.
type Cache struct {
	hits, misses atomic.Uint64

	mu    sync.Mutex
	max   int
	used  int
	order *list.List // front is the most recent
	items map[any]*list.Element
}

type cached struct {
	key   any
	value any
	cost  int
}

// entryCost is roughly what the map, the list and the key take besides the value.
const entryCost = 200

// New returns an empty cache.
func New(maxBytes int) *Cache {
	return &Cache{max: maxBytes, order: list.New(), items: make(map[any]*list.Element)}
}

func (c *Cache) get(key any) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		c.misses.Add(1)
		return nil, false
	}
	c.hits.Add(1)
	c.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

// Put stores a value of about cost bytes, unless it alone would take more than half of the room.
func (c *Cache) Put(key, value any, cost int) {
	cost += entryCost
	if cost > c.max/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.drop(e)
	}
	c.items[key] = c.order.PushFront(&cached{key, value, cost})
	c.used += cost
	for c.used > c.max {
		c.drop(c.order.Back())
	}
}

func (c *Cache) drop(e *list.Element) {
	v := c.order.Remove(e).(*cached)
	delete(c.items, v.key)
	c.used -= v.cost
}

// Stats returns the figures of the cache.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Bytes: int64(c.used)}
}

// Clear drops everything.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	c.items = make(map[any]*list.Element)
	c.used = 0
}

// Get returns the value of a key; one of another type counts as absent.
func Get[T any](c *Cache, key any) (T, bool) {
	v, ok := c.get(key)
	if !ok {
		var none T
		return none, false
	}
	t, ok := v.(T)
	return t, ok
}
