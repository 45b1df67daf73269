package exec

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Prune takes what is deprecated out of the schema.
func (s *Schema) Prune() {
	old := func(d ast.DirectiveList) bool { return d.ForName("deprecated") != nil }
	for _, def := range s.types.Types {
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool { return old(f.Directives) })
		def.EnumValues = slices.DeleteFunc(def.EnumValues, func(v *ast.EnumValueDefinition) bool { return old(v.Directives) })
		for _, f := range def.Fields {
			f.Arguments = slices.DeleteFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return old(a.Directives) })
		}
	}
}
