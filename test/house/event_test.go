package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestStamps_byTheActor looks that the actor and the time of an event come from Actor.Stamp,
// which leaves out the condition of the request.
func TestStamps_byTheActor(t *testing.T) {
	t.Parallel()
	made := 0
	for _, f := range source(t) {
		if f.test || !strings.HasPrefix(f.dir(), "internal/core/") || f.dir() == "internal/core/authz" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Stamp" {
					t.Errorf("%s: a stamp is written by hand: take Actor.Stamp", f.fset.Position(n.Pos()))
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Stamp" {
					made++
				}
			}
			return true
		})
	}
	if made == 0 {
		t.Error("no stamp is made: the test looks in the wrong place")
	}
}
