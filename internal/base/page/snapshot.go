package page

import "math"

// A snapshot is a list that never changes, such as the commits that one commit reaches. A
// cursor names the snapshot and a position in it, so that a walk goes on in the same list
// when a newer one has taken its place.
var snapshotOrder = Order{Text("of", ""), ID("")}

// Place is where a page of a snapshot begins.
type Place struct {
	Of     string // name of the snapshot that the cursor is from; "" for the current one
	Offset int
	Limit  int // 0 for all

	r    Range
	back bool
}

// Place reads where the range begins in a snapshot. It returns ErrCursor for a cursor of
// something else.
func (r Range) Place() (Place, error) {
	p := Place{Offset: r.Offset, Limit: r.Limit, r: r}
	if !r.Keyset {
		return p, nil
	}
	p.Offset = 0
	if r.Cursor == "" {
		return p, nil
	}
	edge, back, err := snapshotOrder.decode(r.Cursor)
	if err != nil {
		return p, err
	}
	p.Of, p.back = edge[0].(string), back
	position := int(edge[1].(int64))
	switch {
	case p.Of == "" || position < 0 || position >= math.MaxInt32 || back && position == 0:
		return p, ErrCursor
	case !back:
		p.Offset = position + 1
	default:
		p.Offset = max(0, position-p.Limit)
		p.Limit = position - p.Offset
	}
	return p, nil
}

// Part makes a page of the items that a snapshot has at a place; more says that items
// follow them. A total of -1 is unknown.
func Part[T any](items []T, of string, at Place, more bool, total int) Page[T] {
	p := Page[T]{Items: items, Total: total, HasNext: more, HasPrev: at.Offset > 0, order: snapshotOrder}
	if !at.r.Keyset {
		return p
	}
	if p.Keyset = true; !at.r.Counted {
		p.Total = -1
	}
	p.HasNext = more || at.back
	for i := range items {
		p.edges = append(p.edges, []*string{&of, textOf(int64(at.Offset + i))})
	}
	if n := len(p.edges); n > 0 {
		p.ends = [2][]*string{p.edges[0], p.edges[n-1]}
	}
	return p
}

// Snapshot cuts a page out of a snapshot that is in memory as a whole. A cursor of another
// one is refused with ErrCursor.
func Snapshot[T any](all []T, of string, r Range) (Page[T], error) {
	at, err := r.Place()
	if err != nil {
		return Page[T]{}, err
	}
	if at.Of != "" && at.Of != of {
		return Page[T]{}, ErrCursor
	}
	at.Offset = min(at.Offset, len(all))
	items := all[at.Offset:]
	if at.Limit > 0 {
		items = items[:min(at.Limit, len(items))]
	}
	total := len(all)
	if r.Uncounted {
		total = -1
	}
	return Part(items, of, at, at.Offset+len(items) < len(all), total), nil
}
