package ratelimit

import (
	"sync"
	"time"
)

// maxBans is how many networks are kept out at a time.
const maxBans = 16_384

// Bans keeps networks out for a while. It is safe for concurrent use.
//
// Where there is no room for one more, no caller is let in for it: the new one is not kept out.
type Bans struct {
	now func() time.Time

	mu    sync.Mutex
	until map[Network]time.Time
	swept time.Time
}

// NewBans makes a list that reads this clock.
func NewBans(now func() time.Time) *Bans { return &Bans{now: now, until: make(map[Network]time.Time)} }

// Ban keeps a network out for so long from now on.
func (b *Bans) Ban(n Network, how time.Duration) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.until) >= maxBans && now.Sub(b.swept) >= time.Second {
		b.swept = now
		for other, until := range b.until {
			if !now.Before(until) {
				delete(b.until, other)
			}
		}
	}
	if _, known := b.until[n]; known || len(b.until) < maxBans {
		b.until[n] = now.Add(how)
	}
}

// Banned reports whether a network is kept out.
func (b *Bans) Banned(n Network) bool {
	b.mu.Lock()
	until, known := b.until[n]
	b.mu.Unlock()
	if !known {
		return false
	}
	if b.now().Before(until) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until[n].Equal(until) {
		delete(b.until, n)
	}
	return false
}
