// Package page reads lists part by part: by offset, or by a cursor that names the row at
// the edge of a page, so that rows added or removed in between shift nothing.
package page

import (
	"errors"
	"slices"
)

// MaxCounted is where counting ends: the total of a longer list is MaxCounted + 1.
const MaxCounted = 10_000

// The refusals of a Range.
var (
	// ErrOrder is returned if a list in this order has no cursors.
	ErrOrder = errors.New("the order of this list has no cursors")
	// ErrCursor is returned for a cursor that was not made for this list and order.
	ErrCursor = errors.New("cursor is invalid")
)

// Range says which part of a list is read. The zero value is the whole list.
type Range struct {
	Limit     int    // rows at most; 0 for all of them, which only the server itself asks for
	Offset    int    // rows to skip; with a Limit and without Keyset only
	Keyset    bool   // read by Cursor instead of Offset; counted where Counted says so
	Cursor    string // where the page begins, "" for the start of the list
	Back      bool   // read the page that ends at Cursor, or at the end of the list
	Uncounted bool   // leave Total out
	Counted   bool   // with Keyset: count the list in the statement that reads the page
}

// Page is one part of a list.
type Page[T any] struct {
	Items   []T
	Total   int  // rows of the whole list, MaxCounted + 1 for more; -1 where they were not counted
	Keyset  bool // was read by cursor
	HasNext bool // rows follow; only counted pages by offset leave this to Total
	HasPrev bool // rows precede

	order Order
	edges [][]*string  // values of the order's columns, row by row; of keyset pages only
	ends  [2][]*string // the first and the last of edges
}

// After is the cursor for the page that begins after row i. It is "" unless the page was
// read by cursor.
func (p *Page[T]) After(i int) string { return p.cursor(p.edge(i), forward) }

// Before is the cursor for the page that ends before row i. It is "" unless the page was
// read by cursor.
func (p *Page[T]) Before(i int) string { return p.cursor(p.edge(i), backward) }

// Next is the cursor for the page that follows, "" at the end of the list.
func (p *Page[T]) Next() string {
	if !p.HasNext {
		return ""
	}
	return p.cursor(p.ends[1], forward)
}

// Prev is the cursor for the page before this one, "" at the start of the list.
func (p *Page[T]) Prev() string {
	if !p.HasPrev {
		return ""
	}
	return p.cursor(p.ends[0], backward)
}

func (p *Page[T]) edge(i int) []*string {
	if i < 0 || i >= len(p.edges) {
		return nil
	}
	return p.edges[i]
}

func (p *Page[T]) cursor(edge []*string, direction string) string {
	if edge == nil {
		return ""
	}
	return p.order.encode(edge, direction)
}

// Map returns the page with each item in another form.
func Map[T, U any](p Page[T], form func(item *T) U) Page[U] {
	out := With(p, make([]U, len(p.Items)))
	for i := range p.Items {
		out.Items[i] = form(&p.Items[i])
	}
	return out
}

// With returns the page with as many other items.
func With[T, U any](p Page[T], items []U) Page[U] {
	return Page[U]{
		Items: items, Total: p.Total, Keyset: p.Keyset, HasNext: p.HasNext, HasPrev: p.HasPrev,
		order: p.order, edges: p.edges, ends: p.ends,
	}
}

// Without returns the page without the items that are gone by now. It leads on as before.
func Without[T any](p Page[T], gone func(item *T) bool) Page[T] {
	out := With(p, make([]T, 0, len(p.Items)))
	out.edges = nil
	for i := range p.Items {
		if gone(&p.Items[i]) {
			continue
		}
		out.Items = append(out.Items, p.Items[i])
		if p.edges != nil {
			out.edges = append(out.edges, p.edges[i])
		}
	}
	return out
}

// Pointers returns the page with pointers to its items.
func Pointers[T any](p Page[T]) Page[*T] { return Map(p, func(item *T) *T { return item }) }

// None is a page of a list without rows.
func None[T any](r Range) Page[T] {
	p := Page[T]{Items: []T{}, Keyset: r.Keyset}
	if r.Keyset && !r.Counted || r.Uncounted {
		p.Total = -1
	}
	return p
}

// cut takes the row away that was read only to see whether there is one, and turns a page
// that was read backwards round.
func (p *Page[T]) cut(c *Cut) {
	limit, more := c.limit, c.limit > 0 && len(p.Items) > c.limit
	if more {
		p.Items = p.Items[:limit]
		if p.edges != nil {
			p.edges = p.edges[:limit]
		}
	}
	switch {
	case !c.keyset:
		p.HasNext, p.HasPrev = more, c.offset > 0
	case c.back:
		slices.Reverse(p.Items)
		slices.Reverse(p.edges)
		p.HasNext, p.HasPrev = c.edge != nil && len(p.Items) > 0, more
	default:
		p.HasNext, p.HasPrev = more, c.edge != nil && len(p.Items) > 0
	}
	if n := len(p.edges); n > 0 {
		p.ends = [2][]*string{p.edges[0], p.edges[n-1]}
	}
}
