package exec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// ruleSet are the rules of the parser's library that stand as they are. The others, for which the
// interface has words and codes, are those of checker.
type ruleSet struct {
	all   *rules.Rules
	plain *rules.Rules // for documents in which no two fields have one place in the answer
}

func newRules() ruleSet {
	plain := []validator.Rule{
		rules.FragmentsOnCompositeTypesRule, rules.KnownDirectivesRule, rules.KnownRootTypeRule,
		rules.LoneAnonymousOperationRule, rules.MaxIntrospectionDepth, rules.NoFragmentCyclesRule,
		rules.PossibleFragmentSpreadsRule, rules.SingleFieldSubscriptionsRule,
		rules.UniqueArgumentNamesRule, rules.UniqueDirectivesPerLocationRule, rules.UniqueFragmentNamesRule,
		rules.UniqueInputFieldNamesRule, rules.UniqueOperationNamesRule, rules.UniqueVariableNamesRule,
		rules.VariablesAreInputTypesRule,
	}
	return ruleSet{all: rules.NewRules(append(slices.Clone(plain), rules.OverlappingFieldsCanBeMergedRule)...), plain: rules.NewRules(plain...)}
}

// of returns the rules that may find something in a document.
func (r ruleSet) of(doc *ast.QueryDocument) *rules.Rules {
	for _, op := range doc.Operations {
		if !apart(op.SelectionSet) {
			return r.all
		}
	}
	for _, f := range doc.Fragments {
		if !apart(f.SelectionSet) {
			return r.all
		}
	}
	return r.plain
}

// apart reports whether each field of a selection, and of what is below it, has a key of its own: it
// is of such fields alone, or of one fragment.
func apart(set ast.SelectionSet) bool {
	if len(set) == 1 {
		if _, ok := set[0].(*ast.FragmentSpread); ok {
			return true
		}
	}
	if !distinct(set) {
		return false
	}
	for _, sel := range set {
		if !apart(sel.(*ast.Field).SelectionSet) {
			return false
		}
	}
	return true
}

// maxMentions is how often one key may are in a document: those that stand side by side are
// compared with each other.
const maxMentions = 250

// crowded returns a key that a document mentions too often, "" for none.
func crowded(doc *ast.QueryDocument) string {
	mentions := map[string]int{}
	var walk func(set ast.SelectionSet) string
	walk = func(set ast.SelectionSet) string {
		for _, sel := range set {
			var key string
			var below ast.SelectionSet
			switch sel := sel.(type) {
			case *ast.Field:
				key, below = sel.Alias, sel.SelectionSet
			case *ast.InlineFragment:
				below = sel.SelectionSet
			case *ast.FragmentSpread:
				key = "..." + sel.Name
			}
			if mentions[key]++; key != "" && mentions[key] > maxMentions {
				return key
			}
			if key := walk(below); key != "" {
				return key
			}
		}
		return ""
	}
	for _, op := range doc.Operations {
		if key := walk(op.SelectionSet); key != "" {
			return key
		}
	}
	for _, f := range doc.Fragments {
		if key := walk(f.SelectionSet); key != "" {
			return key
		}
	}
	return ""
}

// validate returns what is wrong with a document.
func (s *Schema) validate(doc *ast.QueryDocument) []Error {
	if key := crowded(doc); key != "" {
		return []Error{{Message: fmt.Sprintf("'%s' stands in the query more than %d times", key, maxMentions)}}
	}
	known := validator.ValidateWithRules(s.types, doc, s.rules.of(doc))
	c := checker{schema: s, doc: doc, spread: map[string]bool{}}
	for _, op := range doc.Operations {
		c.operation(op)
	}
	for _, f := range doc.Fragments {
		c.fragment(f)
	}
	for _, f := range doc.Fragments {
		c.unused(f)
	}
	out := c.errors
	for _, e := range known {
		own := Error{Message: e.Message}
		for _, l := range e.Locations {
			own.Locations = append(own.Locations, Location{l.Line, l.Column})
		}
		out = append(out, own)
	}
	return out
}

// checker walks a document once, fragments where they are defined.
type checker struct {
	schema *Schema
	doc    *ast.QueryDocument
	errors []Error
	path   []string
	spread map[string]bool // fragments that are used

	// Of the part that is walked: its variables with the arguments that they are for.
	uses []use
}

// use is one variable in the place of an argument or of a part of one.
type use struct {
	variable, argument string
	expected           *ast.Type // nil where nothing is known of it
	hasDefault         bool
	at                 *ast.Position
	path               []string
}

