package house

import (
	"go/ast"
	"testing"
)

// TestPages_core keeps transports from cutting lists into pages: core does so where it
// decides which rows the actor may read. A transport hands a page.Range down and shows the
// page.Page that comes back.
func TestPages_core(t *testing.T) {
	t.Parallel()
	cuts := map[string]bool{"Select": true, "Read": true, "Slice": true, "Snapshot": true, "Part": true, "Whole": true}
	for _, f := range source(t) {
		if layer(f.dir()) != "transport" || f.test {
			continue
		}
		kit := f.dir() == "internal/transport/rest/api"
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "page" && x.Obj == nil && cuts[s.Sel.Name] {
				t.Errorf("%s calls page.%s: a page is cut in core, with its permission", f.fset.Position(s.Pos()), s.Sel.Name)
			}
			if !kit && s.Sel.Name == "PerPage" {
				t.Errorf("%s reads PerPage: only the Range of a Page goes into core", f.fset.Position(s.Pos()))
			}
			return true
		})
	}
}
