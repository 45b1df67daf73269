package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roles are the names of authz that stand for a level of membership.
var roles = []string{"NoAccess", "Minimal", "Guest", "Planner", "Reporter", "Developer", "Maintainer", "Owner", "AdminLevel"}

// TestTransports_decideNothing keeps the rule that core decides what a caller may see and do:
// a transport that compared a role itself would answer other than the next one does.
func TestTransports_decideNothing(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || layer(f.dir()) != "transport" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && tokenName.MatchString(literal(e)) {
				t.Errorf("%s names a kind of token, %q; the core package that makes such tokens has the name", f.fset.Position(n.Pos()), literal(e))
			}
			if why := decides(n); why != "" {
				t.Errorf("%s %s; core decides what a caller may see, in a view or a method of the subject", f.fset.Position(n.Pos()), why)
			}
			return true
		})
	}
}

// tokenName finds what tokens begin with, and the user name of those of jobs.
var tokenName = regexp.MustCompile(`^(gl[a-z]{2,7}-|gitlab-ci-token)$`)

// decides says how a node judges a caller, "" where it does not.
func decides(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		switch {
		case called(n.X, "authz") && slices.Contains(roles, n.Sel.Name):
			return "names the role " + n.Sel.Name
		case (called(n.X, "as") || called(n.X, "actor")) && slices.Contains([]string{"Admin", "Auditor", "External", "Bot"}, n.Sel.Name):
			return "asks whether the caller is " + n.Sel.Name
		}
	case *ast.CallExpr:
		if fun, ok := n.Fun.(*ast.SelectorExpr); ok && called(fun.X, "Policy") {
			return "asks the policy"
		}
	case *ast.BinaryExpr:
		if !slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, n.Op) {
			return ""
		}
		for _, side := range []ast.Expr{n.X, n.Y} {
			name, ok := side.(*ast.SelectorExpr)
			switch {
			case !ok || called(n.X, "nil") || called(n.Y, "nil"):
			case called(name.X, "authz") && !strings.HasPrefix(name.Sel.Name, "Feature"):
				return "compares authz." + name.Sel.Name
			case name.Sel.Name == "Level":
				return "compares a level"
			}
		}
	}
	return ""
}

// called reports whether an expression is a name, or a field of something by this name.
func called(n ast.Expr, name string) bool {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name == name
	case *ast.SelectorExpr:
		return n.Sel.Name == name
	}
	return false
}

// TestURLs_onePlace keeps URLs of web pages and files in the package that makes them.
func TestURLs_onePlace(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || f.dir() == "internal/core/weburl" || !strings.HasPrefix(f.dir(), "internal/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if joins(n) {
				t.Errorf("%s puts a URL together; ask core/weburl for it", f.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// joins reports whether a node puts together the URL of a page, of a file or of a repository.
func joins(n ast.Node) bool {
	page := func(e ast.Expr) bool {
		text := literal(e)
		return strings.Contains(text, "/-/") || text == "/groups/" || strings.HasPrefix(text, "/uploads/")
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return false
		}
		for _, side := range []ast.Expr{n.X, n.Y} {
			if page(side) || called(side, "baseURL") || called(side, "BaseURL") {
				return true
			}
		}
	case *ast.CallExpr:
		fun, ok := n.Fun.(*ast.SelectorExpr)
		return ok && called(fun.X, "fmt") && slices.ContainsFunc(n.Args, page)
	}
	return false
}

func TestDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		expr string
		want bool
	}{
		{"as.Admin", true},
		{"x.as.Auditor", true},
		{"p.Admin", false},
		{"as.SignedIn()", false},
		{"p.Level >= authz.Maintainer", true},
		{"p.Level == other", true},
		{"p.Level != nil", false},
		{"authz.Level(p.Level)", false},
		{"look == authz.ReadUser", true},
		{"api.Get(path, h).Needs(authz.ReadUser)", false},
		{"access != authz.FeatureDisabled", false},
		{"s.Policy.Can(ctx, as, ability, subject)", true},
		{"s.Projects.Find(ctx, as, id)", false},
	} {
		if got := found(t, tt.expr, func(n ast.Node) bool { return decides(n) != "" }); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.expr, got, tt.want)
		}
	}
}

func TestJoins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		expr string
		want bool
	}{
		{`base + "/-/issues/"`, true},
		{`s.BaseURL + "/" + path`, true},
		{`a.baseURL + path`, true},
		{`"/groups/" + path`, true},
		{`fmt.Sprintf("/%s/-/merge_requests/%d", path, iid)`, true},
		{`"/groups/:id" + "/members"`, false},
		{`strings.Contains(name, "/-/")`, false},
		{`s.URLs.Project(path)`, false},
	} {
		if got := found(t, tt.expr, joins); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.expr, got, tt.want)
		}
	}
}

// found reports whether a function answers true for a part of an expression.
func found(t *testing.T, text string, is func(ast.Node) bool) (out bool) {
	t.Helper()
	expr, err := parser.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(expr, func(n ast.Node) bool {
		out = out || n != nil && is(n)
		return true
	})
	return out
}

// worded finds texts that only one protocol has: statuses of HTTP, hashes and symbols as Ruby writes
// them, parameters in brackets or back quotes, and advice on another endpoint.
var worded = regexp.MustCompile(`\b[45]\d\d [A-Z][a-z]+|^Not Found$|\{:[a-z]|=>| :%s |'[a-z_]+\[[a-z_]+\]'|^\x60[a-z_]+\x60 |\bendpoint$`)

// TestCore_errorsByMeaning keeps the words of a protocol out of core: an error has a kind, a code
// and fields, and each transport has its own table from them to its words.
func TestCore_errorsByMeaning(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.test || layer(f.dir()) != "core" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && worded.MatchString(literal(e)) {
				t.Errorf("%s has the words of one protocol, %q: give the error a code, and the words to the table of the transport",
					f.fset.Position(n.Pos()), literal(e))
			}
			return true
		})
	}
}

func TestTokenName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"glpat-": true, "glsoat-": true, "gitlab-ci-token": true, "gl-label": false, "global": false, "glpat-example": false} {
		if got := tokenName.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestWorded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"403 Forbidden": true, "409 Conflict: Resource lock": true, "Not Found": true, `{:path=>["is bad"]}`: true, "Note {:note": true,
		"status via :%s from": true, "use 'filter[name]'": true, "`full_path` is incorrect": true, "use the Group endpoint": true,
		"Toggled :%s: emoji award.": false, "merge_request[branch]": false,
		"Project": false, "is too long (maximum is 255 characters)": false, "at most 500 rows": false, "Label not found": false,
	} {
		if got := worded.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
