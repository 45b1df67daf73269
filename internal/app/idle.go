package app

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// idleness notices when nobody has asked for anything for a while, and gives memory back.
type idleness struct {
	running atomic.Int64
	served  atomic.Int64 // requests so far
}

// busy counts a request in, and out when the result is called.
func (i *idleness) busy() (done func()) {
	i.running.Add(1)
	i.served.Add(1)
	return func() { i.running.Add(-1) }
}

// restAfter is how long nobody must have asked for anything.
const restAfter = 10 * time.Second

// watch calls trim and returns memory to the system once after each spell of work, until
// ctx ends.
func (i *idleness) watch(ctx context.Context, trim func()) {
	ticks := time.NewTicker(restAfter)
	defer ticks.Stop()
	seen, rested := int64(0), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if now := i.served.Load(); now != seen || i.running.Load() != 0 {
			seen, rested = now, false
			continue
		}
		if !rested {
			trim()
			debug.FreeOSMemory()
			rested = true
		}
	}
}
