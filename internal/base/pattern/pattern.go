// Package pattern compiles regular expressions when they are first used: a start of the
// program matches none of them.
package pattern

import (
	"regexp"
	"sync"
)

// New returns an expression, which is compiled when it is first asked for. One that cannot
// be compiled panics then.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
