package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const longest = 500

func TestFiles_length(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if !f.test && !f.generated && f.lines > longest {
			t.Errorf("%s has %d lines: split it by subject at %d, so that a reader can hold a file in mind", f.name, f.lines, longest)
		}
	}
}

func TestPackages_sentence(t *testing.T) {
	t.Parallel()
	type doc struct{ name, text string }
	docs := map[string]doc{}
	for _, f := range source(t) {
		if f.test || f.generated {
			continue
		}
		d := docs[f.dir()]
		d.name = f.ast.Name.Name
		if f.ast.Doc != nil {
			if d.text != "" {
				t.Errorf("%s: package %s has two package comments; keep one", f.name, d.name)
			}
			d.text = f.ast.Doc.Text()
		}
		docs[f.dir()] = d
	}
	for dir, d := range docs {
		want := "Package " + d.name + " "
		if d.name == "main" {
			want = "Command " + path.Base(dir) + " "
		}
		if !strings.HasPrefix(d.text, want) {
			t.Errorf("%s: the package comment begins %q, want one that begins %q and says what it is for", dir, firstLine(d.text), want)
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func TestPackages_name(t *testing.T) {
	t.Parallel()
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "manager", "misc", "shared"}
	for _, f := range source(t) {
		if name := f.ast.Name.Name; slices.Contains(empty, name) {
			t.Errorf("%s: %q says nothing about its content; name a package with the noun its callers read", f.name, name)
		}
	}
}

func TestComments_areASCII(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.generated {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if i := strings.IndexFunc(c.Text, func(r rune) bool { return r > 126 && r != '\u00a7' }); i >= 0 {
					t.Errorf("%s: a comment has %q; comments are plain ASCII (and the section sign)", f.fset.Position(c.Pos()), c.Text[i:min(len(c.Text), i+4)])
				}
			}
		}
	}
}

// write finds the table that a statement writes.
var write = regexp.MustCompile(`\b(?:INSERT\s+(?:OR\s+[A-Z]+\s+)?INTO|DELETE\s+FROM|UPDATE)\s+([a-z][a-z0-9_]*)`)

// written lists the tables that a text of SQL writes.
func written(text string) []string {
	var out []string
	for _, m := range write.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// literal returns the text of a string in the source, "" for anything else.
func literal(n ast.Expr) string {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

// inserted returns the table of a call of db.Create, db.InsertRow and its kin, "" for other calls.
func inserted(call *ast.CallExpr) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fun.Sel.Name != "Create" && !strings.HasPrefix(fun.Sel.Name, "Insert") || len(call.Args) < 3 {
		return ""
	}
	if pkg, ok := fun.X.(*ast.Ident); !ok || pkg.Name != "db" {
		return ""
	}
	return literal(call.Args[2])
}

// updated returns the table of a db.Row, which names a row that is changed or locked, ""
// for other composite literals.
func updated(lit *ast.CompositeLit) string {
	kind, ok := lit.Type.(*ast.SelectorExpr)
	if !ok || kind.Sel.Name != "Row" {
		return ""
	}
	if pkg, ok := kind.X.(*ast.Ident); !ok || pkg.Name != "db" {
		return ""
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == "Table" {
				return literal(pair.Value)
			}
		}
	}
	return ""
}

// TestTables_oneWriter keeps the rule that only the owning package writes a table, so
// that every change to a row passes the one place that knows its rules.
func TestTables_oneWriter(t *testing.T) {
	t.Parallel()
	writers := map[string]map[string]token.Position{} // table -> package -> where
	for _, f := range source(t) {
		if f.test || kit(f.dir()) || layer(f.dir()) != "core" {
			continue
		}
		note := func(table string, at token.Pos) {
			if writers[table] == nil {
				writers[table] = map[string]token.Position{}
			}
			if _, ok := writers[table][below(f.dir())]; !ok {
				writers[table][below(f.dir())] = f.fset.Position(at)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				for _, table := range written(literal(n)) {
					note(table, n.Pos())
				}
			case *ast.CallExpr:
				if table := inserted(n); table != "" {
					note(table, n.Pos())
				}
			case *ast.CompositeLit:
				if table := updated(n); table != "" {
					note(table, n.Pos())
				}
			}
			return true
		})
	}
	for table, by := range writers {
		if len(by) < 2 {
			continue
		}
		var places []string
		for pkg, pos := range by {
			places = append(places, pkg+" ("+pos.String()+")")
		}
		slices.Sort(places)
		t.Errorf("table %s is written by %s: only the owning package writes a table; call its method or let it react to an event", table, strings.Join(places, ", "))
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"insert", "INSERT INTO notes (id) VALUES (?)", []string{"notes"}},
		{"update over lines", "UPDATE issues\n   SET title = ?", []string{"issues"}},
		{"delete", "DELETE FROM todos WHERE id = ?", []string{"todos"}},
		{"upsert is one table", "INSERT INTO internal_ids (scope) VALUES (?) ON CONFLICT (scope) DO UPDATE SET last = 1", []string{"internal_ids"}},
		{"in a CTE", "WITH gone AS (DELETE FROM a WHERE b RETURNING id) INSERT INTO c SELECT id FROM gone", []string{"a", "c"}},
		{"reading", "SELECT * FROM issues FOR UPDATE", nil},
		{"prose", "update failed", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := written(tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("written(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestInserted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, call, want string }{
		{"insert", `db.InsertRow(ctx, s.DB, "notes", row, "")`, "notes"},
		{"create", `db.Create(ctx, s.DB, "labels", &row)`, "labels"},
		{"with a suffix", `db.InsertRow(ctx, s.DB, "todos", row, "")`, "todos"},
		{"another package", `list.Insert(a, b, "notes")`, ""},
		{"reading", `db.Get(ctx, s.DB, "notes")`, ""},
		{"computed", `db.InsertRow(ctx, s.DB, table, row, "")`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expr, err := parser.ParseExpr(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			call, ok := expr.(*ast.CallExpr)
			if !ok {
				t.Fatalf("%s is no call", tt.call)
			}
			if got := inserted(call); got != tt.want {
				t.Errorf("inserted(%s) = %q, want %q", tt.call, got, tt.want)
			}
		})
	}
}

func TestUpdated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, lit, want string }{
		{"row", `db.Row{Table: "notes", ID: id}`, "notes"},
		{"key first", `db.Row{Key: "a", Table: "notes"}`, "notes"},
		{"another package", `list.Row{Table: "notes"}`, ""},
		{"another type", `db.Config{Table: "notes"}`, ""},
		{"computed", `db.Row{Table: table}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expr, err := parser.ParseExpr(tt.lit)
			if err != nil {
				t.Fatal(err)
			}
			lit, ok := expr.(*ast.CompositeLit)
			if !ok {
				t.Fatalf("%s is no composite literal", tt.lit)
			}
			if got := updated(lit); got != tt.want {
				t.Errorf("updated(%s) = %q, want %q", tt.lit, got, tt.want)
			}
		})
	}
}

// longestFunction is more than the functions that are aimed at, which fit on a screen.
const longestFunction = 75

func TestFunctions_length(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || f.generated {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line; n > longestFunction {
				t.Errorf("%s: %s has %d lines; split it by subject at %d", f.fset.Position(fn.Pos()), fn.Name.Name, n, longestFunction)
			}
		}
	}
}
