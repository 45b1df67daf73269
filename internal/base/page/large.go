package page

import (
	"fmt"
	"hash/maphash"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/lru"
)

// largeFor is how long rows that were more than MaxCounted are taken for as many, without being
// counted again. Who reads a long list page by page does not wait for a count with each of them; a list
// that becomes short meanwhile has its total that much later.
const largeFor = 10 * time.Second

// large is a statement with its values that gave more than MaxCounted.
type large uint64

var largeSeed = maphash.MakeSeed()

func largeKey(query string, args []any) large {
	var h maphash.Hash
	h.SetSeed(largeSeed)
	_, _ = h.WriteString(query) // a hash takes all
	for _, arg := range args {
		_, _ = fmt.Fprintf(&h, "\x00%T\x00%v", arg, arg)
	}
	return large(h.Sum64())
}

// known reports whether the statement gave more than MaxCounted a short while ago.
func (l large) known(d *db.DB) bool {
	until, ok := lru.Get[time.Time](d.Known(), l)
	return ok && time.Now().Before(until)
}

// learn keeps what the statement gave.
func (l large) learn(d *db.DB, n int) {
	if n > MaxCounted {
		d.Known().Put(l, time.Now().Add(largeFor), 0)
	}
}
