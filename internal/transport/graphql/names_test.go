package graphql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// loadSchema reads the files of the schema.
func loadSchema(t *testing.T) *ast.Schema {
	t.Helper()
	paths, err := filepath.Glob("schema/*.graphql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("files of the schema: %v, %v", paths, err)
	}
	sources := make([]*ast.Source, len(paths))
	for i, path := range paths {
		sources[i] = &ast.Source{Name: path, Input: read(t, path)}
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatalf("load the schema: %v", err)
	}
	return schema
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSchema_names compares the schema with the names that clients know: those that it does not
// have stand in a list of their own, each with its reason.
func TestSchema_names(t *testing.T) {
	schema := loadSchema(t)
	var leftOut []string
	for line := range strings.Lines(read(t, "testdata/left_out.txt")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || reason == "" {
			t.Errorf("%q says no reason", line)
		}
		leftOut = append(leftOut, name)
		if has(schema, name) {
			t.Errorf("%s is said to be left out, and is there", name)
		}
	}
	known := 0
	for name := range strings.Lines(read(t, "testdata/names.txt")) {
		name = strings.TrimSpace(name)
		known++
		if !has(schema, name) && !slices.ContainsFunc(leftOut, func(pattern string) bool { return matches(name, pattern) }) {
			t.Errorf("%s is missing", name)
		}
	}
	if known < 1000 {
		t.Errorf("%d names are known, want at least 1000", known)
	}
}

// TestSchema_public compares the schema with the roots, enums and types of the public interface: each field, argument and value, and whether
// a field may be null. What waits for an area that is not there stands among the names that are left out.
func TestSchema_public(t *testing.T) {
	schema := loadSchema(t)
	var leftOut []string
	for line := range strings.Lines(read(t, "testdata/left_out.txt")) {
		if name, _, ok := strings.Cut(line, ": "); ok {
			leftOut = append(leftOut, name)
		}
	}
	left := func(name string) bool {
		return slices.ContainsFunc(leftOut, func(pattern string) bool { return matches(name, pattern) })
	}
	known := 0
	for line := range strings.Lines(read(t, "testdata/public_types.txt")) {
		typ, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, entry := range regexp.MustCompile(`(\w+)(!?)(?:\(([^)]*)\))?`).FindAllStringSubmatch(rest, -1) {
			name := typ + "." + entry[1]
			known++
			if !has(schema, name) {
				if !left(name) {
					t.Errorf("%s is missing", name)
				}
				continue
			}
			if f := schema.Types[typ].Fields.ForName(entry[1]); entry[2] != "" && f != nil && !f.Type.NonNull {
				t.Errorf("%s may be null", name)
			}
			for argument := range strings.FieldsSeq(entry[3]) {
				known++
				if name := name + "(" + argument + ")"; !has(schema, name) && !left(name) {
					t.Errorf("%s is missing", name)
				}
			}
		}
	}
	if known < 700 {
		t.Errorf("%d names are known, want at least 700", known)
	}
}

// has reports whether the schema has what is named: Type.field, Type.field(argument),
// Enum.VALUE or Union.Member.
func has(schema *ast.Schema, name string) bool {
	typ, field, _ := strings.Cut(name, ".")
	field, argument, _ := strings.Cut(strings.TrimSuffix(field, ")"), "(")
	def := schema.Types[typ]
	switch {
	case def == nil:
		return false
	case def.EnumValues.ForName(field) != nil, slices.Contains(def.Types, field):
		return true
	}
	f := def.Fields.ForName(field)
	return f != nil && (argument == "" || f.Arguments.ForName(argument) != nil)
}

// matches reports whether a name is meant by a pattern: the name itself, or one with a star for
// its type or its end.
func matches(name, pattern string) bool {
	if end, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, end)
	}
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, start)
	}
	return name == pattern
}

// TestSchema_documents validates what clients send.
func TestSchema_documents(t *testing.T) {
	schema := loadSchema(t)
	paths, err := filepath.Glob("testdata/documents/*.graphql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("documents: %v, %v", paths, err)
	}
	for _, path := range paths {
		if _, err := gqlparser.LoadQueryWithRules(schema, read(t, path), rules.NewDefaultRules()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSchema_shape checks what holds for the whole schema.
func TestSchema_shape(t *testing.T) {
	schema := loadSchema(t)
	for _, f := range schema.Mutation.Fields {
		if len(f.Arguments) != 1 || f.Arguments[0].Name != "input" || !f.Arguments[0].Type.NonNull {
			t.Errorf("%s does not take exactly one argument, input", f.Name)
			continue
		}
		if f.Type.NonNull {
			t.Errorf("%s cannot be null", f.Name)
		}
		in, out := schema.Types[f.Arguments[0].Type.Name()], schema.Types[f.Type.Name()]
		for _, want := range []struct {
			of         *ast.Definition
			field, typ string
		}{{in, "clientMutationId", "String"}, {out, "clientMutationId", "String"}, {out, "errors", "[String!]!"}} {
			if got := want.of.Fields.ForName(want.field); got == nil || got.Type.String() != want.typ {
				t.Errorf("%s.%s of the mutation %s is %v, want %s", want.of.Name, want.field, f.Name, got, want.typ)
			}
		}
		if in.Name != strings.TrimSuffix(out.Name, "Payload")+"Input" {
			t.Errorf("%s takes %s and gives %s", f.Name, in.Name, out.Name)
		}
	}
	for name, def := range schema.Types {
		if def.BuiltIn {
			continue
		}
		for _, problem := range shapeOf(schema, def) {
			t.Errorf("%s %s", name, problem)
		}
	}
}

// shapeOf says what is wrong with a type.
func shapeOf(schema *ast.Schema, def *ast.Definition) (bad []string) {
	payload := strings.HasSuffix(def.Name, "Payload") || strings.HasSuffix(def.Name, "Input")
	if def.Description == "" && !payload {
		bad = append(bad, "has no description")
	}
	for _, f := range def.Fields {
		if !strings.HasPrefix(f.Name, "__") && schema.Types[f.Type.Name()] == nil {
			bad = append(bad, f.Name+" has no type")
		}
	}
	of, ok := strings.CutSuffix(def.Name, "Connection")
	if !ok || def.Kind != ast.Object {
		return bad
	}
	edge := schema.Types[of+"Edge"]
	if edge == nil {
		return append(bad, "has no edge")
	}
	node := edge.Fields.ForName("node")
	for _, want := range [][2]string{{"edges", "[" + of + "Edge]"}, {"nodes", fmt.Sprintf("[%s]", node.Type)}, {"pageInfo", "PageInfo!"}} {
		if f := def.Fields.ForName(want[0]); f == nil || f.Type.String() != want[1] {
			bad = append(bad, fmt.Sprintf("has %v, want %s: %s", f, want[0], want[1]))
		}
	}
	return bad
}
