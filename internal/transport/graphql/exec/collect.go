package exec

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// node is one field of the answer: every mention of it in the document under one key.
type node struct {
	key    string
	fields []*ast.Field
	bind   *binding // nil for __typename
	args   map[string]any
	typ    *ast.Definition // that the field is of

	first [1]*ast.Field // what fields begin with
}

func (n *node) definition() *ast.FieldDefinition { return n.fields[0].Definition }

// sets returns what is selected below the field.
func (n *node) sets() []ast.SelectionSet {
	out := make([]ast.SelectionSet, 0, len(n.fields))
	for _, f := range n.fields {
		if len(f.SelectionSet) > 0 {
			out = append(out, f.SelectionSet)
		}
	}
	return out
}

// collector gathers the fields of selection sets under their keys. applies says whether a
// fragment on a type counts.
type collector struct {
	variables map[string]any
	applies   func(condition string) bool
	nodes     []*node
	spread    []string // fragments that were met
}

func (c *collector) add(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if !included(sel.Directives, c.variables) {
				continue
			}
			i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.key == sel.Alias })
			switch {
			case i < 0:
				n := &node{key: sel.Alias, first: [1]*ast.Field{sel}}
				n.fields = n.first[:]
				c.nodes = append(c.nodes, n)
			case !slices.Contains(c.nodes[i].fields, sel):
				c.nodes[i].fields = append(c.nodes[i].fields, sel)
			}
		case *ast.InlineFragment:
			if included(sel.Directives, c.variables) && (sel.TypeCondition == "" || c.applies(sel.TypeCondition)) {
				c.add(sel.SelectionSet)
			}
		case *ast.FragmentSpread:
			if sel.Definition == nil || !included(sel.Directives, c.variables) || slices.Contains(c.spread, sel.Name) {
				continue
			}
			c.spread = append(c.spread, sel.Name)
			if c.applies(sel.Definition.TypeCondition) {
				c.add(sel.Definition.SelectionSet)
			}
		}
	}
}

// included judges the directives skip and include.
func included(directives ast.DirectiveList, variables map[string]any) bool {
	is := func(name string) (value, ok bool) {
		d := directives.ForName(name)
		if d == nil {
			return false, false
		}
		arg := d.Arguments.ForName("if")
		if arg == nil {
			return false, false
		}
		v, err := arg.Value.Value(variables)
		if err != nil {
			return false, false
		}
		value, ok = v.(bool)
		return value, ok
	}
	if skip, ok := is("skip"); ok && skip {
		return false
	}
	include, ok := is("include")
	return !ok || include
}

// collect returns the fields that objects of a type have in the answer.
func (r *run) collect(typ *ast.Definition, sets []ast.SelectionSet) []*node {
	c := collector{variables: r.op.variables, applies: func(condition string) bool { return r.schema.covers(condition, typ.Name) }}
	for _, set := range sets {
		c.add(set)
	}
	o := r.schema.objects[typ.Name]
	for _, n := range c.nodes {
		n.typ = typ
		if name := n.fields[0].Name; name != "__typename" {
			n.bind = o.fields[name]
			n.args = r.schema.arguments(n.fields[0], r.op.variables)
		}
	}
	return c.nodes
}

// covers reports whether objects of a type are of another, which may be abstract.
func (s *Schema) covers(condition, typ string) bool {
	if condition == typ {
		return true
	}
	return slices.ContainsFunc(s.types.PossibleTypes[condition], func(d *ast.Definition) bool { return d.Name == typ })
}

// wants reports whether a field is below selection sets, whatever the types of fragments.
func (r *run) wants(sets []ast.SelectionSet, path []string) bool {
	if len(path) == 0 {
		return true
	}
	c := collector{variables: r.op.variables, applies: func(string) bool { return true }}
	for _, set := range sets {
		c.add(set)
	}
	for _, n := range c.nodes {
		switch name := n.fields[0].Name; {
		case name == path[0] && r.wants(n.sets(), path[1:]):
			return true
		case path[0] == "nodes" && name == "edges" && r.wants(n.sets(), append([]string{"node"}, path[1:]...)):
			return true
		}
	}
	return false
}
