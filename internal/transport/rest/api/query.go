package api

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// The limits of what one request may carry. They stand far above what real
// clients send and below what hurts.
const (
	maxDepth    = 32      // nesting of parameters
	maxPairs    = 4096    // pairs of a query or form, parts of a multipart body
	maxEntries  = 50_000  // entries of one JSON array or object
	maxElements = 100_000 // values of a JSON body, all levels together
)

// errMalformed is a request that cannot be read at all: it is answered with the
// plain text "Bad Request" before any endpoint sees it.
var errMalformed = errors.New("malformed request")

// parseQuery reads a query string or a form body into nested parameters.
func parseQuery(into *object, raw string) error {
	pairs := 0
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		if pairs++; pairs > maxPairs {
			return errMalformed
		}
		key, value, hasValue := strings.Cut(pair, "=")
		key, err := unescapeQuery(key)
		if err != nil {
			return err
		}
		var v any
		if hasValue {
			s, err := unescapeQuery(value)
			if err != nil {
				return err
			}
			v = s
		}
		if err := nest(into, key, v); err != nil {
			return err
		}
	}
	return nil
}

// unescapeQuery decodes percent and plus, and refuses what no parameter may hold.
func unescapeQuery(s string) (string, error) {
	if strings.ContainsAny(s, "%+") {
		out := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			switch c := s[i]; c {
			case '+':
				out = append(out, ' ')
			case '%':
				if i+2 >= len(s) {
					return "", errMalformed
				}
				hi, ok1 := unhex(s[i+1])
				lo, ok2 := unhex(s[i+2])
				if !ok1 || !ok2 {
					return "", errMalformed
				}
				out = append(out, hi<<4|lo)
				i += 2
			default:
				out = append(out, c)
			}
		}
		s = string(out)
	}
	return s, clean(s)
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// clean refuses NUL bytes and invalid UTF-8.
func clean(s string) error {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return errMalformed
	}
	return nil
}

// nest puts a value where its key with brackets says: a, a[], a[k], a[][k] and
// every combination. Keys that ask for two shapes at one place are malformed.
func nest(into *object, key string, v any) error {
	depth := 0
	for {
		if depth++; depth > maxDepth {
			return errMalformed
		}
		name, after := splitKey(key)
		switch {
		case name == "":
			return nil
		case after == "" || after == "[":
			into.set(name, v)
			return nil
		case strings.HasPrefix(after, "[]"):
			l, err := childList(into, name)
			if err != nil {
				return err
			}
			rest := after[2:]
			if rest == "" {
				l.items = append(l.items, v)
				return nil
			}
			child := child(l, rest)
			if child == nil {
				child = &object{}
				l.items = append(l.items, child)
			}
			into, key = child, rest
		default:
			o, err := childObject(into, name)
			if err != nil {
				return err
			}
			into, key = o, after
		}
	}
}

// splitKey takes the first name off a key: "a[b][c]" is "a" and "[b][c]",
// "[b][c]" is "b" and "[c]".
func splitKey(key string) (name, after string) {
	bracketed := strings.HasPrefix(key, "[")
	key = strings.TrimLeft(key, "[]")
	if bracketed {
		if end := strings.IndexByte(key, ']'); end >= 0 {
			return key[:end], key[end+1:]
		}
		return key, ""
	}
	if open := strings.IndexByte(key, '['); open >= 0 {
		return strings.TrimRight(key[:open], "]"), key[open:]
	}
	return key, ""
}

func childList(into *object, name string) (*list, error) {
	v, ok := into.get(name)
	if !ok || v == nil {
		l := &list{}
		into.set(name, l)
		return l, nil
	}
	if l, ok := v.(*list); ok {
		return l, nil
	}
	return nil, errMalformed
}

func childObject(into *object, name string) (*object, error) {
	v, ok := into.get(name)
	if !ok || v == nil {
		o := &object{}
		into.set(name, o)
		return o, nil
	}
	if o, ok := v.(*object); ok {
		return o, nil
	}
	return nil, errMalformed
}

// child returns the last element of an array of objects when the key may still be
// added to it; a key that it holds already starts the next element.
func child(l *list, rest string) *object {
	if len(l.items) == 0 {
		return nil
	}
	last, ok := l.items[len(l.items)-1].(*object)
	if !ok || holds(last, rest) {
		return nil
	}
	return last
}

// holds reports whether the object has a value at the bracketed key. A key that
// appends to an array is never held.
func holds(o *object, key string) bool {
	if strings.Contains(key, "[]") {
		return false
	}
	for depth := 0; depth <= maxDepth; depth++ {
		name, after := splitKey(key)
		if name == "" {
			return false
		}
		v, ok := o.get(name)
		if !ok {
			return false
		}
		if after == "" {
			return true
		}
		if o, ok = v.(*object); !ok {
			return false
		}
		key = after
	}
	return false
}
