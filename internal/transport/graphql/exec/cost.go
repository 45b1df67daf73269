package exec

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// costClass says what a field costs beside what it selects.
type costClass int

// The classes: a field from its parent costs 1; one that reads the repository 2; one that is
// looked up its parts and 1, with 1 more for sort and 5 more for search, and where it is a
// connection all of that 1 + page size / 100 times.
const (
	plain costClass = iota
	git
	resolved
)

const (
	maxPage    = 100
	maxWeighed = 5000 // fields after which a document is not looked at any further
	maxSame    = 2    // times that one name may stand in a branch
)

// weight is what a request costs.
type weight struct {
	complexity int
	depth      int
	recursive  string // the field that is nested too often, "" for none
	schema     bool   // fields about the schema are among the first
}

type scale struct {
	schema    *Schema
	variables map[string]any
	weighed   int
	above     map[string]int // how often a name is above what is counted
	weight
}

// weigh counts an operation with its fragments in place. Fields under one key count once. A
// document beyond all measure is counted as far as it takes to know that.
func (s *Schema) weigh(op *Operation) weight {
	c := scale{schema: s, variables: op.variables, above: map[string]int{}}
	c.complexity = c.sets(op.root, []ast.SelectionSet{op.def.SelectionSet}, 1)
	return c.weight
}

// sets counts what is selected of a type, at a depth.
func (c *scale) sets(typ *ast.Definition, sets []ast.SelectionSet, depth int) int {
	sum := 0
	if len(sets) == 1 && len(sets[0]) == 1 {
		if f, ok := sets[0][0].(*ast.FragmentSpread); ok && f.Definition != nil && included(f.Directives, c.variables) {
			return c.sets(typ, []ast.SelectionSet{f.Definition.SelectionSet}, depth)
		}
	}
	if len(sets) == 1 && distinct(sets[0]) {
		for _, sel := range sets[0] {
			f := sel.(*ast.Field)
			if !included(f.Directives, c.variables) {
				continue
			}
			var below []ast.SelectionSet
			if len(f.SelectionSet) > 0 {
				below = []ast.SelectionSet{f.SelectionSet}
			}
			if !c.next(depth) {
				return sum
			}
			sum += c.field(typ, f, below, depth)
		}
		return sum
	}
	collected := collector{variables: c.variables, applies: func(string) bool { return true }}
	for _, set := range sets {
		collected.add(set)
	}
	for _, n := range collected.nodes {
		if !c.next(depth) {
			return sum
		}
		sum += c.field(typ, n.fields[0], n.sets(), depth)
	}
	return sum
}

// next notes one more field; it is false for one too many.
func (c *scale) next(depth int) bool {
	if c.weighed++; c.weighed > maxWeighed {
		return false
	}
	c.depth = max(c.depth, depth)
	return true
}

// maxDistinct is how many fields are compared with each other.
const maxDistinct = 50

// distinct reports whether a selection is of fields alone, each under a key of its own.
func distinct(set ast.SelectionSet) bool {
	if len(set) > maxDistinct {
		return false
	}
	for i, sel := range set {
		f, ok := sel.(*ast.Field)
		if !ok {
			return false
		}
		for _, before := range set[:i] {
			if before.(*ast.Field).Alias == f.Alias {
				return false
			}
		}
	}
	return true
}

// exempt are the names that say nothing of a thing.
var exempt = []string{"node", "edges", "nodes", "ofType"}

// field counts a field with what is selected below it.
func (c *scale) field(typ *ast.Definition, f *ast.Field, sets []ast.SelectionSet, depth int) int {
	def := f.Definition
	if def == nil { // __typename
		return 1
	}
	c.weight.schema = c.weight.schema || depth == 1 && (def.Name == "__schema" || def.Name == "__type")
	children := 0
	if len(sets) > 0 {
		counts := !slices.Contains(exempt, def.Name)
		if counts {
			if c.above[def.Name] >= maxSame && c.recursive == "" {
				c.recursive = def.Name
			}
			c.above[def.Name]++
		}
		children = c.sets(c.schema.types.Types[def.Type.Name()], sets, depth+1)
		if counts {
			c.above[def.Name]--
		}
	}
	class := plain
	if f.ObjectDefinition != nil {
		typ = f.ObjectDefinition
	}
	if objects := c.schema.of(typ.Name); len(objects) > 0 {
		if b := objects[0].fields[def.Name]; b != nil {
			class = b.cost
		}
	}
	switch class {
	case git:
		return children + 2
	case plain:
		return children + 1
	}
	args := func(name string) any { return c.schema.argument(f, name, c.variables) }
	sum := children + 1
	if args("sort") != nil {
		sum++
	}
	if args("search") != nil {
		sum += 5
	}
	if strings.HasSuffix(def.Type.Name(), "Connection") && args("iid") == nil {
		sum = sum * (100 + pageSize(args)) / 100
	}
	return sum
}

// pageSize is how many rows a connection gives at most.
func pageSize(args func(name string) any) int {
	size := maxPage
	for _, name := range []string{"first", "last"} {
		if n, ok := integer(args(name)); ok {
			size = min(size, max(int(n), 0))
		}
	}
	return size
}
