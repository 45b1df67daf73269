// Package ratelimit counts requests in windows of time, in a bounded piece of memory.
package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

// Limit is how often something may happen. Windows are aligned to the epoch: those of a
// minute begin with each full minute, for everybody.
type Limit struct {
	Name  string        // of the class; each has counters of its own
	Most  int           // in a window; zero or less is no limit
	Every time.Duration // length of the window, whole seconds
}

// Key says which caller and what is counted. What does not matter stays zero.
type Key struct {
	Who  int64   // a number of the caller
	From Network // where the caller is
	What int64   // a number of what is asked for
	Text string  // a name of it
}

// Usage is what a window holds after an event was counted.
type Usage struct {
	Limit    Limit
	Observed int           // events, this one among them, also those that were refused
	Reset    time.Time     // when the next window begins
	Wait     time.Duration // until then
}

// Exceeded reports whether the event is one too many.
func (u Usage) Exceeded() bool { return u.Limit.Most > 0 && u.Observed > u.Limit.Most }

// The size of a counter: about 10 MB where it is full.
const (
	shards   = 64
	perShard = 4096
	shared   = 1024 // per shard, of callers who came when it was full
)

// sweepEvery is how often a shard is rid of windows that are over.
const sweepEvery = 5 * time.Minute

// Counter counts events by limit and key. It is safe for concurrent use.
//
// It remembers about a quarter of a million keys. A counter lives until its window is
// over, whatever happens to others, so that no caller starts again by making many keys. Keys
// that come when there is no room share counters: they are refused too early rather than
// too late.
type Counter struct {
	now    func() time.Time
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu     sync.Mutex
	own    map[uint64]window
	shared []window // made when the first is needed
	sweep  int64    // second of the next sweep
	_      [24]byte // keeps neighbours off the same cache line
}

// window is a count that starts again when it is over.
type window struct {
	ends  int64 // second
	count int32
}

// New makes a counter that reads this clock.
func New(now func() time.Time) *Counter {
	c := &Counter{now: now, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].own = make(map[uint64]window)
	}
	return c
}

// place is what tells counters apart. Equal places are equal counters; the hash of
// different ones differs but for a chance of one in 2^64 that no client can steer.
type place struct {
	name  string
	every time.Duration
	key   Key
}

// Add counts an event.
func (c *Counter) Add(l Limit, k Key) Usage { return c.AddMany(l, k, 1) }

// AddMany counts so many events, or one that counts as so many.
func (c *Counter) AddMany(l Limit, k Key, events int) Usage {
	now := c.now()
	second, every := now.Unix(), max(int64(l.Every/time.Second), 1)
	ends := second - second%every + every
	h := maphash.Comparable(c.seed, place{l.Name, l.Every, k})
	reset := time.Unix(ends, 0)
	return Usage{Limit: l, Observed: c.shards[h%shards].add(h, second, ends, events), Reset: reset, Wait: reset.Sub(now)}
}

func (s *shard) add(h uint64, second, ends int64, events int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, known := s.own[h]
	if !known && len(s.own) >= perShard || second >= s.sweep {
		s.tidy(second)
	}
	if !known && len(s.own) >= perShard {
		if s.shared == nil {
			s.shared = make([]window, shared)
		}
		return s.shared[h/shards%shared].add(second, ends, events)
	}
	n := w.add(second, ends, events)
	s.own[h] = w
	return n
}

// add counts in a window, in the next one where it is over.
func (w *window) add(second, ends int64, events int) int {
	if second >= w.ends {
		*w = window{ends: ends}
	}
	w.count = int32(min(int64(w.count)+int64(events), 1<<30))
	return int(w.count)
}

// tidy drops the windows that are over, at most once a second.
func (s *shard) tidy(second int64) {
	full := s.sweep - int64(sweepEvery/time.Second) // when the last sweep was
	if second == full {
		return
	}
	s.sweep = second + int64(sweepEvery/time.Second)
	kept := make(map[uint64]window)
	for h, w := range s.own {
		if second < w.ends {
			kept[h] = w
		}
	}
	s.own = kept // a map does not give memory back
	for _, w := range s.shared {
		if second < w.ends {
			return
		}
	}
	s.shared = nil
}

// Len is how many counters are kept, for tests and metrics.
func (c *Counter) Len() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.own) + len(s.shared)
		s.mu.Unlock()
	}
	return n
}
