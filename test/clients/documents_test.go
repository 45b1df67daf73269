package clients

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	gql "github.com/vektah/gqlparser/v2/ast"
	gqlparse "github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

const documentsGolden = "testdata/documents.txt"

// TestDocuments validates every GraphQL document of the official Go client with the schema. What the schema lacks of them is in a list, so that what is
// added takes lines away. Run with UPDATE=1 to write it again.
func TestDocuments(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", clientModule).Output()
	if err != nil {
		t.Skipf("documents: skipped (go list: %v)", err)
	}
	schema := writtenSchema(t)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	checked, wrong := 0, map[string]bool{}
	read := clientTexts{constants: map[string]string{}, templates: map[string]string{}}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			read.file(t, file)
		}
	}
	for _, text := range read.texts {
		if whole := read.filled(text.text); begins.MatchString(whole) {
			checked++
			for _, problem := range problemsOf(schema, whole) {
				wrong[text.file+": "+problem] = true
			}
		}
	}
	if checked < 15 {
		t.Errorf("%d documents were found", checked)
	}
	var lines []string
	for line := range wrong {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	got := "# What the schema lacks of the documents of " + clientModule + ".\n" + strings.Join(append(lines, ""), "\n")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(documentsGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(documentsGolden)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what the schema lacks (UPDATE=1 writes it): %v\n%s", documentsGolden, err, got)
	}
}

// writtenSchema reads the files of the schema.
func writtenSchema(t *testing.T) *gql.Schema {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "internal", "transport", "graphql", "schema", "*.graphql"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("files of the schema: %v, %v", paths, err)
	}
	var sources []*gql.Source
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &gql.Source{Name: path, Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// begins tells a document from other texts.
var begins = regexp.MustCompile(`^\s*(query|mutation|subscription)\b[^{]*\{`)

// clientText is a text of a Go file.
type clientText struct{ file, text string }

// clientTexts are the texts of a Go package, and those that it puts into others.
type clientTexts struct {
	texts                []clientText
	constants, templates map[string]string
}

// file reads a Go file.
func (c *clientTexts) file(t *testing.T, path string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					c.constants[name.Name] = c.text(n.Values[i])
				}
			}
		case *ast.CallExpr:
			parse, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || parse.Sel.Name != "Parse" || len(n.Args) != 1 {
				return true
			}
			if made, ok := parse.X.(*ast.CallExpr); ok && len(made.Args) == 1 {
				if name := c.text(made.Args[0]); c.templates[name] == "" { // later ones are made at run time
					c.templates[name] = c.text(n.Args[0])
				}
			}
		case *ast.BinaryExpr, *ast.BasicLit:
			c.texts = append(c.texts, clientText{filepath.Base(path), c.text(n.(ast.Expr))})
			return false
		}
		return true
	})
}

// text is what an expression says: a name that is not known yet is in braces.
func (c *clientTexts) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.Ident:
		return "{{ template \"" + e.Name + "\" }}"
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return c.text(e.X) + c.text(e.Y)
		}
	case *ast.ParenExpr:
		return c.text(e.X)
	}
	return ""
}

var (
	includes = regexp.MustCompile(`\{\{-? *template "(\w+)"[^}]*\}\}`)
	choices  = regexp.MustCompile(`\{\{-? *if [^}]*\}\}.*?\{\{-? *end *-?\}\}`)
	formats  = strings.NewReplacer("%q", `"x"`, "%s", "x", "%d", "1", "()", "")
)

// filled puts into a text what the client puts there; parts that it may leave out are left out.
func (c *clientTexts) filled(text string) string {
	for range 5 {
		text = includes.ReplaceAllStringFunc(text, func(include string) string {
			name := includes.FindStringSubmatch(include)[1]
			return c.templates[name] + c.constants[name]
		})
	}
	return formats.Replace(choices.ReplaceAllString(text, ""))
}

// problemsOf says what is wrong with a document.
func problemsOf(schema *gql.Schema, text string) []string {
	if _, err := gqlparse.ParseQuery(&gql.Source{Input: text}); err != nil {
		return []string{"not read: " + err.Error()}
	}
	_, list := gqlparser.LoadQueryWithRules(schema, text, rules.NewDefaultRules())
	var out []string
	for _, e := range list {
		out = append(out, e.Message)
	}
	return out
}
