package house

import (
	"go/ast"
	"testing"
)

// TestStructs_embedding looks that no struct embeds a type with very many methods of its own package. The compiler
// writes a wrapper of each method for each such struct, and for each instance of a generic one: half of
// the time to compile the REST and the GraphQL interface once went into 75,000 of them.
func TestStructs_embedding(t *testing.T) {
	t.Parallel()
	const many, manyGeneric = 300, 50
	methods := map[string]int{} // of types, by folder and name
	for _, f := range source(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && len(fn.Recv.List) == 1 {
				methods[f.dir()+"."+bareName(fn.Recv.List[0].Type)]++
			}
		}
	}
	most := 0
	for _, n := range methods {
		most = max(most, n)
	}
	if most < many {
		t.Errorf("no type has more than %d methods: the test looks in the wrong place", most)
	}
	for _, f := range source(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			limit := many
			if spec.TypeParams != nil {
				limit = manyGeneric
			}
			for _, field := range s.Fields.List {
				if has := methods[f.dir()+"."+bareName(field.Type)]; len(field.Names) == 0 && has >= limit {
					t.Errorf("%s: the struct embeds %s, which has %d methods; give the field a name", f.fset.Position(field.Pos()), bareName(field.Type), has)
				}
			}
			return true
		})
	}
}

// bareName is the name of a type without its package, * and parameters, "" for one without a name.
func bareName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return bareName(e.X)
	case *ast.IndexExpr:
		return bareName(e.X)
	case *ast.IndexListExpr:
		return bareName(e.X)
	}
	return ""
}