func (c *checker) add(code string, at *ast.Position, extensions map[string]any, format string, args ...any) {
	if len(c.errors) > maxRules {
		return
	}
	e := Error{Message: fmt.Sprintf(format, args...), Locations: locations(at), Path: names(c.path), Extensions: map[string]any{"code": code}}
	for k, v := range extensions {
		e.Extensions[k] = v
	}
	c.errors = append(c.errors, e)
}

// names is a path as errors have it.
func names(path []string) []any {
	out := make([]any, len(path))
	for i, name := range path {
		out[i] = name
	}
	return out
}

// within walks a part of the document below a name.
func (c *checker) within(name string, walk func()) {
	c.path = append(c.path, name)
	walk()
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) operation(op *ast.OperationDefinition) {
	root := map[ast.Operation]*ast.Definition{ast.Query: c.schema.types.Query, ast.Mutation: c.schema.types.Mutation, ast.Subscription: c.schema.types.Subscription}[op.Operation]
	title := strings.TrimSpace(string(op.Operation) + " " + op.Name)
	c.uses = nil
	c.within(title, func() {
		if root == nil {
			kind := string(op.Operation)
			c.add("missing"+strings.ToUpper(kind[:1])+kind[1:]+"Configuration", op.Position, nil, "Schema is not configured for %ss", kind)
			return
		}
		c.directives(op.Directives)
		c.selections(root, op.SelectionSet)
		c.variables(op)
	})
}

func (c *checker) fragment(f *ast.FragmentDefinition) {
	c.within("fragment "+f.Name, func() {
		def := c.schema.types.Types[f.TypeCondition]
		if def == nil {
			c.noType(f.TypeCondition, f.Position)
			return
		}
		c.selections(def, f.SelectionSet)
	})
}

// unused finds fragments that nothing uses, when all of the document was walked: a fragment may be used
// by one that stands after it.
func (c *checker) unused(f *ast.FragmentDefinition) {
	if c.spread[f.Name] || c.schema.types.Types[f.TypeCondition] == nil {
		return
	}
	c.within("fragment "+f.Name, func() {
		c.add("useAndDefineFragment", f.Position, map[string]any{"fragmentName": f.Name}, "Fragment %s was defined, but not used", f.Name)
	})
}

func (c *checker) noType(name string, at *ast.Position) {
	c.add("undefinedType", at, map[string]any{"typeName": name}, "No such type %s, so it can't be a fragment condition", name)
}

func (c *checker) selections(typ *ast.Definition, set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			c.within(sel.Alias, func() { c.field(typ, sel) })
		case *ast.InlineFragment:
			c.directives(sel.Directives)
			on := typ
			if sel.TypeCondition != "" {
				if on = c.schema.types.Types[sel.TypeCondition]; on == nil {
					c.noType(sel.TypeCondition, sel.Position)
					continue
				}
			}
			c.selections(on, sel.SelectionSet)
		case *ast.FragmentSpread:
			c.directives(sel.Directives)
			c.spread[sel.Name] = true
			if c.doc.Fragments.ForName(sel.Name) == nil {
				c.add("useAndDefineFragment", sel.Position, map[string]any{"fragmentName": sel.Name}, "Fragment %s was used, but not defined", sel.Name)
			}
		}
	}
}

func (c *checker) field(typ *ast.Definition, f *ast.Field) {
	c.directives(f.Directives)
	if f.Name == "__typename" {
		return
	}
	def := typ.Fields.ForName(f.Name)
	if def == nil {
		c.add("undefinedField", f.Position, map[string]any{"typeName": typ.Name, "fieldName": f.Name}, "Field '%s' doesn't exist on type '%s'", f.Name, typ.Name)
		return
	}
	c.arguments(taker{"Field", f.Name, f.Position}, def.Arguments, f.Arguments)
	below := c.schema.types.Types[def.Type.Name()]
	mismatch := map[string]any{"nodeName": "field '" + f.Name + "'", "typeName": def.Type.Name()}
	switch {
	case below.IsLeafType() && len(f.SelectionSet) > 0:
		c.add("selectionMismatch", f.Position, mismatch, "Selections can't be made on %ss (field '%s' returns %s but has selections [%s])",
			strings.ToLower(string(below.Kind)), f.Name, def.Type.Name(), strings.Join(selected(f.SelectionSet), ", "))
	case below.IsLeafType():
	case len(f.SelectionSet) == 0:
		c.add("selectionMismatch", f.Position, mismatch, "Field must have selections (field '%[1]s' returns %[2]s but has no selections. Did you mean '%[1]s { ... }'?)", f.Name, def.Type.Name())
	default:
		c.selections(below, f.SelectionSet)
	}
}

