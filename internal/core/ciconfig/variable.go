package ciconfig

import (
	"maps"
	"strings"
)

// Lookup returns the value of a variable; ok is false where it is not set. A nil Lookup has none.
type Lookup func(key string) (value string, ok bool)

// Of returns a Lookup of the variables of a list.
func Of(vars []Variable) Lookup {
	if len(vars) == 0 {
		return nil
	}
	m := make(map[string]string, len(vars))
	for _, v := range vars {
		m[v.Key] = v.Value
	}
	return OfMap(m)
}

// OfMap returns a Lookup of a copy of a map.
func OfMap(m map[string]string) Lookup {
	m = maps.Clone(m)
	return func(key string) (string, bool) {
		v, ok := m[key]
		return v, ok
	}
}

// First returns a Lookup that asks others in order.
func First(of ...Lookup) Lookup {
	return func(key string) (string, bool) {
		for _, l := range of {
			if v, ok := l.get(key); ok {
				return v, true
			}
		}
		return "", false
	}
}

func (l Lookup) get(key string) (string, bool) {
	if l == nil {
		return "", false
	}
	return l(key)
}

// MaxExpanded is the number of bytes that Expand adds at most; what follows stays as it is written.
const MaxExpanded = 1 << 20

// Expand replaces $NAME, ${NAME} and %NAME% in a text by values, which are not expanded again. $$ and %% stay as they are.
// A variable that is not set becomes "".
func Expand(text string, l Lookup) string {
	return expand(text, func(_, key string) string {
		v, _ := l.get(key)
		return v
	})
}

// ExpandKnown is Expand, but leaves what is not set as it is written.
func ExpandKnown(text string, l Lookup) string {
	return expand(text, func(written, key string) string {
		if v, ok := l.get(key); ok {
			return v
		}
		return written
	})
}

func expand(text string, value func(written, key string) string) string {
	if !strings.ContainsAny(text, "$%") {
		return text
	}
	var b strings.Builder
	for added := 0; text != "" && added < MaxExpanded; {
		i := strings.IndexAny(text, "$%")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		n, key := reference(text)
		if key == "" {
			b.WriteString(text[:n])
		} else {
			v := value(text[:n], key)
			added += len(v)
			b.WriteString(v)
		}
		text = text[n:]
	}
	b.WriteString(text)
	return b.String()
}

// reference reads a variable at the start of a text that begins with $ or %. Where key is "", the first n bytes are none.
func reference(text string) (n int, key string) {
	if len(text) > 1 && text[1] == text[0] {
		return 2, ""
	}
	open, end := 1, ""
	switch {
	case text[0] == '%':
		end = "%"
	case strings.HasPrefix(text, "${"):
		open, end = 2, "}"
	}
	stop := open
	for stop < len(text) && isWord(text[stop]) {
		stop++
	}
	if stop == open || !strings.HasPrefix(text[stop:], end) {
		return 1, ""
	}
	return stop + len(end), text[open:stop]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
