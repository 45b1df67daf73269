package api

import (
	"reflect"
	"slices"
)

// Undeclared is a field of a parameter struct that gets the names of the parameters which
// were sent and which the struct does not declare, in the order they came. It is nil where
// there are none. Without such a field they are ignored.
type Undeclared []string

var undeclaredType = reflect.TypeFor[Undeclared]()

// rest returns the names in given that the plan does not declare.
func (p *plan) rest(given *object) Undeclared {
	var out Undeclared
	for _, name := range given.keys {
		if !slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name || slices.Contains(f.aliases, name) }) {
			out = append(out, name)
		}
	}
	return out
}
