package api

import (
	"cmp"
	"reflect"
	"slices"
)

// LaterField is a field of a response that is there already, with the value the
// reference has for "none", while its data comes with a later piece of work.
type LaterField struct {
	Entity string // the public name of the response type
	Field  string // its JSON name
	With   string // what brings the data, from the tag `later:"ci"`
}

// Later lists the fields tagged so in everything the routes answer, sorted.
func (k *Kit) Later() []LaterField {
	seen := map[reflect.Type]bool{}
	var out []LaterField
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] || t == timeType || t.ConvertibleTo(timeType) {
			return
		}
		seen[t] = true
		for _, f := range jsonFields(t) {
			if f.later != "" {
				out = append(out, LaterField{Entity: entityName(t), Field: f.name, With: f.later})
			}
			walk(f.typ)
		}
	}
	for _, r := range k.routes {
		if body, _ := resultOf(r.result); body != nil {
			walk(body)
		}
	}
	slices.SortFunc(out, func(a, b LaterField) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Field, b.Field), cmp.Compare(a.With, b.With))
	})
	return slices.Compact(out)
}
