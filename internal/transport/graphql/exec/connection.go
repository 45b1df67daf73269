package exec

// Page is one part of a list: the value of a connection.
type Page[T any] struct {
	Items []T

	// Cursors names each item for the arguments after and before.
	Cursors []string

	HasNext, HasPrevious bool

	// Count is how many items the list has. It is read where the request asks for it
	// ([Call.Wants]).
	Count int

	// Sum is what the items of the list add up to, such as weights, where a connection has a
	// field for it. It is read as Count is.
	Sum int64
}

// Edge is an item of a connection with its cursor.
type Edge[T any] struct {
	Node   T
	Cursor string
}

// Info is where a page is in its list.
type Info struct {
	HasNextPage, HasPreviousPage bool
	StartCursor, EndCursor       *string
}

func (p *Page[T]) edges() []*Edge[T] {
	out := make([]*Edge[T], len(p.Items))
	for i, item := range p.Items {
		out[i] = &Edge[T]{Node: item}
		if i < len(p.Cursors) {
			out[i].Cursor = p.Cursors[i]
		}
	}
	return out
}

func (p *Page[T]) info() *Info {
	out := &Info{HasNextPage: p.HasNext, HasPreviousPage: p.HasPrevious}
	if n := len(p.Cursors); n > 0 {
		out.StartCursor, out.EndCursor = &p.Cursors[0], &p.Cursors[n-1]
	}
	return out
}

// Connection binds the connection of a type, such as "Issue", and its edge. T is the Go type of
// the items.
func Connection[T any](s *Schema, typ string) {
	name := typ + "Connection"
	o := s.objects[name]
	if o == nil {
		s.problem("%s: there is no such type", name)
		return
	}
	Value(s, name+".nodes", func(p *Page[T]) []T { return p.Items })
	Value(s, name+".edges", (*Page[T]).edges)
	Value(s, name+".pageInfo", (*Page[T]).info)
	if o.def.Fields.ForName("count") != nil {
		Value(s, name+".count", func(p *Page[T]) int { return p.Count })
	}
	Struct[*Edge[T]](s, typ+"Edge")
	if info := s.objects["PageInfo"]; info != nil && info.goType == nil {
		Struct[*Info](s, "PageInfo")
	}
}
