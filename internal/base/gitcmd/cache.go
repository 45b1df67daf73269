package gitcmd

import (
	"container/list"
	"sync"
)

// cache is a least-recently-used map bounded by the bytes its values take.
type cache struct {
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

func newCache(maxBytes int) *cache {
	return &cache{max: maxBytes, order: list.New(), items: make(map[any]*list.Element)}
}

func (c *cache) get(key any) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

// put stores a value unless it alone would take more than half of the room.
func (c *cache) put(key, value any, cost int) {
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

func (c *cache) drop(e *list.Element) {
	v := c.order.Remove(e).(*cached)
	delete(c.items, v.key)
	c.used -= v.cost
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	c.items = make(map[any]*list.Element)
	c.used = 0
}

// lookup is get with the type of the value.
func lookup[T any](c *cache, key any) (T, bool) {
	v, ok := c.get(key)
	if !ok {
		var none T
		return none, false
	}
	t, ok := v.(T)
	return t, ok
}
