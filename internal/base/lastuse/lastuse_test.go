package lastuse_test

import (
	"testing"
	"time"

	"tenon/internal/base/lastuse"
)

func TestTimes(t *testing.T) {
	var times lastuse.Times[int]
	if got := times.Take(); len(got) != 0 {
		t.Errorf("nothing was noted, got %v", got)
	}
	noon := time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC)
	times.Note(1, noon)
	times.Note(2, noon)
	taken := times.Take()
	if _, ok := times.Last(1); ok || len(taken) != 2 {
		t.Errorf("after Take: %d taken, 1 still noted: %v", len(taken), ok)
	}
	times.Note(1, noon.Add(time.Hour))
	times.GiveBack(taken)
	for key, want := range map[int]time.Time{1: noon.Add(time.Hour), 2: noon} {
		if got, ok := times.Last(key); !ok || !got.Equal(want) {
			t.Errorf("%d: %v, want %v", key, got, want)
		}
	}
}

func TestLoop(t *testing.T) {
	var l lastuse.Loop
	l.Stop() // without Start
	called := make(chan struct{})
	l.Start(time.Millisecond, func() {
		select {
		case called <- struct{}{}:
		default:
		}
	})
	<-called
	l.Stop()
	l.Stop()
}

func TestCounts(t *testing.T) {
	var c lastuse.Counts[string]
	c.Add("a", 1)
	c.Add("a", 2)
	if got := c.Pending(); got["a"] != 3 {
		t.Errorf("pending: %v, want a: 3", got)
	}
	taken := c.Take()
	c.Add("a", 1)
	c.GiveBack(taken)
	if got := c.Take(); len(got) != 1 || got["a"] != 4 || len(c.Take()) != 0 {
		t.Errorf("got %v, want a: 4 and nothing afterwards", got)
	}
}
