package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestTransports_loadNothing looks that transports take what a caller may see: methods of the
// core that are called Load ask for no permission and give whole rows.
func TestTransports_loadNothing(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, f := range source(t) {
		if f.test || !strings.HasPrefix(f.dir(), "internal/transport/") {
			continue
		}
		parts := services(f.ast)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch s, ok := call.Fun.(*ast.SelectorExpr); {
			case !ok:
			case s.Sel.Name == "ByIDs":
				seen++
			case s.Sel.Name == "Load" && (service(s.X) || parts[last(s.X)] != ""):
				t.Errorf("%s: a transport calls Load, which asks for no permission: take ByIDs or a view", f.fset.Position(n.Pos()))
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no transport calls ByIDs: the test looks in the wrong place")
	}
}

// service reports whether an expression is a field, such as s.Accounts: values of
// sync/atomic are Load'ed through names that begin in lower case.
func service(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.IsExported()
}

// last is the last name of an expression such as h.features, "" for others.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
