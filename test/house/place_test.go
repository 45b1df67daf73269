package house

import (
	"go/ast"
	"strings"
	"testing"
)

// bothPlaces are the structs with a project and a group, each with the reason. All others have an authz.Place.
var bothPlaces = map[string]string{
	"internal/core/note/note.go Fact":               "handlers of its events read the row of one of them",
	"internal/core/quickaction/quickaction.go Call": "quick actions read the row of one of them",
}

// TestPlace fails where a struct does what authz.Place is for: it is called Place, or holds a project and a group.
func TestPlace(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range source(t) {
		if f.test || f.generated || !strings.HasPrefix(f.name, "internal/core/") && !strings.HasPrefix(f.name, "internal/transport/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			name := f.name + " " + spec.Name.Name
			if spec.Name.Name == "Place" && name != "internal/core/authz/place.go Place" {
				t.Errorf("%s: use authz.Place", name)
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			holds := map[string]bool{}
			for _, field := range fields.Fields.List {
				if star, ok := field.Type.(*ast.StarExpr); ok {
					if sel, ok := star.X.(*ast.SelectorExpr); ok {
						if pkg, ok := sel.X.(*ast.Ident); ok {
							holds[pkg.Name+"."+sel.Sel.Name] = true
						}
					}
				}
			}
			if holds["project.Project"] && holds["namespace.Group"] {
				found[name] = true
				if bothPlaces[name] == "" {
					t.Errorf("%s holds a project and a group: use authz.Place, from which project.Of and namespace.Of return the rows", name)
				}
			}
			return true
		})
	}
	for name := range bothPlaces {
		if !found[name] {
			t.Errorf("%s holds no project and group: take it off bothPlaces", name)
		}
	}
}
