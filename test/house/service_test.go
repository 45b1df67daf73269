package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"testing"
)

// TestServices_oneForm keeps the services of core in one form: the Service embeds the Deps, so
// that each dependency is spelled once, New takes them and nothing else, and whatever else the
// Service holds is unexported.
func TestServices_oneForm(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || layer(f.dir()) != "core" {
			continue
		}
		for _, decl := range f.ast.Decls {
			if why := otherForm(decl); why != "" {
				t.Errorf("%s: %s; see internal/core/label/service.go for the form", f.fset.Position(decl.Pos()), why)
			}
		}
	}
}

// otherForm says what is wrong with a declaration of a Service or its constructor, "" for nothing.
func otherForm(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == "Service" {
				return otherService(spec)
			}
		}
	case *ast.FuncDecl:
		if decl.Recv != nil || decl.Type.Results == nil || len(decl.Type.Results.List) != 1 {
			return ""
		}
		made, ok := decl.Type.Results.List[0].Type.(*ast.StarExpr)
		if !ok || !called(made.X, "Service") || !decl.Name.IsExported() {
			return ""
		}
		if params := decl.Type.Params.List; len(params) != 1 || !called(params[0].Type, "Deps") {
			return decl.Name.Name + " takes more or other than the Deps"
		}
	}
	return ""
}

func otherService(spec *ast.TypeSpec) string {
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return "a Service is a struct"
	}
	embeds := false
	for _, field := range fields.Fields.List {
		embeds = embeds || len(field.Names) == 0 && called(field.Type, "Deps")
		for _, name := range field.Names {
			if name.IsExported() {
				return "a Service exports no fields of its own: " + name.Name
			}
		}
	}
	if !embeds {
		return "a Service embeds its Deps"
	}
	return ""
}

func TestOtherForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"type Service struct{ Deps }":                                       false,
		"type Service struct{ Deps; used int }":                             false,
		"type Service struct{ d Deps }":                                     true,
		"type Service struct{ db *db.DB }":                                  true,
		"type Service struct{ Deps; DB *db.DB }":                            true,
		"type Recorder struct{ DB *db.DB }":                                 false,
		"func New(d Deps) *Service { return nil }":                          false,
		"func New(db *db.DB, now func() time.Time) *Service { return nil }": true,
		"func (x Other) New(a, b int) *Service { return nil }":              false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := otherForm(file.Decls[0]) != ""; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestServices_noReach keeps callers of a service from reaching through it to what it is made of:
// a.Projects.DB is a way around the rules of projects.
func TestServices_noReach(t *testing.T) {
	t.Parallel()
	files := source(t)
	inside := dependencies(files)
	if !inside["project"]["DB"] || inside["issue"]["Issues"] {
		t.Fatal("the dependencies of services are not found")
	}
	services := held(files)
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			through, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := through.X.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if service := services[of.Sel.Name]; inside[service][through.Sel.Name] {
				t.Errorf("%s: %s of a service of %s is used by its caller; ask for it in the Deps", f.fset.Position(n.Pos()), through.Sel.Name, service)
			}
			return true
		})
	}
}

// dependencies returns by the package of each service the names in its Deps that no method hides.
func dependencies(files []file) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range files {
		if f.test || layer(f.dir()) != "core" {
			continue
		}
		pkg := path.Base(f.dir())
		eachStruct(f, func(name string, fields *ast.FieldList) {
			if name != "Deps" {
				return
			}
			out[pkg] = map[string]bool{}
			for _, field := range fields.List {
				for _, name := range field.Names {
					out[pkg][name.Name] = true
				}
			}
		})
	}
	for _, f := range files {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				if to, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok && called(to.X, "Service") {
					delete(out[path.Base(f.dir())], fn.Name.Name)
				}
			}
		}
	}
	return out
}

// held returns by the name of each exported field that holds a service the package of that service.
func held(files []file) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		eachStruct(f, func(_ string, fields *ast.FieldList) {
			for _, field := range fields.List {
				to, ok := field.Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				if of, ok := to.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Service" {
					for _, name := range field.Names {
						if pkg, ok := of.X.(*ast.Ident); ok && name.IsExported() {
							out[name.Name] = pkg.Name
						}
					}
				}
			}
		})
	}
	return out
}

func eachStruct(f file, do func(name string, fields *ast.FieldList)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if fields, ok := spec.Type.(*ast.StructType); ok {
				do(spec.Name.Name, fields.Fields)
			}
		}
		return true
	})
}
