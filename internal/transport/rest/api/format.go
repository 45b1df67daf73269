package api

import (
	"net/http"
	"reflect"
	"strings"

	"tenon/internal/base/errs"
)

// formatSuffix may end the path of a GET or HEAD to name the format of the answer.
const formatSuffix = ".json"

// find looks up a method and an escaped path. A path that ends in .json names the thing
// with this whole name first. For GET and HEAD, short is the match without the suffix: its
// endpoint is called where the whole name leads to nothing. Free captures, such as
// references and file paths, are only ever taken whole.
func (n *node) find(method, escaped string) (whole, short match) {
	whole = n.lookup(method, escaped)
	base, ok := strings.CutSuffix(strings.TrimSuffix(escaped, "/"), formatSuffix)
	if !ok || base == "" || strings.HasSuffix(base, "/") {
		return whole, match{}
	}
	if method != http.MethodGet && method != http.MethodHead {
		if whole.leaf == nil && whole.allowed == 0 {
			whole.allowed = n.lookup(http.MethodOptions, base).allowed & bit(http.MethodGet)
		}
		return whole, match{}
	}
	if whole.leaf != nil && whole.endsFree() {
		return whole, match{}
	}
	short = n.lookup(method, base)
	if whole.leaf == nil && whole.allowed == 0 || short.leaf != nil && (whole.leaf == nil || !whole.sound()) {
		return short, match{}
	}
	return whole, short
}

// endsFree reports whether the path ends in a free capture.
func (m match) endsFree() bool {
	n := len(m.leaf.captures)
	return n > 0 && m.leaf.captures[n-1].last && m.leaf.captures[n-1].free
}

// sound reports whether the parameters take what the path captured: 1.json is no number.
func (m match) sound() bool {
	for i, c := range m.leaf.captures {
		f := m.leaf.route.plan.find(c.name)
		v := reflect.New(f.typ).Elem()
		if f.set(v, m.values[i], &decoding{}, c.name) == refused || !f.allows(v) {
			return false
		}
	}
	return true
}

// runShort calls the endpoint of the path without its suffix for a caller who is signed in
// and counted already.
func (x *exchange) runShort(m match) error {
	if m.leaf.route != x.route {
		x.route, x.captured, x.counted = m.leaf.route, m.leaf.captures, false
		if !x.As.SignedIn() && !x.route.public {
			return errs.New(errs.Unauthorized, "")
		}
		if err := x.scoped(); err != nil {
			return err
		}
	}
	return x.run(m)
}
