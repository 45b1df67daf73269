package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/transport/graphql/exec"
)

// asked is the part of a list that a field asks for.
type asked[A any] struct {
	binder *binder
	*exec.Call[A]

	paging paging
	most   int // items of a page
}

func part[A any](b *binder, c *exec.Call[A], p paging, most int) asked[A] {
	return asked[A]{binder: b, Call: c, paging: p, most: most}
}

// lists answers a connection for all parents at once: list gives a page of core for one of them,
// and views the values of all rows together, one for each row. The reads of all pages become as
// many statements as those of one.
func lists[A, P, R, V any](ctx context.Context, a asked[A], parents []P,
	list func(ctx context.Context, parent P, r page.Range) (page.Page[R], error),
	views func(ctx context.Context, rows []R) ([]V, error),
) ([]*exec.Page[V], error) {
	pages := make([]*exec.Page[R], len(parents))
	err := a.binder.Together(ctx, len(parents), func(ctx context.Context, i int) error {
		found, err := read(a.Call, a.paging, a.most, func(r page.Range) (page.Page[R], error) { return list(ctx, parents[i], r) })
		if err = hidden(err); err == nil && found == nil {
			found = &exec.Page[R]{}
		}
		pages[i] = found
		return err
	})
	if err != nil {
		return nil, err
	}
	var rows []R
	for _, found := range pages {
		rows = append(rows, found.Items...)
	}
	all, err := views(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]*exec.Page[V], len(pages))
	for i, found := range pages {
		n := len(found.Items)
		out[i] = &exec.Page[V]{Items: all[:n:n], Cursors: found.Cursors, HasNext: found.HasNext, HasPrevious: found.HasPrevious, Count: found.Count}
		all = all[n:]
	}
	return out, nil
}

// list is lists for a root.
func list[A, R, V any](ctx context.Context, a asked[A],
	list func(ctx context.Context, r page.Range) (page.Page[R], error),
	views func(ctx context.Context, rows []R) ([]V, error),
) (*exec.Page[V], error) {
	out, err := lists(ctx, a, []exec.RootValue{{}}, func(ctx context.Context, _ exec.RootValue, r page.Range) (page.Page[R], error) {
		return list(ctx, r)
	}, views)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// same takes rows as they are.
func same[R any](_ context.Context, rows []R) ([]R, error) { return rows, nil }

// kept answers a connection of items that parents hold already, such as the labels of issues.
func kept[P, V any](b *binder, field string, of func(parent P) []V) {
	exec.Batch(b.Schema, field, func(_ context.Context, c *exec.Call[paging], parents []P) ([]*exec.Page[V], error) {
		out := make([]*exec.Page[V], len(parents))
		for i, p := range parents {
			var err error
			if out[i], err = listOf(c.Args, maxPage, of(p)); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// reader reads things by their ids for a caller: what is gone, or hidden from the caller, is not among
// what it returns.
type reader[K comparable, V any] func(ctx context.Context, as authz.Actor, ids []K) (map[K]V, error)

// one answers a field whose parents name what it returns by an id; zero names nothing. What is read is
// remembered under name.
func one[P any, K comparable, V any](b *binder, field, name string, id func(parent P) K, read reader[K, V]) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], parents []P) ([]V, error) {
		return exec.LoadEach(ctx, c, name, parents, id, func(ctx context.Context, ids []K) (map[K]V, error) { return read(ctx, c.As, ids) })
	})
}

// byID reads one thing by its global id: nil where the caller sees none.
func byID[K ~int64, V any](ctx context.Context, as authz.Actor, id globalID, read reader[K, *V]) (*V, error) {
	found, err := read(ctx, as, []K{K(id.ID)})
	return found[K(id.ID)], hidden(err)
}

// needed is byID for what has to be there.
func needed[K ~int64, V any](ctx context.Context, as authz.Actor, id globalID, read reader[K, *V]) (*V, error) {
	v, err := byID(ctx, as, id, read)
	if err == nil && v == nil {
		err = errNoPlace
	}
	return v, err
}

// firsts answers a field with the first row of a list of each parent: list is asked for a part of
// one row.
func firsts[P, R, V any](ctx context.Context, b *binder, of []P,
	list func(ctx context.Context, parent P, r page.Range) (page.Page[R], error),
	views func(ctx context.Context, rows []R) ([]*V, error),
) ([]*V, error) {
	pages := make([]page.Page[R], len(of))
	err := b.Together(ctx, len(of), func(ctx context.Context, i int) (err error) {
		pages[i], err = list(ctx, of[i], page.Range{Limit: 1, Uncounted: true})
		return hidden(err)
	})
	if err != nil {
		return nil, err
	}
	var rows []R
	for _, p := range pages {
		rows = append(rows, p.Items...)
	}
	all, err := views(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]*V, len(pages))
	for i, p := range pages {
		if len(p.Items) > 0 {
			out[i], all = all[0], all[len(p.Items):]
		}
	}
	return out, nil
}

// aligned returns views in the order of the ids that they were read for: nil where there is none.
func aligned[K comparable, V any](ids []K, views []V, id func(view *V) K) []*V {
	found := make(map[K]*V, len(views))
	for i := range views {
		found[id(&views[i])] = &views[i]
	}
	out := make([]*V, len(ids))
	for i, k := range ids {
		out[i] = found[k]
	}
	return out
}

// pointers returns pointers to the elements of a list.
func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// zeroOr returns what a pointer points to, zero for nil.
func zeroOr[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
