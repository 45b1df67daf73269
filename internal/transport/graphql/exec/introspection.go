package exec

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
)

// introspection binds the fields __schema and __type. What they say about the types is the work
// of a library that reads schemas of the parser in use here.
func (s *Schema) introspection() {
	type named struct{ Name string }
	type deprecated struct{ IncludeDeprecated bool }
	Batch(s, "Query.__schema", func(context.Context, *Call[None], []RootValue) ([]*introspection.Schema, error) {
		return []*introspection.Schema{introspection.WrapSchema(s.types)}, nil
	})
	Batch(s, "Query.__type", func(_ context.Context, c *Call[named], _ []RootValue) ([]*introspection.Type, error) {
		return []*introspection.Type{introspection.WrapTypeFromDef(s.types, s.types.Types[c.Args.Name])}, nil
	})

	Value(s, "__Schema.description", (*introspection.Schema).Description)
	Value(s, "__Schema.types", func(v *introspection.Schema) []*introspection.Type { return pointers(v.Types()) })
	Value(s, "__Schema.queryType", (*introspection.Schema).QueryType)
	Value(s, "__Schema.mutationType", (*introspection.Schema).MutationType)
	Value(s, "__Schema.subscriptionType", (*introspection.Schema).SubscriptionType)
	Value(s, "__Schema.directives", func(v *introspection.Schema) []*introspection.Directive { return pointers(v.Directives()) })

	Value(s, "__Type.kind", (*introspection.Type).Kind)
	Value(s, "__Type.name", (*introspection.Type).Name)
	Value(s, "__Type.description", (*introspection.Type).Description)
	Value(s, "__Type.specifiedByURL", (*introspection.Type).SpecifiedByURL)
	Value(s, "__Type.isOneOf", (*introspection.Type).IsOneOf)
	Value(s, "__Type.ofType", (*introspection.Type).OfType)
	ValueWith(s, "__Type.fields", func(v *introspection.Type, a deprecated) *[]*introspection.Field {
		return listed(v, pointers(v.Fields(a.IncludeDeprecated)), "OBJECT", "INTERFACE")
	})
	Value(s, "__Type.interfaces", func(v *introspection.Type) *[]*introspection.Type {
		return listed(v, pointers(v.Interfaces()), "OBJECT", "INTERFACE")
	})
	Value(s, "__Type.possibleTypes", func(v *introspection.Type) *[]*introspection.Type {
		return listed(v, pointers(v.PossibleTypes()), "INTERFACE", "UNION")
	})
	ValueWith(s, "__Type.enumValues", func(v *introspection.Type, a deprecated) *[]*introspection.EnumValue {
		return listed(v, pointers(v.EnumValues(a.IncludeDeprecated)), "ENUM")
	})
	ValueWith(s, "__Type.inputFields", func(v *introspection.Type, a deprecated) *[]*introspection.InputValue {
		return listed(v, current(v.InputFields(), a.IncludeDeprecated), "INPUT_OBJECT")
	})

	Value(s, "__Field.description", (*introspection.Field).Description)
	Value(s, "__Field.isDeprecated", (*introspection.Field).IsDeprecated)
	Value(s, "__Field.deprecationReason", (*introspection.Field).DeprecationReason)
	ValueWith(s, "__Field.args", func(v *introspection.Field, a deprecated) []*introspection.InputValue {
		return current(v.Args, a.IncludeDeprecated)
	})
	Struct[*introspection.Field](s, "__Field")

	Value(s, "__InputValue.description", (*introspection.InputValue).Description)
	Value(s, "__InputValue.isDeprecated", (*introspection.InputValue).IsDeprecated)
	Value(s, "__InputValue.deprecationReason", (*introspection.InputValue).DeprecationReason)
	Struct[*introspection.InputValue](s, "__InputValue")

	Value(s, "__EnumValue.description", (*introspection.EnumValue).Description)
	Value(s, "__EnumValue.isDeprecated", (*introspection.EnumValue).IsDeprecated)
	Value(s, "__EnumValue.deprecationReason", (*introspection.EnumValue).DeprecationReason)
	Struct[*introspection.EnumValue](s, "__EnumValue")

	Value(s, "__Directive.description", (*introspection.Directive).Description)
	ValueWith(s, "__Directive.args", func(v *introspection.Directive, a deprecated) []*introspection.InputValue {
		return current(v.Args, a.IncludeDeprecated)
	})
	for name, locations := range placesOfDirectives {
		Value(s, "__Directive."+name, func(v *introspection.Directive) bool {
			return slices.ContainsFunc(v.Locations, func(at string) bool { return slices.Contains(locations, at) })
		})
	}
	Struct[*introspection.Directive](s, "__Directive")
}

// placesOfDirectives are the fields of directives that locations replaced, with what they stand for. Clients of before 2018 ask for them.
var placesOfDirectives = map[string][]string{
	"onOperation": {"QUERY", "MUTATION", "SUBSCRIPTION"}, "onFragment": {"FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"}, "onField": {"FIELD"},
}

// addPlaces adds these fields, as deprecated ones, to the type that the parser brings.
func addPlaces(types *ast.Schema) {
	def := types.Types["__Directive"]
	reason := &ast.Argument{Name: "reason", Value: &ast.Value{Raw: "Use `locations`.", Kind: ast.StringValue}}
	for _, name := range []string{"onOperation", "onFragment", "onField"} {
		def.Fields = append(def.Fields, &ast.FieldDefinition{
			Name: name, Type: ast.NonNullNamedType("Boolean", nil),
			Directives: ast.DirectiveList{{Name: "deprecated", Arguments: ast.ArgumentList{reason}, Definition: types.Directives["deprecated"]}},
		})
	}
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// listed returns a list for types of certain kinds, and nil for the others, as introspection has it.
func listed[T any](t *introspection.Type, list []T, kinds ...string) *[]T {
	for _, k := range kinds {
		if t.Kind() == k {
			return &list
		}
	}
	return nil
}

func current(args []introspection.InputValue, deprecated bool) []*introspection.InputValue {
	var out []*introspection.InputValue
	for i := range args {
		if deprecated || !args[i].IsDeprecated() {
			out = append(out, &args[i])
		}
	}
	return out
}
