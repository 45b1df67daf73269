package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "tenon"

// file is one Go file of the repository, named by its slash path below the root.
type file struct {
	name      string
	lines     int
	generated bool
	test      bool
	fset      *token.FileSet
	ast       *ast.File
}

// dir returns the folder below the root, "internal/base/db" for example.
func (f file) dir() string { return path.Dir(f.name) }

// imports lists the packages of this module that the file imports, without the module's name.
func (f file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(name, module+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

// root finds the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// source returns every Go file of the repository.
func source(t *testing.T) []file {
	t.Helper()
	out, err := parsed(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no Go files found")
	}
	return out
}

// once keeps the parsed files, which are read only, for all tests.
var once struct {
	sync.Once
	files []file
	err   error
}

func parsed(top string) ([]file, error) {
	once.Do(func() { once.files, once.err = parse(top) })
	return once.files, once.err
}

func parse(top string) ([]file, error) {
	var out []file
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		out = append(out, file{
			name: filepath.ToSlash(short), lines: strings.Count(string(text), "\n"),
			generated: ast.IsGenerated(tree), test: strings.HasSuffix(name, "_test.go"), fset: fset, ast: tree,
		})
		return nil
	})
	return out, err
}
