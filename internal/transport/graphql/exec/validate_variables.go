package exec

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// variables compares those that an operation declares with those that it and its fragments use.
func (c *checker) variables(op *ast.OperationDefinition) {
	uses := c.uses
	for _, f := range c.reached(op) {
		inner := checker{schema: c.schema, doc: c.doc, spread: map[string]bool{}}
		if def := c.schema.types.Types[f.TypeCondition]; def != nil {
			inner.within("fragment "+f.Name, func() { inner.selections(def, f.SelectionSet) })
		}
		uses = append(uses, inner.uses...)
	}
	name := op.Name
	if name == "" {
		name = "anonymous " + string(op.Operation)
	}
	used, told := map[string]bool{}, map[string]bool{}
	for _, u := range uses {
		used[u.variable] = true
		def := op.VariableDefinitions.ForName(u.variable)
		switch {
		case def == nil && !told[u.variable]:
			told[u.variable] = true
			c.add("variableNotDefined", u.at, map[string]any{"variableName": u.variable}, "Variable $%s is used by %s but not declared", u.variable, name)
		case def != nil && u.expected != nil:
			c.mismatch(def, u)
		}
	}
	for _, def := range op.VariableDefinitions {
		if c.schema.types.Types[def.Type.Name()] == nil {
			c.add("variableRequiresValidType", def.Position, map[string]any{"typeName": def.Type.Name(), "variableName": def.Variable},
				"%s isn't a defined input type (on $%s)", def.Type.Name(), def.Variable)
		}
		if !used[def.Variable] {
			c.add("variableNotUsed", def.Position, map[string]any{"variableName": def.Variable}, "Variable $%s is declared by %s but not used", def.Variable, name)
		}
	}
}

// reached returns the fragments that an operation uses, each once.
func (c *checker) reached(op *ast.OperationDefinition) []*ast.FragmentDefinition {
	var out []*ast.FragmentDefinition
	seen := map[string]bool{}
	var walk func(set ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				walk(sel.SelectionSet)
			case *ast.InlineFragment:
				walk(sel.SelectionSet)
			case *ast.FragmentSpread:
				f := c.doc.Fragments.ForName(sel.Name)
				if f == nil || seen[sel.Name] {
					continue
				}
				seen[sel.Name] = true
				out = append(out, f)
				walk(f.SelectionSet)
			}
		}
	}
	walk(op.SelectionSet)
	return out
}

// mismatch compares the type of a variable with that of the place where it stands.
func (c *checker) mismatch(def *ast.VariableDefinition, u use) {
	given := *def.Type
	if def.DefaultValue != nil && def.DefaultValue.Kind != ast.NullValue {
		given.NonNull = true
	}
	expected := *u.expected
	if u.hasDefault {
		expected.NonNull = false
	}
	why := ""
	switch {
	case given.Name() != expected.Name():
		why = "Type mismatch"
	case dimensions(&given) != dimensions(&expected) && dimensions(&given) != 0:
		why = "List dimension mismatch"
	case !fits(&given, &expected):
		why = "Nullability mismatch"
	}
	if why == "" {
		return
	}
	path := c.path
	c.path = u.path
	c.add("variableMismatch", u.at, map[string]any{
		"variableName": def.Variable, "typeName": def.Type.String(), "argumentName": u.argument, "errorMessage": why,
	}, "%s on variable $%s and argument %s (%s / %s)", why, def.Variable, u.argument, def.Type, u.expected)
	c.path = path
}

func dimensions(t *ast.Type) int {
	n := 0
	for ; t.Elem != nil; t = t.Elem {
		n++
	}
	return n
}

// fits reports whether values of a type may stand where another is expected. A single value may
// stand for a list of one.
func fits(given, expected *ast.Type) bool {
	if expected.NonNull && !given.NonNull {
		return false
	}
	switch {
	case given.Elem != nil && expected.Elem != nil:
		return fits(given.Elem, expected.Elem)
	case expected.Elem != nil:
		return fits(given, expected.Elem)
	}
	return given.Elem == nil
}
