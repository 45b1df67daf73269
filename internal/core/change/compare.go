package change

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"tenon/internal/base/db"
)

// tag names a value of a row as the API does, where its column has another name or none: labels and
// people that other tables hold. With the option secret its values stay out of [Fact.Changes] and [Attributes], as do those of
// columns that hold something sealed or a digest: secrets, and what is for administrators alone, such as the
// addresses of clients. "-" is for what is of the reader and not of the row.
const tag = "change"

// attribute is a value of a row that is compared.
type attribute struct {
	name   string
	secret bool
	index  []int
}

// layouts has the attributes of each type that was compared. It is a global because types do not change.
var layouts sync.Map

// attributes lists what is compared of rows of a type, in the order of its fields.
func attributes(t reflect.Type) []attribute {
	if known, ok := layouts.Load(t); ok {
		return known.([]attribute)
	}
	var out []attribute
	for _, f := range reflect.VisibleFields(t) {
		column, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		name, option, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name == "" && column != "-" {
			name = column
		}
		if name != "" && name != "-" && f.IsExported() {
			secret := option == "secret" || strings.Contains(column, "sealed") || strings.Contains(column, "digest")
			out = append(out, attribute{name, secret, f.Index})
		}
	}
	layouts.Store(t, out)
	return out
}

// Has reports whether one of the columns differs between two states of a row. None does where one
// of the two is nil.
func Has[T any](before, after *T, columns ...string) bool {
	return some(before, after, func(name string) bool { return slices.Contains(columns, name) })
}

// HasOther reports whether a column beside these differs between two states of a row.
func HasOther[T any](before, after *T, columns ...string) bool {
	return some(before, after, func(name string) bool { return !slices.Contains(columns, name) })
}

func some[T any](before, after *T, is func(name string) bool) bool {
	found := false
	if before != nil && after != nil {
		differ(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), func(a attribute, _, _ reflect.Value) bool {
			found = is(a.name)
			return !found
		})
	}
	return found
}

// differ calls fn with each value that differs between two rows, until it returns false.
func differ(before, after reflect.Value, fn func(a attribute, was, is reflect.Value) bool) {
	for _, a := range attributes(before.Type()) {
		was, is := before.FieldByIndex(a.index), after.FieldByIndex(a.index)
		if !same(was, is) && !fn(a, was, is) {
			return
		}
	}
}

// Former returns the row before a change, and an empty one where the row was created.
func Former[T any](before *T) *T {
	if before == nil {
		return new(T)
	}
	return before
}

// Sets compares what a row holds of another table: rows by their ids, other values as they are.
func Sets[E any](before, after []E) (added, removed []E) {
	without := func(list, others []E) []E {
		return slices.DeleteFunc(slices.Clone(list), func(e E) bool {
			return slices.ContainsFunc(others, func(o E) bool { return same(reflect.ValueOf(o), reflect.ValueOf(e)) })
		})
	}
	return without(after, before), without(before, after)
}

// same compares two values of a row. Rows in a list are the same where their ids are, and a list
// that is empty is as one that is nil.
func same(a, b reflect.Value) bool {
	switch at := a.Interface().(type) {
	case db.Time:
		return at.Equal(b.Interface().(db.Time).Time)
	case time.Time:
		return at.Equal(b.Interface().(time.Time))
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if id, ok := identity(a.Type()); ok {
			return same(a.FieldByIndex(id), b.FieldByIndex(id))
		}
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// identity is the field that holds the id of a row.
func identity(t reflect.Type) ([]int, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("db") == "id" {
			return f.Index, true
		}
	}
	return nil, false
}
