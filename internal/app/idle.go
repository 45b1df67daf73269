package app

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// idleness notices when no user has asked for anything for a while, and gives memory back.
type idleness struct {
	running atomic.Int64
	served  atomic.Int64 // requests so far
	percent atomic.Int64 // garbage collection as it was before the rest, 0 while awake
}

// busy counts a request in, and out when the result is called.
func (i *idleness) busy() (done func()) {
	i.running.Add(1)
	i.served.Add(1)
	if i.percent.Load() != 0 {
		i.wake()
	}
	return func() { i.running.Add(-1) }
}

// restAfter is how long no user must have asked for anything.
const restAfter = 10 * time.Second

// restPercent is how far the heap may grow at rest before garbage is collected. At work
// it may grow further, which saves time; at rest no user waits, and what polling for jobs
// leaves would otherwise add up to several times of what is in use.
const restPercent = 25

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
			i.rest()
			debug.FreeOSMemory()
			rested = true
		}
	}
}

// rest has garbage collected often, unless a user keeps to less or to none already.
func (i *idleness) rest() {
	before := debug.SetGCPercent(restPercent)
	if before <= restPercent {
		debug.SetGCPercent(before)
		return
	}
	i.percent.Store(int64(before))
}

// wake ends the rest.
func (i *idleness) wake() {
	if before := i.percent.Swap(0); before != 0 {
		debug.SetGCPercent(int(before))
	}
}

// trim gives up what git and the database keep only to be fast.
func (a *App) trim() {
	a.git.Trim()
	if err := a.db.Trim(context.Background()); err != nil {
		a.log.Warn("trim memory", "error", err)
	}
}