func selected(set ast.SelectionSet) []string {
	var out []string
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			out = append(out, sel.Name)
		case *ast.FragmentSpread:
			out = append(out, sel.Name)
		case *ast.InlineFragment:
			out = append(out, sel.TypeCondition)
		}
	}
	return out
}

func (c *checker) directives(list ast.DirectiveList) {
	for _, d := range list {
		if def := c.schema.types.Directives[d.Name]; def != nil {
			c.arguments(taker{"Directive", d.Name, d.Position}, def.Arguments, d.Arguments)
		}
	}
}

// taker is what takes arguments: "Field" or "Directive", and its name.
type taker struct {
	class, name string
	at          *ast.Position
}

func (c *checker) arguments(to taker, defs ast.ArgumentDefinitionList, given ast.ArgumentList) {
	var missing []string
	for _, def := range defs {
		if def.Type.NonNull && def.DefaultValue == nil && given.ForName(def.Name) == nil {
			missing = append(missing, def.Name)
		}
	}
	if len(missing) > 0 {
		names := strings.Join(missing, ", ")
		c.add("missingRequiredArguments", to.at, map[string]any{"className": to.class, "name": to.name, "arguments": names},
			"%s '%s' is missing required arguments: %s", to.class, to.name, names)
	}
	for _, arg := range given {
		c.within(arg.Name, func() {
			def := defs.ForName(arg.Name)
			if def == nil {
				c.add("argumentNotAccepted", arg.Position, map[string]any{"name": to.name, "typeName": to.class, "argumentName": arg.Name},
					"%s '%s' doesn't accept argument '%s'", to.class, to.name, arg.Name)
				return
			}
			c.value(to, arg.Name, def.Type, def.DefaultValue != nil, arg.Value)
		})
	}
}

// value looks at the value of an argument, or of a key of an input object.
func (c *checker) value(to taker, name string, t *ast.Type, hasDefault bool, v *ast.Value) {
	def := c.schema.types.Types[t.Name()]
	switch {
	case v.Kind == ast.Variable:
		c.uses = append(c.uses, use{v.Raw, name, t, hasDefault, v.Position, slices.Clone(c.path)})
		return
	case v.Kind == ast.ListValue && t.Elem != nil:
		for _, e := range v.Children {
			c.value(to, name, t.Elem, false, e.Value)
		}
		return
	case v.Kind == ast.ObjectValue && def.Kind == ast.InputObject:
		c.object(def, v, to.at)
		return
	case v.Kind == ast.ListValue || v.Kind == ast.ObjectValue:
		c.inside(v)
	}
	_, _, err := c.schema.literal(t, v, nil)
	if err == nil {
		return
	}
	message := fmt.Sprintf("Argument '%s' on %s '%s' has an invalid value (%s). Expected type '%s'.", name, to.class, to.name, v, t)
	if _, custom := c.schema.scalars[def.Name]; custom && v.Kind != ast.NullValue {
		message = err.Error()
	}
	c.add("argumentLiteralsIncompatible", to.at, map[string]any{"typeName": to.class, "argumentName": name}, "%s", message)
}

// inside notes the variables in a value that fits nothing.
func (c *checker) inside(v *ast.Value) {
	for _, e := range v.Children {
		if e.Value.Kind == ast.Variable {
			c.uses = append(c.uses, use{variable: e.Value.Raw, at: e.Value.Position})
		}
		c.inside(e.Value)
	}
}

func (c *checker) object(def *ast.Definition, v *ast.Value, at *ast.Position) {
	for _, f := range def.Fields {
		if f.Type.NonNull && f.DefaultValue == nil && v.Children.ForName(f.Name) == nil {
			c.add("missingRequiredInputObjectAttribute", v.Position, map[string]any{"argumentName": f.Name, "argumentType": f.Type.String(), "inputObjectType": def.Name},
				"Argument '%s' on InputObject '%s' is required. Expected type %s", f.Name, def.Name, f.Type)
		}
	}
	to := taker{"InputObject", def.Name, at}
	for _, e := range v.Children {
		c.within(e.Name, func() {
			f := def.Fields.ForName(e.Name)
			if f == nil {
				c.add("argumentNotAccepted", e.Position, map[string]any{"name": def.Name, "typeName": to.class, "argumentName": e.Name},
					"%s '%s' doesn't accept argument '%s'", to.class, def.Name, e.Name)
				return
			}
			c.value(to, e.Name, f.Type, f.DefaultValue != nil, e.Value)
		})
	}
}
