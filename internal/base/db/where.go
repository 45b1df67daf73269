package db

import (
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"
)

// MaxArgs is how many ids one statement may safely name: cut longer lists with
// slices.Chunk(ids, db.MaxArgs).
const MaxArgs = 5000

// Where collects conditions and their arguments together, so that they cannot
// drift apart. The zero value holds for every row. What is added to a copy is not added
// to the original.
type Where struct {
	parts []string
	args  []any
}

// And adds a condition and what its ? marks stand for. A condition with OR is put
// in parentheses by the caller.
func (w *Where) And(condition string, args ...any) {
	w.parts = append(slices.Clip(w.parts), condition)
	w.args = append(slices.Clip(w.args), args...)
}

// Raw adds a condition without arguments, such as "n.deleted_at IS NULL".
func (w *Where) Raw(condition string) { w.And(condition) }

// In adds column IN (ids), where ids is a slice of some kind of ids or strings. An empty
// slice matches nothing.
func (w *Where) In(column string, ids any) {
	w.list(column+" IN (", ids, "1 = 0")
}

// NotIn adds column NOT IN (ids). An empty slice matches everything; otherwise rows
// with NULL in the column do not match.
func (w *Where) NotIn(column string, ids any) {
	w.list(column+" NOT IN (", ids, "1 = 1")
}

func (w *Where) list(open string, ids any, empty string) {
	v := reflect.ValueOf(ids)
	all := make([]any, v.Len())
	for i := range all {
		all[i] = v.Index(i).Interface()
	}
	marks, args := Marks(all)
	if len(args) == 0 {
		w.Raw(empty)
		return
	}
	w.And(open+marks+")", args...)
}

// Equal adds that the columns of a table are what a struct says: each field with the tag db is a column, and selects all
// where it is zero.
func (w *Where) Equal(alias string, selection any) {
	v := reflect.ValueOf(selection)
	for i := range v.NumField() {
		if column := v.Type().Field(i).Tag.Get("db"); column != "" && !v.Field(i).IsZero() {
			w.And(alias+"."+column+" = ?", reflect.Indirect(v.Field(i)).Interface())
		}
	}
}

// Since adds that the time in a column is not before the bound. Nil leaves open.
func (w *Where) Since(column string, at *time.Time) {
	if at != nil {
		w.And(column+" >= ?", At(*at))
	}
}

// Until adds that the time in a column is not after the bound. Nil leaves open. Columns keep
// microseconds and answers have milliseconds: a bound without microseconds holds to the end
// of its millisecond, so that the time of a row as answered includes that row.
func (w *Where) Until(column string, at *time.Time) {
	switch {
	case at == nil:
	case at.Truncate(time.Millisecond).Equal(*at):
		w.And(column+" < ?", At(at.Add(time.Millisecond)))
	default:
		w.And(column+" <= ?", At(*at))
	}
}

// SQL is " WHERE a AND b", or "" where nothing was added.
func (w *Where) SQL() string {
	if len(w.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.parts, " AND ")
}

// AndSQL is " AND a AND b", or "", to follow a condition written in the query.
func (w *Where) AndSQL() string {
	if len(w.parts) == 0 {
		return ""
	}
	return " AND " + strings.Join(w.parts, " AND ")
}

// Args are the arguments of SQL, in order; the result may be appended to.
func (w *Where) Args() []any { return append([]any(nil), w.args...) }

// Marks returns "?,?,?,?" and its arguments for an IN list, each id once. The list is padded to a
// power of two by repeating its first element, so that statement caches hold few
// variants. Without ids it returns "NULL", which matches nothing.
func Marks[T comparable](ids []T) (string, []any) {
	if len(ids) == 0 {
		return "NULL", nil
	}
	seen := make(map[T]bool, len(ids))
	args := make([]any, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			args = append(args, id)
		}
	}
	n := 1 << bits.Len(uint(len(args)-1))
	for len(args) < n {
		args = append(args, ids[0])
	}
	return strings.Repeat("?,", n-1) + "?", args
}
