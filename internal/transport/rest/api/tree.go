package api

import (
	"net/url"
	"slices"
	"strings"
)

// A pattern is a path such as /projects/:id/repository/archive{.format}: words,
// :name for one segment, {.name} for an optional suffix of a word, and *name last
// for the rest of the path with its slashes.

// node is one place in the tree of paths.
type node struct {
	words    map[string]*node
	suffixed []suffixed // words with an optional suffix
	param    *node      // one segment
	rest     *node      // everything that follows
	routes   []*leaf    // the routes that end here, one per method
}

type suffixed struct {
	word string
	node *node
}

// leaf is a route at one of its paths (it may have aliases), with the names of
// what the path captures, in order.
type leaf struct {
	route    *Route
	captures []capture
}

// capture is one parameter in a path.
type capture struct {
	name string
	kind captureKind
	free bool     // a reference or file path: dots and slashes are the endpoint's to judge
	last bool     // nothing follows it in the path
	only []string // for a suffix: the values that exist
}

type captureKind int

const (
	segment captureKind = iota
	suffix
	remainder
)

// insert adds a path for a route. It says what is wrong with a pattern that cannot stand.
func (n *node) insert(pattern string, captures []capture, route *Route) string {
	at := n
	for _, part := range segments(pattern) {
		switch {
		case strings.HasPrefix(part, ":"):
			if at.param == nil {
				at.param = &node{}
			}
			at = at.param
		case strings.HasPrefix(part, "*"):
			if at.rest == nil {
				at.rest = &node{}
			}
			at = at.rest
		case strings.HasSuffix(part, "}"):
			at = at.suffix(part[:strings.IndexByte(part, '{')])
		default:
			next := at.words[part]
			if next == nil {
				if at.words == nil {
					at.words = map[string]*node{}
				}
				next = &node{}
				at.words[part] = next
			}
			at = next
		}
	}
	for _, l := range at.routes {
		if l.route.method == route.method {
			return "is declared twice"
		}
	}
	at.routes = append(at.routes, &leaf{route: route, captures: captures})
	return ""
}

func (n *node) suffix(word string) *node {
	for _, s := range n.suffixed {
		if s.word == word {
			return s.node
		}
	}
	s := suffixed{word: word, node: &node{}}
	n.suffixed = append(n.suffixed, s)
	return s.node
}

func segments(path string) []string {
	return strings.Split(strings.Trim(path, "/"), "/")
}

// match is the outcome of looking up a path.
type match struct {
	leaf    *leaf
	values  []string // of the captures, unescaped once
	allowed methods  // of every route with this path
	absent  methods  // with which the path is unknown, see [Route.Without]
}

// lookup finds the route of a method and an escaped path below the prefix. A path
// that fits several patterns takes words before parameters, and takes the first
// pattern that has the method.
func (n *node) lookup(method, escaped string) match {
	path := strings.TrimPrefix(escaped, "/")
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	w := walker{method: method}
	if !w.walk(n, path, w.buffer[:0]) {
		w.leaf = nil
	}
	return w.match
}

type walker struct {
	method string
	buffer [8]string
	match
}

// walk tries every way through the tree and reports whether one was taken.
func (w *walker) walk(at *node, path string, raw []string) bool {
	part, after, more := strings.Cut(path, "/")
	if word, ok := unescapePath(part); ok {
		if next := at.words[word]; next != nil && w.step(next, after, more, raw) {
			return true
		}
		for _, s := range at.suffixed {
			if tail, ok := strings.CutPrefix(word, s.word); ok && (tail == "" || tail[0] == '.' && tail != ".") {
				if w.step(s.node, after, more, append(raw, strings.TrimPrefix(tail, "."))) {
					return true
				}
			}
		}
	}
	if at.param != nil && part != "" && w.step(at.param, after, more, append(raw, part)) {
		return true
	}
	return at.rest != nil && path != "" && w.step(at.rest, "", false, append(raw, path))
}

func (w *walker) step(next *node, path string, more bool, raw []string) bool {
	if more {
		return w.walk(next, path, raw)
	}
	return w.finish(next, raw)
}

// finish ends a way through the tree: the captured values are judged, and the
// route of the method is taken.
func (w *walker) finish(at *node, raw []string) bool {
	for _, l := range at.routes {
		if l.route.method == w.method || w.method == "HEAD" && l.route.method == "GET" {
			values, ok := l.values(raw)
			w.leaf, w.values = l, values
			return ok
		}
	}
	for _, l := range at.routes {
		if _, ok := l.values(raw); ok {
			w.allowed |= bit(l.route.method)
			w.absent |= l.route.absent
		}
	}
	return false
}

// values unescapes what the path captured, each value exactly once, and refuses
// what could be taken for another path.
func (l *leaf) values(raw []string) ([]string, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	out := make([]string, len(raw))
	for i, value := range raw {
		c := l.captures[i]
		if c.kind == suffix { // unescaped with its word
			if value != "" && c.only != nil && !slices.Contains(c.only, value) {
				return nil, false
			}
			out[i] = value
			continue
		}
		value, ok := unescapePath(value)
		if !ok {
			return nil, false
		}
		if !c.free && hasDotPart(value) {
			return nil, false
		}
		out[i] = value
	}
	return out, true
}

// hasDotPart reports whether a part between slashes is "." or "..", or empty.
func hasDotPart(value string) bool {
	if !strings.ContainsAny(value, "./") {
		return value == ""
	}
	for part := range strings.SplitSeq(value, "/") {
		if part == "" || part == "." || part == ".." {
			return true
		}
	}
	return false
}

func unescapePath(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	out, err := url.PathUnescape(s)
	return out, err == nil
}

// methods is a set of request methods.
type methods uint8

// verbs is every method of the API, in the order of an Allow header.
var verbs = [...]string{"OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

func bit(method string) methods {
	for i, v := range verbs {
		if v == method {
			return 1 << i
		}
	}
	return 0
}

// allow returns the header for a path with these methods: OPTIONS is always there,
// HEAD wherever GET is.
func (m methods) allow() string {
	m |= bit("OPTIONS")
	if m&bit("GET") != 0 {
		m |= bit("HEAD")
	}
	var out []string
	for i, v := range verbs {
		if m&(1<<i) != 0 {
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}
