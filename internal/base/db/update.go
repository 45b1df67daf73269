package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Row names one row of a table.
type Row struct {
	Table string
	Key   string // column that identifies the row; "" is id
	ID    any    // value of that column
	And   Where  // what identifies the row beside the key, over the columns of the table, with its alias where there is one

	// Columns and From read the row where its type has columns of other tables, which are
	// tagged readonly; Alias is the table's own in From. Where Columns is empty, the columns
	// of the type are read from the table alone.
	Columns string
	From    string
	Alias   string

	// If refuses by the time of the row's last change, its updated_at or else its created_at, once
	// the row is locked. nil refuses nothing.
	If func(changed time.Time) error

	// Missing is returned where there is no row; nil is ErrNotFound.
	Missing error

	// Now stamps the column updated_at where Update writes another column and its function
	// left updated_at alone. nil never does.
	Now func() time.Time
}

// Provided is the row with a condition, see If.
func (r Row) Provided(condition func(changed time.Time) error) Row {
	r.If = condition
	return r
}

// Change is what Update did to a row.
type Change[T any] struct {
	Before  T
	After   T
	Columns []string // that were written, in the order of T's fields; none where nothing changed
}

// Any reports whether the row was written.
func (c *Change[T]) Any() bool { return len(c.Columns) > 0 }

// Has reports whether one of the columns was written.
func (c *Change[T]) Has(columns ...string) bool {
	return slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(c.Columns, name) })
}

// Update is the one way to change a row: it opens or joins a transaction, reads the row,
// locks it until the transaction ends, lets change alter it and writes the columns that
// differ. Readonly fields and fields without a column may be altered as well and are not
// written; a folded column is written with its text. Where no column differs, nothing is written. The columns id, created_at and the
// key never change: to alter one is an error.
//
// The function gets a copy of its own at each run, so that one which runs twice begins
// with the row as it is. It does nothing but SQL with its own ctx, as any closure of
// [DB.InTx]; what it returns as an error undoes the transaction. A row that is not there is
// ErrNotFound, after which a transaction that was joined may go on.
func Update[T any](ctx context.Context, d *DB, r Row, change func(ctx context.Context, row *T) error) (Change[T], error) {
	var out Change[T]
	missing := false
	err := d.InTx(ctx, func(ctx context.Context) error {
		out, missing = Change[T]{}, false
		before, err := lock[T](ctx, d, r)
		if errors.Is(err, ErrNotFound) {
			missing = true
			return nil
		}
		if err != nil {
			return err
		}
		after := before
		detach(reflect.ValueOf(&after).Elem())
		if err := change(ctx, &after); err != nil {
			return err
		}
		columns, err := d.write(ctx, r, reflect.ValueOf(&before).Elem(), reflect.ValueOf(&after).Elem())
		out = Change[T]{Before: before, After: after, Columns: columns}
		return err
	})
	if err != nil {
		return Change[T]{}, err
	}
	if missing {
		return Change[T]{}, r.missing()
	}
	return out, nil
}

// ForUpdate reads a row and locks it until the transaction of ctx ends, without which it is
// an error. It is for what is decided about a row before rows that belong to it change.
func ForUpdate[T any](ctx context.Context, d *DB, r Row) (T, error) {
	row, err := lock[T](ctx, d, r)
	if errors.Is(err, ErrNotFound) {
		return row, r.missing()
	}
	return row, err
}

// lock reads a row, locks it and checks its condition.
func lock[T any](ctx context.Context, d *DB, r Row) (T, error) {
	row, err := readLocked[T](ctx, d, r)
	if err != nil || r.If == nil {
		return row, err
	}
	return row, r.check(d, reflect.ValueOf(&row).Elem())
}

func readLocked[T any](ctx context.Context, d *DB, r Row) (T, error) {
	if d.current(ctx) == nil {
		var zero T
		return zero, errors.New("a row is locked inside a transaction: call it inside InTx, with the ctx of the closure")
	}
	lock := d.dialect.ForUpdate()
	if r.Columns == "" {
		return Get[T](ctx, d, "SELECT "+Columns[T]("")+" FROM "+r.Table+" WHERE "+r.key()+" = ?"+r.And.AndSQL()+lock, r.args()...)
	}
	if lock != "" {
		lock += " OF " + r.Alias
	}
	query := "SELECT " + r.Columns + " FROM " + r.From + " WHERE " + r.Alias + "." + r.key() + " = ?" + r.And.AndSQL() + lock
	row, err := Get[T](ctx, d, query, r.args()...)
	if lock != "" && errors.Is(err, ErrNotFound) {
		// While the statement waited for the lock, the row may have got another row to be
		// joined with, which its snapshot does not show. The next snapshot does.
		return Get[T](ctx, d, query, r.args()...)
	}
	return row, err
}

// check asks If about the row.
func (r *Row) check(d *DB, row reflect.Value) error {
	if row.Kind() == reflect.Struct {
		known := d.fieldsOf(row.Type())
		for _, name := range []string{"updated_at", "created_at"} {
			if f, ok := known[name]; ok {
				switch at := row.FieldByIndex(f.index).Interface().(type) {
				case Time:
					return r.If(at.Time)
				case time.Time:
					return r.If(at)
				}
			}
		}
	}
	return fmt.Errorf("condition on a row of %s: %s has no time of its last change", r.Table, row.Type())
}

func (r *Row) missing() error {
	if r.Missing == nil {
		return ErrNotFound
	}
	return r.Missing
}

func (r *Row) key() string {
	if r.Key == "" {
		return "id"
	}
	return r.Key
}

