package house

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// rowless are the events that are not about a row, or not about one, with the reason.
var rowless = map[string]string{
	"repo.Pushed":              "references moved",
	"repo.ForkCopied":          "a repository was copied",
	"wiki.Changed":             "pages are files",
	"project.Templated":        "a repository is to be copied",
	"project.Removing":         "many rows of a table are about to go",
	"milestone.Copied":         "it is about many milestones",
	"note.Reviewed":            "it is about many notes, each of which has an event",
	"note.LinesChanged":        "it is about many threads",
	"note.ThreadChanged":       "a thread has no row",
	"note.ThreadsResolved":     "a thread has no row",
	"deploy.Linked":            "it is about many merge requests",
	"mergerequest.Tried":       "nothing changed but what the server knows",
	"setting.Changed":          "a setting has no row of its own: the event has its values before and after",
	"account.AccessLocked":     "a sign-on failed",
	"account.AccessUnlocked":   "sign-ons are let in again",
	"account.AddressAdded":     "addresses are read by their account alone",
	"account.AddressRemoved":   "addresses are read by their account alone",
	"account.SignedOn":         "a session began",
	"account.SignOnFailed":     "a sign-on failed",
	"runner.RegistrationReset": "a token was replaced, of which nothing may be shown",
}

// declared is what the test knows of a type.
type declared struct {
	embeds []string // other types of core, by package and name
	stamp  bool     // it embeds the stamp
	of     bool     // it embeds the generic form
	method bool     // it has the method Changed
	field  bool     // a field hides that
	like   string   // the type that it is defined by
}

// TestEvents_generic looks that each event has the generic form of core/change, but for those that
// are not about a row.
func TestEvents_generic(t *testing.T) {
	t.Parallel()
	types := map[string]*declared{}
	of := func(name string) *declared {
		if types[name] == nil {
			types[name] = &declared{}
		}
		return types[name]
	}
	for _, f := range source(t) {
		if f.test || !strings.HasPrefix(f.dir(), "internal/core/") {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Changed" {
					of(qualified(f.ast.Name.Name, d.Recv.List[0].Type)).method = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						d := of(f.ast.Name.Name + "." + s.Name.Name)
						if s.Assign.IsValid() { // an alias has the methods of the type
							name := qualified(f.ast.Name.Name, s.Type)
							d.of, d.embeds = name == "change.Of", append(d.embeds, name)
							continue
						}
						describe(d, f.ast.Name.Name, s.Type)
					}
				}
			}
		}
	}
	bases := map[string]bool{}
	for _, d := range types {
		for _, name := range d.embeds {
			bases[name] = true
		}
	}
	seen := 0
	for _, name := range slices.Sorted(maps.Keys(types)) {
		_, short, _ := strings.Cut(name, ".")
		if bases[name] || !ast.IsExported(short) || strings.HasPrefix(name, "change.") || strings.HasPrefix(name, "coretest.") || !isEvent(types, name) {
			continue
		}
		seen++
		switch reason, exempt := rowless[name]; {
		case exempt && (reason == "" || isGeneric(types, name)):
			t.Errorf("%s has the generic form: take it from the list", name)
		case !exempt && !isGeneric(types, name):
			t.Errorf("%s has no method Changed: embed change.Of, or say in rowless why it is not about a row", name)
		}
	}
	if seen < 100 {
		t.Errorf("the test finds %d events: it looks in the wrong place", seen)
	}
}

func describe(d *declared, pkg string, typ ast.Expr) {
	s, ok := typ.(*ast.StructType)
	if !ok {
		d.like = qualified(pkg, typ)
		return
	}
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			d.field = d.field || f.Names[0].Name == "Changed"
			continue
		}
		switch name := qualified(pkg, f.Type); name {
		case "authz.Stamp":
			d.stamp = true
		case "change.Of":
			d.of = true
		default:
			d.embeds = append(d.embeds, name)
		}
	}
}

// qualified is a type by its package and name, without parameters.
func qualified(pkg string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return pkg + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	case *ast.StarExpr:
		return qualified(pkg, e.X)
	case *ast.IndexExpr:
		return qualified(pkg, e.X)
	}
	return ""
}

func isEvent(types map[string]*declared, name string) bool {
	d := types[name]
	return d != nil && (d.stamp || d.of || d.like != "" && isEvent(types, d.like) || slices.ContainsFunc(d.embeds, func(e string) bool { return isEvent(types, e) }))
}

func isGeneric(types map[string]*declared, name string) bool {
	d := types[name]
	if d == nil || d.field {
		return false
	}
	embeds := d.embeds
	if like := types[d.like]; like != nil { // the methods of the other type itself are not its
		embeds, d = like.embeds, &declared{of: like.of, method: d.method}
	}
	return d.of || d.method || slices.ContainsFunc(embeds, func(e string) bool { return isGeneric(types, e) })
}
