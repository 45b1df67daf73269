package page

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Slice cuts a page out of a list that is in memory as a whole and sorted by order. Keys
// gives the values of the order's columns in an item: an int64, a string, a time.Time or a
// bool each.
func Slice[T any](all []T, r Range, o Order, keys func(item *T) []any) (Page[T], error) {
	c, err := r.Cut(o)
	if err != nil {
		return Page[T]{}, err
	}
	p := Page[T]{order: o, Keyset: c.keyset, Total: len(all), Items: all}
	if !c.keyset {
		from := min(c.offset, len(all))
		p.Items = all[from:]
		if c.limit > 0 {
			p.Items = p.Items[:min(c.limit, len(p.Items))]
		}
		p.HasNext, p.HasPrev = from+len(p.Items) < len(all), c.offset > 0
		if r.Uncounted {
			p.Total = -1
		}
		return p, nil
	}
	if !c.counted {
		p.Total = -1
	}
	p.Items = slices.Clone(all)
	if c.back {
		slices.Reverse(p.Items)
	}
	if c.edge != nil {
		from, _ := slices.BinarySearchFunc(p.Items, c.edge, func(item T, edge []any) int {
			if c.compare(keys(&item), edge) > 0 {
				return 1
			}
			return -1
		})
		p.Items = p.Items[from:]
	}
	if c.limit > 0 {
		p.Items = p.Items[:min(c.limit+1, len(p.Items))]
	}
	p.edges = make([][]*string, len(p.Items))
	for i := range p.Items {
		for _, v := range keys(&p.Items[i]) {
			p.edges[i] = append(p.edges[i], textOf(v))
		}
	}
	p.cut(c)
	return p, nil
}

// compare says which of two rows is read first.
func (c *Cut) compare(a, b []any) int {
	for i, col := range c.order {
		n := col.order(a[i], b[i])
		if col.desc != c.back {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

// order compares two values of the column, from the smallest to the largest.
func (c Column) order(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		if c.compare != nil {
			return c.compare(a, b.(string))
		}
		return cmp.Compare(a, b.(string))
	case bool:
		return cmp.Compare(strconv.FormatBool(a), strconv.FormatBool(b.(bool)))
	case time.Time:
		return a.Compare(b.(time.Time))
	}
	panic("page: a key is no int64, string, time or bool")
}

func textOf(v any) *string {
	var s string
	switch v := v.(type) {
	case int64:
		s = strconv.FormatInt(v, 10)
	case string:
		s = v
	case bool:
		s = strconv.FormatBool(v)
	case time.Time:
		s = v.UTC().Format(time.RFC3339Nano)
	}
	return &s
}