// target is the table as statements that write it name it.
func (r *Row) target() string {
	if r.Alias == "" {
		return r.Table
	}
	return r.Table + " AS " + r.Alias
}

func (r *Row) args() []any { return append([]any{r.ID}, r.And.Args()...) }

// write stores the columns in which two states of a row differ and names them.
func (d *DB) write(ctx context.Context, r Row, before, after reflect.Value) ([]string, error) {
	var names []string
	var set []string
	var args []any
	var stamp reflect.Value // the field of updated_at, where it may be set here
	for _, c := range d.columnsFor(before.Type()) {
		old, err := bindOne(before.FieldByIndex(c.index).Interface())
		if err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", c.name, r.Table, err)
		}
		field := after.FieldByIndex(c.index)
		next, err := bindOne(field.Interface())
		switch {
		case err != nil:
			return nil, fmt.Errorf("column %s of %s: %w", c.name, r.Table, err)
		case same(old, next):
			if c.name == "updated_at" && r.Now != nil {
				stamp = field
			}
			continue
		case c.name == "id", c.name == "created_at", c.name == r.key():
			return nil, fmt.Errorf("column %s of %s never changes", c.name, r.Table)
		}
		names, set, args = append(names, c.name), append(set, c.name+" = ?"), append(args, next)
		if c.fold != "" {
			set, args = append(set, c.fold+" = ?"), append(args, c.folded(field))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if stamp.IsValid() {
		now := At(r.Now())
		if err := put(stamp, now); err != nil {
			return nil, fmt.Errorf("column updated_at of %s: %w", r.Table, err)
		}
		names, set, args = append(names, "updated_at"), append(set, "updated_at = ?"), append(args, now)
	}
	n, err := d.Exec(ctx, "UPDATE "+r.target()+" SET "+strings.Join(set, ", ")+" WHERE "+r.key()+" = ?"+r.And.AndSQL(), append(args, r.args()...)...)
	if err != nil {
		return nil, err
	}
	if n != 1 {
		return nil, fmt.Errorf("update of one row of %s wrote %d", r.Table, n)
	}
	return names, nil
}

// put sets the field of a time.
func put(field reflect.Value, at Time) error {
	switch to := field.Addr().Interface().(type) {
	case *Time:
		*to = at
	case *time.Time:
		*to = at.Time
	case **Time:
		*to = &at
	default:
		return fmt.Errorf("%T is no time", field.Interface())
	}
	return nil
}

// same compares two bound values.
func same(a, b any) bool {
	if at, ok := a.(time.Time); ok {
		bt, ok := b.(time.Time)
		return ok && at.Equal(bt)
	}
	if ab, ok := a.([]byte); ok {
		bb, ok := b.([]byte)
		return ok && (ab == nil) == (bb == nil) && bytes.Equal(ab, bb)
	}
	if _, ok := b.([]byte); ok {
		return false
	}
	return a == b
}

// Assign sets the columns of a row to what a struct of pointers holds, which are tagged as
// the row's fields; nil leaves a column alone. Where the tag empty:"null" is beside, an
// empty text makes a column that may be NULL so. It panics where the row has no such column
// or one of another type.
func Assign(row, changes any) {
	to, from := reflect.ValueOf(row).Elem(), reflect.ValueOf(changes).Elem()
	var known fields
	for _, f := range reflect.VisibleFields(from.Type()) {
		name := f.Tag.Get("db")
		value := from.FieldByIndex(f.Index)
		if name == "" || name == "-" || value.Kind() != reflect.Pointer || value.IsNil() {
			continue
		}
		if known == nil {
			known = newFields(to.Type())
		}
		of, ok := known[name]
		if !ok {
			panic(fmt.Sprintf("assign: %s has no column %s", to.Type(), name))
		}
		field := to.FieldByIndex(of.index)
		switch {
		case field.Kind() != reflect.Pointer:
			field.Set(value.Elem())
		case f.Tag.Get("empty") == "null" && value.Elem().IsZero():
			field.SetZero()
		default:
			field.Set(value)
			detach(field)
		}
	}
}

// Pick returns what the columns of a row hold that a struct of pointers has tags of, for Assign to another row; NULL is nil.
func Pick[A any](row any) *A {
	out := new(A)
	from, to := reflect.ValueOf(row).Elem(), reflect.ValueOf(out).Elem()
	known := newFields(from.Type())
	for _, f := range reflect.VisibleFields(to.Type()) {
		name := f.Tag.Get("db")
		if name == "" || name == "-" {
			continue
		}
		of, ok := known[name]
		if !ok {
			panic(fmt.Sprintf("pick: %s has no column %s", from.Type(), name))
		}
		field := from.FieldByIndex(of.index)
		if field.Kind() != reflect.Pointer {
			field = field.Addr()
		}
		to.FieldByIndex(f.Index).Set(field)
		detach(to.FieldByIndex(f.Index))
	}
	return out
}

// detach gives an addressable value its own copies of all that it points to, so that a
// change of one copy leaves the other as it was.
func detach(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			detach(to.Elem())
			v.Set(to)
		}
	case reflect.Slice:
		if !v.IsNil() {
			to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(to, v)
			for i := range to.Len() {
				detach(to.Index(i))
			}
			v.Set(to)
		}
	case reflect.Map:
		if !v.IsNil() {
			to := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				element := reflect.New(value.Type()).Elem()
				element.Set(value)
				detach(element)
				to.SetMapIndex(key, element)
			}
			v.Set(to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // what a struct hides, as time.Time does, is a value
				detach(v.Field(i))
			}
		}
	}
}
