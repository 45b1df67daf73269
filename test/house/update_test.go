package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// mostColumns is how many columns a hand-written UPDATE may set. What sets more changes a
// row that was read before, which is what db.Update is for.
const mostColumns = 6

var assignments = regexp.MustCompile(`(?s)\bUPDATE\s+[a-z_]+(?:\s+AS\s+[a-z]+)?\s+SET\s+(.*)`)

// assigned counts the columns that the UPDATE in a text sets, 0 where there is none.
func assigned(text string) int {
	m := assignments.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	columns, depth, rest := 1, 0, m[1]
	for i, c := range rest {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			columns++
		case depth == 0 && (strings.HasPrefix(rest[i:], "WHERE ") || strings.HasPrefix(rest[i:], "RETURNING ") || strings.HasPrefix(rest[i:], "FROM ")):
			return columns
		}
	}
	return columns
}

// joined returns the text of a string, or of several that are added, with a question mark
// for what is not written there.
func joined(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		return literal(n)
	case *ast.ParenExpr:
		return joined(n.X)
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			return joined(n.X) + joined(n.Y)
		}
	}
	return "?"
}

func TestUpdates_byTheKit(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || kit(f.dir()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			switch n.(type) {
			case *ast.BasicLit, *ast.BinaryExpr:
			default:
				return true
			}
			if columns := assigned(joined(e)); columns > mostColumns {
				t.Errorf("%s: an UPDATE sets %d columns: change the row through db.Update, which locks it and writes what differs",
					f.fset.Position(n.Pos()), columns)
			}
			return false
		})
	}
}

func TestAssigned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, expr string
		want       int
	}{
		{"one", `"UPDATE a SET b = ? WHERE id = ?"`, 1},
		{"three over lines", "`UPDATE a SET b = ?,\n\tc = c + 1,\n\td = NULL WHERE id = ?`", 3},
		{"functions and conditions", `"UPDATE a SET b = COALESCE(b, ?), c = (SELECT max(x, y) FROM d) WHERE e IN (1, 2)"`, 2},
		{"added", `"UPDATE a SET b = ?, " + more + ", c = ?" + " WHERE id = ?"`, 3},
		{"alias", `"UPDATE a AS b SET c = ?, d = ?"`, 2},
		{"returning", `"UPDATE a SET c = ? RETURNING d, e"`, 1},
		{"upsert", `"INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO UPDATE SET c = 1"`, 0},
		{"reading", `"SELECT a, b FROM c FOR UPDATE"`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expr, err := parser.ParseExpr(tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			if got := assigned(joined(expr)); got != tt.want {
				t.Errorf("assigned(%s) = %d, want %d", tt.expr, got, tt.want)
			}
		})
	}
}
