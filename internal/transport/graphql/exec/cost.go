package exec

import (
	"maps"
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
	weight
}

// weigh counts an operation with its fragments in place. Fields under one key count once. A
// document beyond all measure is counted as far as it takes to know that.
func (s *Schema) weigh(op *Operation) weight {
	c := scale{schema: s, variables: op.variables}
	c.complexity = c.sets(op.root, []ast.SelectionSet{op.def.SelectionSet}, 1, map[string]int{})
	return c.weight
}

// sets counts what is selected of a type, at a depth, below fields of these names.
func (c *scale) sets(typ *ast.Definition, sets []ast.SelectionSet, depth int, above map[string]int) int {
	collected := collector{variables: c.variables, applies: func(string) bool { return true }}
	for _, set := range sets {
		collected.add(set)
	}
	sum := 0
	for _, n := range collected.nodes {
		if c.weighed++; c.weighed > maxWeighed {
			return sum
		}
		c.depth = max(c.depth, depth)
		sum += c.field(typ, n, depth, above)
	}
	return sum
}

// exempt are the names that say nothing of a thing.
var exempt = []string{"node", "edges", "nodes", "ofType"}

func (c *scale) field(typ *ast.Definition, n *node, depth int, above map[string]int) int {
	def := n.definition()
	if def == nil { // __typename
		return 1
	}
	c.weight.schema = c.weight.schema || depth == 1 && (def.Name == "__schema" || def.Name == "__type")
	children := 0
	if sets := n.sets(); len(sets) > 0 {
		below := above
		if !slices.Contains(exempt, def.Name) {
			if above[def.Name] >= maxSame && c.recursive == "" {
				c.recursive = def.Name
			}
			below = maps.Clone(above)
			below[def.Name]++
		}
		children = c.sets(c.schema.types.Types[def.Type.Name()], sets, depth+1, below)
	}
	class := plain
	if n.fields[0].ObjectDefinition != nil {
		typ = n.fields[0].ObjectDefinition
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
	args := c.schema.arguments(n.fields[0], c.variables)
	sum := children + 1
	if args["sort"] != nil {
		sum++
	}
	if args["search"] != nil {
		sum += 5
	}
	if strings.HasSuffix(def.Type.Name(), "Connection") && args["iid"] == nil {
		sum = sum * (100 + pageSize(args)) / 100
	}
	return sum
}

// pageSize is how many rows a connection gives at most.
func pageSize(args map[string]any) int {
	size := maxPage
	for _, name := range []string{"first", "last"} {
		if n, ok := integer(args[name]); ok {
			size = min(size, max(int(n), 0))
		}
	}
	return size
}
