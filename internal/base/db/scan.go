package db

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// resultRows is what both engines give for a query: *sql.Rows as it is, or pgRows.
type resultRows interface {
	Columns() ([]string, error)
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// pgRows makes pgx's rows look like those of database/sql.
type pgRows struct{ pgx.Rows }

func (r pgRows) Columns() ([]string, error) {
	fields := r.FieldDescriptions()
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names, nil
}

// Close ends the rows. An error of a statement that failed before its first row is known no sooner.
func (r pgRows) Close() error {
	r.Rows.Close()
	return r.Err()
}

// fields says where the columns of a row type go; nil for a type that is one value.
type fields map[string]field

type field struct {
	index []int
	n     int // of the columns of the type
}

// fieldsOf returns the fields of a row type, which are looked up once per type.
func (d *DB) fieldsOf(t reflect.Type) fields {
	if known, ok := d.fields.Load(t); ok {
		return known.(fields)
	}
	known, _ := d.fields.LoadOrStore(t, newFields(t))
	return known.(fields)
}

func newFields(t reflect.Type) fields {
	// Times count as values, although they are structs.
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]()) {
		return nil
	}
	all := fields{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		other, ok := all[name]
		switch {
		case !ok:
			all[name] = field{f.Index, len(all)}
		case len(f.Index) < len(other.index): // the outer of two hides the inner
			all[name] = field{f.Index, other.n}
		}
	}
	return all
}

// scanner reads the rows of one query into values of one type.
type scanner struct {
	plan

	rows  resultRows
	dest  []any
	apart []any // where the last columns of the current row go
}

// newScanner fits rows to a type; where they do not fit, or have failed, it closes them.
func (d *DB) newScanner(rows resultRows, t reflect.Type, fresh func() []any) (*scanner, error) {
	s, err := d.fit(rows, t, fresh)
	if err == nil {
		return s, nil
	}
	_ = rows.Close()
	if failed := rows.Err(); failed != nil {
		return nil, failed
	}
	return nil, err
}

func (d *DB) fit(rows resultRows, t reflect.Type, fresh func() []any) (*scanner, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	s := &scanner{rows: rows}
	if fresh != nil {
		apart := len(fresh())
		if apart > len(columns) {
			return nil, fmt.Errorf("%d columns do not end in %d more", len(columns), apart)
		}
		columns = columns[:len(columns)-apart]
	}
	s.dest = make([]any, len(columns))
	all := d.fieldsOf(t)
	if all == nil {
		if len(columns) != 1 {
			return nil, fmt.Errorf("%d columns do not fit one %s", len(columns), t)
		}
		return s, nil
	}
	key := planKey{t, strings.Join(columns, ",")}
	if known, ok := d.plans.Load(key); ok {
		s.plan = known.(plan)
		return s, nil
	}
	if s.plan, err = newPlan(all, t, columns); err == nil {
		d.plans.Store(key, s.plan)
	}
	return s, err
}

// planKey is a row type and the columns that a query reads into it.
type planKey struct {
	row     reflect.Type
	columns string
}

// plan says where columns go in a row type.
type plan struct {
	index [][]int // field of each column; nil where the row is one value
	texts [][]int // fields that may hold a long text
}

func newPlan(known fields, t reflect.Type, columns []string) (plan, error) {
	p := plan{index: make([][]int, len(columns))}
	seen := make([]bool, len(known))
	for i, name := range columns {
		of, ok := known[name]
		if !ok {
			return p, fmt.Errorf("column %q has no field in %s", name, t)
		}
		if seen[of.n] {
			return p, fmt.Errorf("column %q comes twice", name)
		}
		seen[of.n] = true
		p.index[i] = of.index
		if hasText(t.FieldByIndex(of.index).Type) {
			p.texts = append(p.texts, of.index)
		}
	}
	return p, nil
}

// hasText reports whether a value of the type may be a long text.
func hasText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// weight is how many bytes of text the row has that out points to.
func (s *scanner) weight(out any) int64 {
	v := reflect.ValueOf(out).Elem()
	if s.index == nil {
		return textWeight(v)
	}
	var sum int64
	for _, index := range s.texts {
		sum += textWeight(v.FieldByIndex(index))
	}
	return sum
}

func textWeight(v reflect.Value) int64 {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0
		}
		v = v.Elem()
	}
	if hasText(v.Type()) {
		return int64(v.Len())
	}
	return 0
}

// scan reads the current row into what out points to.
func (s *scanner) scan(out any) error {
	if s.index == nil {
		s.dest[0] = out
	} else {
		v := reflect.ValueOf(out).Elem()
		for i, index := range s.index {
			s.dest[i] = v.FieldByIndex(index).Addr().Interface()
		}
	}
	return s.rows.Scan(append(s.dest, s.apart...)...)
}

// scanOne reads the only row and closes rows.
func (d *DB) scanOne(rows resultRows, t reflect.Type, out any) (err error) {
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	s, err := d.newScanner(rows, t, nil)
	if err != nil {
		return err
	}
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return ErrNotFound
	}
	if err := s.scan(out); err != nil {
		return err
	}
	if rows.Next() {
		return errors.New("more than one row where one was expected")
	}
	return rows.Err()
}
