package exec

import (
	"maps"
	"slices"
	"strings"
)

// FieldCost is what a field costs by itself.
type FieldCost struct {
	Field string // Type.field
	Kind  CostKind
}

// CostKind is how the cost of a field is counted.
type CostKind string

// The kinds. What is selected below a field is added to each.
const (
	CostsOne        CostKind = "1"
	CostsGit        CostKind = "2"              // reads the repository
	CostsLookup     CostKind = "1, and options" // is looked up: sort and search cost more
	CostsConnection CostKind = "connection"     // the same, times the size of the page
)

// Costs returns the cost of every field that is answered, by name.
func (s *Schema) Costs() []FieldCost {
	var out []FieldCost
	for _, typ := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(typ, "__") {
			continue
		}
		o := s.objects[typ]
		for _, def := range o.def.Fields {
			b := o.fields[def.Name]
			if b == nil || strings.HasPrefix(def.Name, "__") {
				continue
			}
			kind := CostsOne
			switch {
			case b.cost == git:
				kind = CostsGit
			case b.cost == resolved && strings.HasSuffix(def.Type.Name(), "Connection"):
				kind = CostsConnection
			case b.cost == resolved:
				kind = CostsLookup
			}
			out = append(out, FieldCost{typ + "." + def.Name, kind})
		}
	}
	return out
}
