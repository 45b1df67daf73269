package lru_test

import (
	"testing"

	"tenon/internal/base/lru"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := lru.New(3 * 1000)
	for _, key := range []string{"a", "b", "c"} {
		c.Put(key, key+"!", 700)
	}
	if v, ok := lru.Get[string](c, "a"); !ok || v != "a!" {
		t.Errorf("a: got %q, %t", v, ok)
	}
	c.Put("d", "d!", 700) // b was not used for longest
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := lru.Get[string](c, key); ok != want {
			t.Errorf("%s is there: got %t, want %t", key, ok, want)
		}
	}
	c.Put("large", "x", 1500) // with what an entry takes itself more than half
	if _, ok := lru.Get[string](c, "large"); ok {
		t.Error("large: kept, though it takes more than half of the room")
	}
	if _, ok := lru.Get[int](c, "a"); ok {
		t.Error("a: given as a number")
	}
	c.Clear()
	if _, ok := lru.Get[string](c, "a"); ok {
		t.Error("a: there after Clear")
	}
}
