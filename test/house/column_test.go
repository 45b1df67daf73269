package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// mostFields is how many fields of structs may name a column of projects: that of the row,
// that of what a call sets and that of the entity. The schema names it as well.
const mostFields = 3

var (
	added  = regexp.MustCompile(`ALTER TABLE (\w+) ADD COLUMN (\w+)`)
	column = regexp.MustCompile(`(?m)^\s+([a-z_]+) `)
)

// elsewhere is how many fields have the name of a column for another subject, in the words of other protocols.
var elsewhere = map[string]int{"features": 3} // of runners, and what clients of Unleash get

// ownColumns returns the columns that one table has and no other one.
func ownColumns(t *testing.T, table string) []string {
	t.Helper()
	tables := map[string]map[string]bool{} // by column
	note := func(table, column string) {
		if tables[column] == nil {
			tables[column] = map[string]bool{}
		}
		tables[column][table] = true
	}
	files, err := filepath.Glob(filepath.Join(root(t), "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	schema := ""
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		schema += string(text) + "\n"
	}
	for _, m := range tablePattern.FindAllStringSubmatch(schema, -1) {
		for _, c := range column.FindAllStringSubmatch(m[2], -1) {
			note(m[1], c[1])
		}
	}
	for _, m := range added.FindAllStringSubmatch(schema, -1) {
		note(m[1], m[2])
	}
	var own []string
	for name, at := range tables {
		if at[table] && len(at) == 1 {
			own = append(own, name)
		}
	}
	sort.Strings(own)
	return own
}

// named returns the names that the tag of a field gives it, for the database, a request or
// an answer.
func named(f *ast.Field) []string {
	if f.Tag == nil {
		return nil
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return nil
	}
	var out []string
	for _, key := range []string{"db", "param", "json"} {
		name, _, _ := strings.Cut(reflect.StructTag(text).Get(key), ",")
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// TestColumns_ofProjects counts the fields that name a column of projects. It looks at the
// columns that no other table has: names such as path mean something else elsewhere.
func TestColumns_ofProjects(t *testing.T) {
	t.Parallel()
	own := ownColumns(t, "projects")
	if len(own) < 20 {
		t.Fatalf("only %d columns that projects alone has: %v", len(own), own)
	}
	places := map[string][]string{}
	for _, f := range source(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, name := range named(field) {
					places[name] = append(places[name], f.fset.Position(field.Pos()).String())
				}
			}
			return true
		})
	}
	for _, name := range own {
		if got, most := places[name], mostFields+elsewhere[name]; len(got) > most {
			t.Errorf("column %s of projects is named by %d fields, want at most %d:\n  %s", name, len(got), most, strings.Join(got, "\n  "))
		}
	}
}
