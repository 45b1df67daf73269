package coretest

import (
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/setting"
)

// Setter changes settings of the instance for a test.
func Setter(t *testing.T, store *setting.Store) func(name string, value any) {
	return func(name string, value any) {
		t.Helper()
		if err := store.Set(t.Context(), name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// CheckRoom calls store n times at once. As many calls as there is room for succeed, and the
// others are TooLarge.
func CheckRoom(t *testing.T, n, room int, store func(i int) error) {
	t.Helper()
	var stored atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			switch err := store(i); {
			case err == nil:
				stored.Add(1)
			case !errs.Is(err, errs.TooLarge):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := int(stored.Load()); got != room {
		t.Errorf("%d of %d calls at once were let in, want the %d that there is room for", got, n, room)
	}
}
