package house

import (
	"go/ast"
	"strings"
	"testing"
)

// anyDuplicate are the files of core that ask for db.ErrDuplicate of any table, each with the reason. All others ask
// db.Duplicate for the table whose index refused the row, so that a row of a handler is not taken for their own.
var anyDuplicate = map[string]string{
	"internal/core/account/create.go": "looks again what is taken",
	"internal/core/namespace/tree.go": "asks after one statement",
}

// TestDuplicate fails where core asks for a duplicate without naming the table.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || !strings.HasPrefix(f.name, "internal/core/") || anyDuplicate[f.name] != "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "ErrDuplicate" {
				t.Errorf("%s asks for db.ErrDuplicate: db.Duplicate says which table refused the row", f.name)
			}
			return true
		})
	}
}
