// Package pattern compiles regular expressions when they are first used: a start of the
// program matches none of them.
package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// New returns an expression, which is compiled when it is first asked for. One that cannot
// be compiled panics then.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Wildcard matches a name against a pattern in which * stands for any run of
// characters, the empty one and slashes included.
func Wildcard(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], next
	}
}
