package exec

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Trim takes what nothing answers out of the schema, and the types that are not reached without
// it. It returns the fields, as Type.field.
func (s *Schema) Trim() []string {
	var gone []string
	for changed := true; changed; {
		changed = false
		for _, name := range slices.Sorted(maps.Keys(s.types.Types)) {
			def := s.types.Types[name]
			if def.Kind != ast.Object && def.Kind != ast.Interface {
				continue
			}
			kept := slices.DeleteFunc(slices.Clone(def.Fields), func(f *ast.FieldDefinition) bool { return !s.answered(def, f) })
			if len(kept) == len(def.Fields) {
				continue
			}
			changed = true
			for _, f := range def.Fields {
				if !slices.Contains(kept, f) && def.Kind == ast.Object {
					gone = append(gone, name+"."+f.Name)
				}
			}
			def.Fields = kept
		}
	}
	s.reach()
	slices.Sort(gone)
	return gone
}

// answered reports whether a field is answered, and its type has fields that are.
func (s *Schema) answered(def *ast.Definition, f *ast.FieldDefinition) bool {
	if to := s.types.Types[f.Type.Name()]; to.Kind == ast.Object && len(to.Fields) == 0 {
		return false
	}
	if o := s.objects[def.Name]; o != nil {
		return o.fields[f.Name] != nil
	}
	of := slices.DeleteFunc(slices.Clone(s.of(def.Name)), func(o *object) bool { return len(o.def.Fields) == 0 }) // is left out
	return len(of) > 0 && !slices.ContainsFunc(of, func(o *object) bool { return o.def.Fields.ForName(f.Name) == nil })
}

// reach drops the types that no root leads to.
func (s *Schema) reach() {
	reached := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		def := s.types.Types[name]
		if def == nil || reached[name] {
			return
		}
		reached[name] = true
		for _, f := range def.Fields {
			visit(f.Type.Name())
			for _, a := range f.Arguments {
				visit(a.Type.Name())
			}
		}
		for _, name := range def.Interfaces {
			visit(name)
		}
		if def.IsAbstractType() {
			for _, t := range s.types.GetPossibleTypes(def) {
				if len(t.Fields) > 0 {
					visit(t.Name)
				}
			}
		}
	}
	for _, root := range []*ast.Definition{s.types.Query, s.types.Mutation, s.types.Subscription} {
		if root != nil && len(root.Fields) > 0 {
			visit(root.Name)
		}
	}
	if s.types.Mutation != nil && !reached[s.types.Mutation.Name] {
		s.types.Mutation = nil
	}
	if s.types.Subscription != nil && !reached[s.types.Subscription.Name] {
		s.types.Subscription = nil
	}
	hollow := func(name string) bool {
		def := s.types.Types[name]
		return !reached[name] || def == nil || len(def.Fields) == 0
	}
	for name, def := range s.types.Types {
		if !reached[name] && !def.BuiltIn {
			delete(s.types.Types, name)
			delete(s.objects, name)
			continue
		}
		// An interface or a union that has lost all or some of its types.
		s.types.PossibleTypes[name] = slices.DeleteFunc(s.types.PossibleTypes[name], func(d *ast.Definition) bool { return !reached[d.Name] })
		def.Types = slices.DeleteFunc(def.Types, func(name string) bool { return !reached[name] })
		def.Interfaces = slices.DeleteFunc(def.Interfaces, func(name string) bool { return hollow(name) })
	}
	for name, def := range s.types.Types {
		if def.Kind == ast.Interface && hollow(name) {
			delete(s.types.Types, name)
		}
	}
}
