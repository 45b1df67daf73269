package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers go from the lowest to the highest: each may import itself and what stands before it.
// sharedKit is what the transports over HTTP have in common; it is below them.
const sharedKit = "httpkit"

var layers = []string{"base", "core", "transport", "app", "cmd"}

// reasons say why a layer may not reach up.
var reasons = map[string]string{
	"base":      "base knows nothing about forges, so that it could be a library",
	"core":      "core knows no protocol: publish an event, or declare a one-method interface where you need it and let app pass the implementation",
	"transport": "a transport only translates; app builds it and hands it what it needs",
	"app":       "app is called by cmd, never the other way round",
}

// layer names the layer of a folder, "" for folders that stand outside the order.
func layer(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "internal/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		if slices.Contains(layers, first) {
			return first
		}
		return ""
	}
	if dir == "cmd" || strings.HasPrefix(dir, "cmd/") {
		return "cmd"
	}
	return ""
}

// below returns the first folder of dir below its layer: "issue" for internal/core/issue/x.
func below(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// kit reports whether a folder holds helpers for tests: dbtest, coretest.
func kit(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") || strings.HasPrefix(dir, "test")
}

// order reads the order inside core from the block that docs/architecture.md marks
// "core order": one level per line, lowest first.
func order(text string) (map[string]int, error) {
	_, rest, ok := strings.Cut(text, "```core-order\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		return nil, fmt.Errorf("docs/architecture.md has no block ```core-order")
	}
	out := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(block), "\n") {
		for _, name := range strings.Fields(strings.ReplaceAll(line, ",", " ")) {
			if _, twice := out[name]; twice {
				return nil, fmt.Errorf("docs/architecture.md names %s twice in the core order", name)
			}
			out[name] = i
		}
	}
	return out, nil
}

// objection says what is wrong with a file of folder from importing folder to, or "".
func objection(from, to string, levels map[string]int) string {
	switch {
	case from == to:
		return ""
	case kit(to):
		return "is for tests; production code does not import it"
	case strings.HasPrefix(to, "internal/tools"):
		return "is a program for developers; production code does not import it"
	}
	low, high := layer(from), layer(to)
	if low == "" || high == "" {
		return ""
	}
	if slices.Index(layers, high) > slices.Index(layers, low) {
		return fmt.Sprintf("points up from %s to %s: %s", low, high, reasons[low])
	}
	if low == "transport" && high == "transport" && below(from) != below(to) && (below(to) != sharedKit || below(from) == sharedKit) {
		return "is another transport: what two protocols share belongs in core, base or transport/httpkit"
	}
	if to == "internal/core" && low == "core" {
		return "builds all of core: " + reasons["core"]
	}
	if low == "core" && high == "core" && from != "internal/core" && below(from) != below(to) {
		a, known := levels[below(from)]
		if !known {
			return fmt.Sprintf("cannot be judged: write %s into the core order of docs/architecture.md", below(from))
		}
		b, known := levels[below(to)]
		switch {
		case !known:
			return fmt.Sprintf("cannot be judged: write %s into the core order of docs/architecture.md", below(to))
		case b == a:
			return "stands on the same level of the core order: " + reasons["core"]
		case b > a:
			return "stands higher in the core order: " + reasons["core"]
		}
	}
	return ""
}

func levels(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := order(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImports(t *testing.T) {
	t.Parallel()
	known := levels(t)
	for _, f := range source(t) {
		if f.test || kit(f.dir()) {
			continue
		}
		for _, to := range f.imports() {
			if why := objection(f.dir(), to, known); why != "" {
				t.Errorf("%s imports %s, which %s", f.name, to, why)
			}
		}
	}
}

// A program in which anything looks for methods by a name that is not constant keeps
// every method of every type: a tenth of this one, on the disk and in memory. Packages of
// others may import templates as long as no code calls them.
func TestImports_noMethodsByName(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			switch spec.Path.Value {
			case `"text/template"`, `"html/template"`, `"github.com/alecthomas/kong"`:
				t.Errorf("%s imports %s, which looks for methods by name", f.name, spec.Path.Value)
			}
		}
	}
}

func TestImports_everyCorePackageHasItsPlace(t *testing.T) {
	t.Parallel()
	known := levels(t)
	for _, f := range source(t) {
		if layer(f.dir()) != "core" || f.dir() == "internal/core" || f.test || kit(f.dir()) {
			continue
		}
		if _, ok := known[below(f.dir())]; !ok {
			t.Errorf("%s: package %s has no place in the core order of docs/architecture.md", f.name, below(f.dir()))
		}
	}
}

func TestObjection(t *testing.T) {
	t.Parallel()
	known, err := order("intro\n```core-order\nauthz\naccount\nissue, mergerequest\nnote\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"down", "internal/core/issue", "internal/base/db", ""},
		{"down inside core", "internal/core/note", "internal/core/authz", ""},
		{"own folder", "internal/core/issue", "internal/core/issue/board", ""},
		{"base to core", "internal/base/db", "internal/core/issue", "points up from base to core"},
		{"core to transport", "internal/core/issue", "internal/transport/rest", "points up from core to transport"},
		{"transport to app", "internal/transport/rest", "internal/app", "points up from transport to app"},
		{"app to transport", "internal/app", "internal/transport/rest", ""},
		{"command to app", "cmd/tenon", "internal/app", ""},
		{"app to command", "internal/app", "cmd/tenon", "points up from app to cmd"},
		{"kit of a transport", "internal/transport/rest", "internal/transport/rest/api", ""},
		{"kit of all transports", "internal/transport/web", "internal/transport/httpkit", ""},
		{"kit of all transports to one", "internal/transport/httpkit", "internal/transport/rest/api", "is another transport"},
		{"across transports", "internal/transport/graphql", "internal/transport/rest/api", "is another transport"},
		{"up inside core", "internal/core/issue", "internal/core/note", "stands higher"},
		{"peers", "internal/core/issue", "internal/core/mergerequest", "same level"},
		{"unknown package", "internal/core/banana", "internal/core/authz", "cannot be judged: write banana"},
		{"unknown target", "internal/core/note", "internal/core/banana", "cannot be judged: write banana"},
		{"all of core to one", "internal/core", "internal/core/issue", ""},
		{"one to all of core", "internal/core/issue", "internal/core", "builds all of core"},
		{"transport to all of core", "internal/transport/rest", "internal/core", ""},
		{"test kit", "internal/core/note", "internal/base/db/dbtest", "is for tests"},
		{"migrations", "internal/base/db", "migrations", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := objection(tt.from, tt.to, known)
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("objection(%s, %s) = %q, want %q in it", tt.from, tt.to, got, tt.want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	if _, err := order("nothing here"); err == nil {
		t.Error("a page without the block passed")
	}
	if _, err := order("```core-order\nauthz\nauthz, note\n```"); err == nil {
		t.Error("a package named twice passed")
	}
}
