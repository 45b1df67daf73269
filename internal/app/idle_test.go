package app

import (
	"runtime/debug"
	"testing"
)

// It is not parallel: the pace of garbage collection belongs to the whole process.
func TestIdleness_rest(t *testing.T) {
	at := func() int {
		now := debug.SetGCPercent(400)
		debug.SetGCPercent(now)
		return now
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var i idleness
	i.rest()
	if got := at(); got != restPercent {
		t.Errorf("at rest %d, want %d", got, restPercent)
	}
	i.busy()()
	if got := at(); got != 400 {
		t.Errorf("after a request %d, want 400", got)
	}
	for _, own := range []int{-1, 10} { // off, or more eager than we are
		debug.SetGCPercent(own)
		i.rest()
		if got := at(); got != own {
			t.Errorf("at rest %d, want %d", got, own)
		}
		i.busy()()
		if got := at(); got != own {
			t.Errorf("after a request %d, want %d", got, own)
		}
	}
}
