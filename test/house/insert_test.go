package house

import (
	"go/ast"
	"go/parser"
	"regexp"
	"strings"
	"testing"
)

// byHand are the statements that write or delete rows by hand, by file, with the reason.
var byHand = map[string]string{
	"internal/base/instance/instance.go":        "the one row of the instance, before there is a server",
	"internal/core/label/link.go":               "links of many labels, and titles that may be there: the statement returns the id of either",
	"internal/core/note/crossreference.go":      "notes on many subjects",
	"internal/core/note/query.go":               "system notes of one change",
	"internal/core/resourceevent/service.go":    "events of many issues",
	"internal/core/todo/make.go":                "to-do items of many users",
	"internal/core/namespace/internal_id.go":    "the statement returns the next number",
	"internal/core/protection/branch.go":        "one statement for two tables of rules",
	"internal/core/repo/address.go":             "addresses of a push, a thousand in a statement",
	"internal/core/repo/housekeep.go":           "the condition of its ON CONFLICT has a value",
	"internal/core/mergerequest/closing.go":     "links of many issues",
	"internal/core/mergerequest/contributor.go": "addresses of many commits",
	"internal/core/issue/query.go":              "links of many users",
	"internal/core/subscription/commit.go":      "links of many users",
	"internal/core/subscription/participant.go": "links of many users",
	"internal/core/approval/owner_rule.go":      "links of many users and groups",
	"internal/core/approval/rule_parts.go":      "links of many users and groups",
}

var (
	insertion = regexp.MustCompile(`(?s)\bINSERT\s+INTO\b.*`)
	deletion  = regexp.MustCompile(`\bDELETE\s+FROM\s+\S+(?:\s+AS\s+\w+)?\s+WHERE\s+(?:\w+\.)?id\s*=`)
)

// handWritten reports whether a text of SQL inserts rows that it does not select from others, or deletes one by its id.
func handWritten(text string) bool {
	inserts := insertion.FindString(text)
	return inserts != "" && !strings.Contains(inserts, "SELECT") || deletion.MatchString(text)
}

// TestRows_byTheKit fails where a row is inserted by a statement of its own, or deleted by its id. Rows that are copied inside
// the database (INSERT ... SELECT) and many that go at once (DELETE with another condition) are statements.
func TestRows_byTheKit(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range source(t) {
		if f.test || f.dir() == "internal/base/db" || kit(f.dir()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.BasicLit, *ast.BinaryExpr:
			default:
				return true
			}
			if e, ok := n.(ast.Expr); ok && handWritten(joined(e)) {
				found[f.name] = true
				if byHand[f.name] == "" {
					t.Errorf("%s: insert rows by db.Create, db.InsertRow or db.InsertRows, delete one by db.Delete or db.Drop", f.fset.Position(n.Pos()))
				}
			}
			return false
		})
	}
	for name := range byHand {
		if !found[name] {
			t.Errorf("%s writes no rows by hand: take it from the list", name)
		}
	}
}

func TestHandWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, expr string
		want       bool
	}{
		{"values", `"INSERT INTO a (b) VALUES (?)"`, true},
		{"values of a table", `"INSERT INTO " + table + " (b) VALUES (?) ON CONFLICT DO NOTHING"`, true},
		{"copied", "`INSERT INTO a (b)\n\tSELECT b FROM c`", false},
		{"by id", `"DELETE FROM a WHERE id = ?"`, true},
		{"by id of a table", `"DELETE FROM " + table + " AS x WHERE x.id = ?"`, true},
		{"many", `"DELETE FROM a WHERE id IN (SELECT id FROM b)"`, false},
		{"by another column", `"DELETE FROM a WHERE b_id = ?"`, false},
		{"reading", `"SELECT id FROM a WHERE id = ?"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expr, err := parser.ParseExpr(tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			if got := handWritten(joined(expr)); got != tt.want {
				t.Errorf("handWritten(%s) = %v, want %v", tt.expr, got, tt.want)
			}
		})
	}
}
