package metrics

import (
	"sync"
	"unicode/utf8"
)

// limited lets the first so many different values of a label through and turns all later
// ones into Other.
type limited struct {
	most int
	mu   sync.RWMutex
	seen map[string]struct{}
}

func newLimited(most int) *limited {
	return &limited{most: most, seen: map[string]struct{}{}}
}

func (l *limited) value(v string) string {
	l.mu.RLock()
	_, known := l.seen[v]
	l.mu.RUnlock()
	if known {
		return v
	}
	if len(v) > 200 || !utf8.ValidString(v) {
		return Other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known = l.seen[v]; known {
		return v
	}
	if len(l.seen) >= l.most {
		return Other
	}
	l.seen[v] = struct{}{}
	return v
}
