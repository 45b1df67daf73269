package house

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// severalKinds are the files that name three kinds of things or more, each with the reason. All others learn
// of kinds from their descriptions.
var severalKinds = map[string]string{
	"internal/core/payload/note.go":            "bodies of hooks have a key of its own for each kind",
	"internal/core/quickaction/quickaction.go": "the contract has quick actions for issues, merge requests, epics and commits; each changes rows of its own",
	"internal/core/quickaction/planning.go":    "the contract lists the quick actions of each of them",
	"internal/transport/rest/todos.go":         "the contract lists what a to-do item is about, each with its entity",
	"internal/transport/graphql/note.go":       "the schema of the contract lists the types with notes",
	"internal/transport/graphql/todo.go":       "the schema of the contract lists the types with to-do items",
	"internal/transport/graphql/scalar.go":     "the contract lists which types the ids of each scalar name",
}

// kindInText is the name of a kind in a text of the program, between quotes of either sort.
var kindInText = regexp.MustCompile("[\"'`](Issue|MergeRequest|Snippet|Commit|Epic)[\"'`]")

// TestKinds_described fails where a file beside those of their packages names three kinds of things.
func TestKinds_described(t *testing.T) {
	t.Parallel()
	kinds := []string{"Issue", "MergeRequest", "Snippet", "Commit", "Epic"}
	found := map[string]bool{}
	for _, f := range source(t) {
		if f.test || f.generated || !strings.HasPrefix(f.name, "internal/") || f.dir() == "internal/core/noteable" {
			continue
		}
		named := map[string]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "noteable" && slices.Contains(kinds, n.Sel.Name) {
					named[n.Sel.Name] = true
				}
			case *ast.BasicLit: // SQL, too
				for _, kind := range kindInText.FindAllStringSubmatch(n.Value, -1) {
					named[kind[1]] = true
				}
			}
			return true
		})
		if len(named) < 3 {
			continue
		}
		found[f.name] = true
		if severalKinds[f.name] == "" {
			t.Errorf("%s names %s: let it ask their descriptions (noteable.Kinds), so that another kind costs nothing here, or say in severalKinds why not",
				f.name, strings.Join(slices.Sorted(maps.Keys(named)), ", "))
		}
	}
	for name := range severalKinds {
		if !found[name] {
			t.Errorf("%s names fewer than three kinds of things: take it off severalKinds", name)
		}
	}
}
