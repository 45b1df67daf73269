package exec

import (
	"context"
	"reflect"
)

// under is what the values of a type are made around.
type under struct {
	goType reflect.Type
	of     func(value any) any
}

// from returns the way from a value to what it is made around, nil where that has another type.
func (u *under) from(t reflect.Type) func(value any) any {
	if u == nil || u.goType != t {
		return nil
	}
	return u.of
}

// Extend says that the values of an object type are of the Go type P, made around a U: fields that are
// bound for U are answered of that. It comes before anything is bound for the type.
func Extend[P, U any](s *Schema, typ string, of func(value P) U) {
	o := s.objects[typ]
	if o == nil || !s.adopt(o, reflect.TypeFor[P]()) {
		s.problem("%s cannot be extended", typ)
		return
	}
	o.under = &under{reflect.TypeFor[U](), func(value any) any { return of(value.(P)) }}
}

// through answers a field of what its parents are made around; nil leaves the binding as it is.
func (b binding) through(of func(value any) any) binding {
	if of == nil {
		return b
	}
	if value := b.value; value != nil {
		b.value = func(parent any) any { return value(of(parent)) }
	}
	if batch := b.batch; batch != nil {
		b.batch = func(ctx context.Context, q *query, parents []any) ([]any, error) {
			inner := make([]any, len(parents))
			for i, p := range parents {
				inner[i] = of(p)
			}
			return batch(ctx, q, inner)
		}
	}
	return b
}
