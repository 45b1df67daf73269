package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestComments_references keeps comments from citing what a reader of the repository cannot
// open: the rule itself stands there instead.
func TestComments_references(t *testing.T) {
	t.Parallel()
	elsewhere := regexp.MustCompile(`\bfacts-[0-9]|\bspec (§|[0-9])|\b[Rr]ulings? [0-9]`)
	for _, f := range source(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if cited := elsewhere.FindString(c.Text); cited != "" {
					t.Errorf("%s cites %q, which is not in the repository: write the rule", f.fset.Position(c.Pos()), cited)
				}
			}
		}
	}
}

// TestComments_nolint refuses exceptions from linters that do not run: the linter reports only
// those of its own that nothing needs.
func TestComments_nolint(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(filepath.Join(root(t), ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	_, list, _ := strings.Cut(string(config), "\n  enable:\n")
	for line := range strings.Lines(list) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    - ")
		if !ok {
			break
		}
		runs[name] = true
	}
	if len(runs) < 10 {
		t.Fatalf("%d linters are enabled, want those of .golangci.yml", len(runs))
	}
	directive := regexp.MustCompile(`^//\s?nolint:([a-z0-9,]+)`)
	for _, f := range source(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				m := directive.FindStringSubmatch(c.Text)
				if m == nil {
					continue
				}
				for name := range strings.SplitSeq(m[1], ",") {
					if !runs[name] {
						t.Errorf("%s: nolint of %s, which does not run", f.fset.Position(c.Pos()), name)
					}
				}
			}
		}
	}
}
