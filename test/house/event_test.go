package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestAudited_recorded looks that the test of the audit trail publishes each event that says itself what is recorded of it.
func TestAudited_recorded(t *testing.T) {
	t.Parallel()
	published, events := map[string]bool{}, 0
	for _, f := range source(t) {
		if !f.test || f.dir() != "internal/core/audit" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				published[typeName("", lit.Type)] = true
			}
			return true
		})
	}
	for _, f := range source(t) {
		if f.test || !strings.HasPrefix(f.dir(), "internal/core/") {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Audit" || fn.Type.Params.NumFields() > 0 {
				continue
			}
			events++
			if name := typeName(f.ast.Name.Name, fn.Recv.List[0].Type); !published[name] {
				t.Errorf("%s has the method Audit: publish one in TestRecorder of internal/core/audit", name)
			}
		}
	}
	if events == 0 {
		t.Error("no event has the method Audit: the test looks in the wrong place")
	}
}

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
