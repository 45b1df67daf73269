package tree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Bounds of what a reading keeps in memory.
const (
	// MaxLine bounds what is nested in a line, in bytes. Importers of the format refuse lines of 50 MB.
	MaxLine = 40 << 20

	batchBytes = 8 << 20 // of all lines that are made together, where they are more than one
	readBytes  = 2 << 20 // texts of the rows of one read
	batchRows  = 100
)

// errMuch ends a batch that is made again with fewer rows.
var errMuch = errors.New("the rows nested in a batch are too many")

// room is what is left for the rows of a batch.
type room struct {
	left int64
	cut  *Relation // of a batch of one row, in which nested rows that do not fit are left out
}

// take reports whether there is room for an object.
func (m *room) take(n int) (bool, error) {
	if m.left -= int64(n); m.left >= 0 {
		return true, nil
	}
	if m.cut == nil {
		return false, errMuch
	}
	m.left += int64(n)
	return false, nil
}

// Mark is a place between two rows of a relation.
type Mark struct{ after *row }

// Lines hands each row of a relation with a file to fn as an object of JSON, with what is nested in it. The slice is reused.
func (r *Reading) Lines(ctx context.Context, rel *Relation, fn func(line []byte) error) error {
	_, _, err := r.Some(ctx, rel, Mark{}, math.MaxInt, fn)
	return err
}

// Some is Lines for as many rows as most, from a mark on. It returns the mark after the last one, and whether it was the last of all.
func (r *Reading) Some(ctx context.Context, rel *Relation, from Mark, most int, fn func(line []byte) error) (Mark, bool, error) {
	for most > 0 {
		rows, whole, err := rel.source.read(ctx, r, asked{after: from.after, rows: min(most, many), bytes: readBytes})
		if err != nil {
			return from, false, fmt.Errorf("relation %s: %w", rel.Name, err)
		}
		for part := range slices.Chunk(rows, batchRows) {
			if err := r.batch(ctx, rel, part, fn); err != nil {
				return from, false, fmt.Errorf("relation %s: %w", rel.Name, err)
			}
		}
		if whole || len(rows) == 0 {
			return from, true, nil
		}
		from.after = &rows[len(rows)-1]
		most -= len(rows)
	}
	return from, false, nil
}

// batch makes the lines of rows, in halves where what is nested in them is too much at once.
func (r *Reading) batch(ctx context.Context, rel *Relation, rows []row, fn func(line []byte) error) error {
	m := &room{left: batchBytes}
	if len(rows) == 1 {
		m.left, m.cut = MaxLine, rel
	}
	lines, err := r.objects(ctx, rel, rows, m)
	if errors.Is(err, errMuch) {
		half := len(rows) / 2
		if err := r.batch(ctx, rel, rows[:half], fn); err != nil {
			return err
		}
		return r.batch(ctx, rel, rows[half:], fn)
	}
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line == nil {
			continue
		}
		if err := fn(line); err != nil {
			return err
		}
	}
	return nil
}

// objects writes rows with what is nested in them; nil for one that does not fit.
func (r *Reading) objects(ctx context.Context, rel *Relation, rows []row, m *room) ([][]byte, error) {
	before := m.left
	nested := make([]map[int64][][]byte, len(rel.Children))
	for i, name := range rel.Children {
		keys := map[int64]bool{}
		for j := range rows {
			if key, ok := rel.shape.key(&rows[j], name); ok {
				keys[key] = true
			}
		}
		found, err := r.below(ctx, r.All.named[name], rel.Kind, slices.Sorted(maps.Keys(keys)), m)
		if err != nil {
			return nil, err
		}
		nested[i] = found
	}
	m.left = before // what is nested is in the rows that are counted now
	out := make([][]byte, len(rows))
	for j := range rows {
		object, err := r.object(ctx, rel, &rows[j], nested)
		if err != nil {
			return nil, err
		}
		if m.cut == rel {
			return [][]byte{object}, nil
		}
		fits, err := m.take(len(object))
		if err != nil {
			return nil, err
		}
		if !fits {
			r.lose(rel)
			continue
		}
		out[j] = object
	}
	return out, nil
}

func (r *Reading) lose(rel *Relation) {
	if r.Lost == nil {
		r.Lost = map[string]int{}
	}
	r.Lost[rel.Name]++
}

// object writes one row.
func (r *Reading) object(ctx context.Context, rel *Relation, one *row, nested []map[int64][][]byte) ([]byte, error) {
	w := newWriter()
	w.open()
	for _, a := range rel.Attributes {
		w.name(a.Name)
		if err := w.value(one.value.FieldByIndex(a.index)); err != nil {
			return nil, err
		}
	}
	for _, more := range rel.more {
		if err := r.extend(ctx, w, more); err != nil {
			return nil, err
		}
	}
	for _, name := range rel.Absent {
		w.name(name)
		w.buf.WriteString("null")
	}
	for i, name := range rel.Children {
		child := r.All.named[name]
		var rows [][]byte
		if key, ok := rel.shape.key(one, name); ok {
			rows = nested[i][key]
		}
		w.nested(child, rows)
	}
	for _, name := range rel.Lacking {
		w.name(name)
		w.buf.WriteString("[]")
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes(), nil
}

// extend writes the attributes that another package has for an object.
func (r *Reading) extend(ctx context.Context, w *writer, more *Relation) error {
	rows, _, err := more.source.read(ctx, r, asked{rows: many, bytes: readBytes})
	if err != nil {
		return err
	}
	for _, a := range more.Attributes {
		w.name(a.Name)
		if len(rows) == 0 {
			w.buf.WriteString("null")
			continue
		}
		if err := w.value(rows[0].value.FieldByIndex(a.index)); err != nil {
			return err
		}
	}
	return nil
}

// below reads the rows of a nested relation, by the keys of their parents.
func (r *Reading) below(ctx context.Context, rel *Relation, of string, parents []int64, m *room) (map[int64][][]byte, error) {
	out := map[int64][][]byte{}
	if len(parents) == 0 {
		return out, nil
	}
	add := func(rows []row) error {
		objects, err := r.objects(ctx, rel, rows, m)
		for i, object := range objects {
			if object != nil {
				out[rows[i].parent] = append(out[rows[i].parent], object)
			}
		}
		return err
	}
	if from, ok := rel.source.(stream); ok {
		return out, from.each(ctx, r, parents, func(one row) error { return add([]row{one}) })
	}
	for part := range slices.Chunk(parents, many) {
		q := asked{of: of, parents: part, rows: many, bytes: readBytes}
		for {
			rows, whole, err := rel.source.read(ctx, r, q)
			if err != nil {
				return nil, err
			}
			if err := add(rows); err != nil {
				return nil, err
			}
			if whole || len(rows) == 0 {
				break
			}
			q.after = &rows[len(rows)-1]
		}
	}
	return out, nil
}
