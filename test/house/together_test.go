package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestTogether looks that tests of transport/rest with goroutines have names that end in
// _together: "make test" shows no others of them to the race detector.
func TestTogether(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, f := range source(t) {
		if !f.test || f.dir() != "internal/transport/rest" {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !concurrent(fn) {
				continue
			}
			seen++
			if !strings.HasSuffix(fn.Name.Name, "_together") {
				t.Errorf("%s: %s has goroutines: its name has to end in _together", f.fset.Position(fn.Pos()), fn.Name.Name)
			}
		}
	}
	if seen == 0 {
		t.Error("no test has goroutines: the test looks in the wrong place")
	}
}

// concurrent reports whether a function starts goroutines.
func concurrent(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Go" || n.Sel.Name == "CheckRoom"
		}
		return true
	})
	return found
}
