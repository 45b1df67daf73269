package tree

import (
	"context"
	"fmt"
	"reflect"

	"tenon/internal/base/db"
)

// row is a row of a relation, and where it is.
type row struct {
	value  reflect.Value // of the row type
	parent int64
	id     int64
	at     db.Time // by which rows are sorted, where they are by a time
	by     int64   // by which rows are sorted, where they are by a number
}

// asked are the rows that a read is about: those of a relation with a file of its own, or those nested in rows of a kind.
type asked struct {
	of      string // kind of the parents
	parents []int64
	after   *row // nil begins
	rows    int  // at most
	bytes   int64
}

// source reads rows of a relation, in order.
type source interface {
	read(ctx context.Context, r *Reading, q asked) (rows []row, whole bool, err error)
}

// Query reads a relation from the database. The kit reads it in parts, each after the last row of the one before, and the rows
// nested in many rows at once.
type Query[T any] struct {
	Columns string // of T
	From    string
	ID      string // column that numbers the rows: all, or those of one parent
	Parent  string // column that names the parent of nested rows; "" for a relation with a file

	// ParentOf has the column for each kind of parents, in place of Parent, where they differ.
	ParentOf map[string]string

	// Among selects the rows of parents by an index where Parent is no column of one. It may be nil.
	Among func(w *db.Where, parents []int64)

	// By and ByTime are columns that rows are sorted by before ID.
	By, ByTime string

	// Where selects what the user may read; of is the kind of the rows that these are nested in. Nil means nothing.
	Where func(ctx context.Context, r *Reading, of string) (*db.Where, error)

	// Fill completes rows that were read, in a number of statements that does not depend on theirs. It may be nil.
	Fill func(ctx context.Context, r *Reading, rows []T) error
}

// Rows describes a relation that is read from the database.
func Rows[T any](rel Relation, q Query[T]) Relation {
	rel.File = q.Parent == "" && q.ParentOf == nil
	return made(rel, reflect.TypeFor[T](), q)
}

// many bounds the rows of a read.
const many = 1000

func (q Query[T]) read(ctx context.Context, r *Reading, a asked) ([]row, bool, error) {
	w, err := q.Where(ctx, r, a.of)
	if err != nil || w == nil {
		return nil, true, err
	}
	if q.ParentOf != nil {
		q.Parent = q.ParentOf[a.of]
	}
	if q.Parent != "" {
		w.In(q.Parent, a.parents)
	}
	if q.Among != nil {
		q.Among(w, a.parents)
	}
	keys := []string{q.ID}
	var sorted any
	fresh := func(out *row) []any {
		into := []any{&out.id}
		if q.Parent != "" {
			into = append(into, &out.parent)
		}
		switch {
		case q.ByTime != "":
			into = append(into, &out.at)
		case q.By != "":
			into = append(into, &out.by)
		}
		return into
	}
	extra, order := ", "+q.ID+" AS tree_id", q.ID
	if q.Parent != "" {
		extra, order, keys = extra+", "+q.Parent+" AS tree_parent", q.Parent+", "+q.ID, []string{q.Parent, q.ID}
	}
	by := q.By + q.ByTime
	if by != "" {
		extra, order, keys = extra+", "+by+" AS tree_by", by+", "+q.ID, []string{by, q.ID}
	}
	if a.after != nil {
		switch {
		case q.ByTime != "":
			sorted = a.after.at
		case q.By != "":
			sorted = a.after.by
		case q.Parent != "":
			sorted = a.after.parent
		}
		if sorted == nil {
			w.And(keys[0]+" > ?", a.after.id)
		} else {
			w.And("("+keys[0]+", "+keys[1]+") > (?, ?)", sorted, a.after.id)
		}
	}
	var places []*row
	found, _, whole, err := db.SelectSome[T](ctx, r.DB, a.bytes, func() []any {
		place := &row{}
		places = append(places, place)
		return fresh(place)
	}, "SELECT "+q.Columns+extra+" FROM "+q.From+w.SQL()+" ORDER BY "+order+" LIMIT ?", append(w.Args(), a.rows)...)
	if err != nil {
		return nil, false, fmt.Errorf("read relation: %w", err)
	}
	places = places[len(places)-len(found):]
	if q.Fill != nil && len(found) > 0 {
		if err := q.Fill(ctx, r, found); err != nil {
			return nil, false, fmt.Errorf("read relation: %w", err)
		}
	}
	out := make([]row, len(found))
	for i := range found {
		out[i] = *places[i]
		out[i].value = reflect.ValueOf(&found[i]).Elem()
	}
	return out, whole && len(found) < a.rows, nil
}

// One describes a relation of one object, which read returns; nil means null.
func One[T any](rel Relation, read func(ctx context.Context, r *Reading) (*T, error)) Relation {
	rel.File, rel.Single = true, true
	return made(rel, reflect.TypeFor[T](), one[T](read))
}

type one[T any] func(ctx context.Context, r *Reading) (*T, error)

func (o one[T]) read(ctx context.Context, r *Reading, _ asked) ([]row, bool, error) {
	found, err := o(ctx, r)
	if err != nil || found == nil {
		return nil, true, err
	}
	return []row{{value: reflect.ValueOf(found).Elem(), id: r.At.ID}}, true, nil
}

// Past describes a relation that only old archives have.
func Past[T any](rel Relation) Relation {
	return made(rel, reflect.TypeFor[T](), one[T](func(context.Context, *Reading) (*T, error) { return nil, nil }))
}

// Below describes a nested relation whose rows are not in the database: read hands those of the parents to yield, which fails where
// there is no more room.
func Below[T any](rel Relation, read func(ctx context.Context, r *Reading, parents []int64, yield func(parent int64, row T) error) error) Relation {
	return made(rel, reflect.TypeFor[T](), below[T](read))
}

type below[T any] func(ctx context.Context, r *Reading, parents []int64, yield func(parent int64, row T) error) error

// each hands rows on as they are read, so that no more than one is in memory.
func (b below[T]) each(ctx context.Context, r *Reading, parents []int64, yield func(row) error) error {
	return b(ctx, r, parents, func(parent int64, v T) error {
		return yield(row{value: reflect.ValueOf(&v).Elem(), parent: parent})
	})
}

func (b below[T]) read(ctx context.Context, r *Reading, a asked) (out []row, whole bool, err error) {
	err = b.each(ctx, r, a.parents, func(one row) error {
		out = append(out, one)
		return nil
	})
	return out, true, err
}

// stream is a source that hands on one row at a time.
type stream interface {
	each(ctx context.Context, r *Reading, parents []int64, yield func(row) error) error
}
